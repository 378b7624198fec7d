"""Drains a real cluster that it fills itself, and prints what was predicted beside what happened.

    make test-real KUBECONFIG=FILE                        a control plane without nodes, whose kubelets are played
    make test-real KUBECONFIG=FILE OLD=n1,n2 NEW=n3,n4    a cluster with kubelets: the old nodes are drained

For each stop time, twice: what the first run measured is known to the second one. Needs kubectl, the rights of an
administrator, and Kubernetes 1.30 or newer where kubelets are real (preStop sleep); a kubelet that is played takes the
seconds in the annotations sim/start-s and sim/stop-s of a pod. It makes namespaces called eksdoc-test-real…, labels,
cordons and uncordons the nodes that are named, and makes nodes where the cluster has none. Pods of others on old nodes
are evicted, too. Exit code 1: something that was predicted as certain did not hold; 2: it cannot be tried here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tools.real import cluster
from tools.real.compare import Compared, Doc, Left, compared, left_of, table

ROOT = Path(__file__).resolve().parents[2]
LOOK_S, FILLED_S = 5.0, 300.0
JOURNALS = ("--journal-namespace", cluster.PREFIX)
OLD = ("--selector", f"{cluster.LABEL}=old")


class Refused(Exception):
    """The test cannot run on this cluster; the message says why, and what to do."""


class Machine:
    """A machine with access to this cluster, and with journals of runs in `home` alone."""

    def __init__(self, kubeconfig: str, context: str, home: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "EKSDOC_"))}
        self._environ = {**kept, "KUBECONFIG": kubeconfig, "XDG_STATE_HOME": str(home), "PYTHONPATH": str(ROOT)}
        self._context = ["--context", context] if context else []

    def kubectl(self, *words: str, give: Any = None) -> str:
        text = None if give is None else json.dumps(give)
        done = subprocess.run(
            ["kubectl", *self._context, *words],
            input=text,
            capture_output=True,
            text=True,
            env=self._environ,
            check=False,
        )
        if done.returncode:
            raise Refused(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def listed(self, what: str, *words: str) -> list[Doc]:
        found: list[Doc] = json.loads(self.kubectl("get", what, "-o", "json", *words))["items"]
        return found

    def eksdoc(self, *words: str, out: Any = subprocess.PIPE, err: Any = subprocess.PIPE) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "kubectl_eksdoc", *words, *self._context, "-o", "json"]
        return subprocess.Popen(command, stdout=out, stderr=err, text=True, env=self._environ)

    def told(self, *words: str) -> Doc:
        """The output of the command; exit codes of findings (1, 5) are accepted."""
        with self.eksdoc(*words) as going:
            out, err = going.communicate()
        if going.returncode not in (0, 1, 5):
            raise Refused(f"{' '.join(words)}: exit code {going.returncode}: {err.strip()}")
        doc: Doc = json.loads(out)
        return doc


def main() -> int:
    asked = _asked()
    with tempfile.TemporaryDirectory(prefix=f"{cluster.PREFIX}-") as home:
        machine = Machine(asked.kubeconfig, asked.context, Path(home))
        try:
            _prepare(machine, asked)
            try:
                rows = _drains(machine, [float(each) for each in asked.stops.split(",")], asked.save)
            finally:
                if not asked.keep:
                    _leave(machine)
        except Refused as why:
            print(f"error: {why}", file=sys.stderr)
            return 2
    print(table(rows))
    wrong = [f"stop time {row.stop_s:g} s: {why}" for row in rows for why in row.wrong]
    print(*wrong or ["all that was predicted as certain held"], sep="\n")
    return 1 if wrong else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--context", default="", help="default: the kubeconfig's current one")
    parser.add_argument("--old", default="", help="nodes to be drained, by name: n1,n2")
    parser.add_argument("--new", default="", help="nodes that receive")
    parser.add_argument(
        "--stops", default="1,5,12,25", help=f"seconds, at most {cluster.GRACE_S} (default: %(default)s)"
    )
    parser.add_argument("--save", type=Path, help="a folder for the JSON of each plan, rehearsal and run")
    parser.add_argument("--keep", action="store_true", help="leave all that was made, to look at it")
    parser.add_argument("--again", action="store_true", help="remove first what an earlier try has left")
    return parser.parse_args()


def _prepare(machine: Machine, asked: argparse.Namespace) -> None:
    """Refuse the cluster, or label the nodes and create the namespace of the journals."""
    if asked.again:
        _leave(machine)
    if machine.listed("namespaces", "-l", cluster.LABEL) or machine.listed("nodes", "-l", cluster.LABEL):
        raise Refused(f"an earlier try has left namespaces or nodes labelled {cluster.LABEL}; remove them by --again")
    roles = {"old": asked.old.split(",") if asked.old else [], "new": asked.new.split(",") if asked.new else []}
    if not any(roles.values()):
        if machine.listed("nodes"):
            raise Refused("this cluster has nodes: name those to be drained by --old, and those that receive by --new")
        roles = {role: [f"{cluster.PREFIX}-{role}-{number}" for number in range(4)] for role in roles}
        _make_nodes(machine, roles)
    if not all(roles.values()):
        raise Refused("--old and --new are needed both")
    for role, names in roles.items():
        machine.kubectl("label", "nodes", *names, f"{cluster.LABEL}={role}", "--overwrite")
    machine.kubectl("apply", "-f", "-", give=cluster.namespace(cluster.PREFIX))


def _make_nodes(machine: Machine, roles: dict[str, list[str]]) -> None:
    version = json.loads(machine.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    for role, names in roles.items():
        for number, name in enumerate(names):
            machine.kubectl("apply", "-f", "-", give=cluster.node(name, role, f"zone-{'abc'[number % 3]}"))
            status = json.dumps(cluster.node_status(version))
            machine.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", status)
            machine.kubectl("patch", "node", name, "--type=merge", "-p", '{"spec": {"taints": null}}')


def _leave(machine: Machine) -> None:
    """Delete the created objects; named nodes lose their label, and are uncordoned."""
    nodes = [each["metadata"]["name"] for each in machine.listed("nodes", "-l", cluster.LABEL)]
    made = [name for name in nodes if name.startswith(cluster.PREFIX)]
    named = [name for name in nodes if name not in made]
    if named:
        machine.kubectl("uncordon", *named)
        machine.kubectl("label", "nodes", *named, f"{cluster.LABEL}-")
    machine.kubectl("delete", "namespaces", "-l", cluster.LABEL)
    if made:
        machine.kubectl("delete", "nodes", *made, "--ignore-not-found")


def _drains(machine: Machine, stops: Sequence[float], save: Path | None) -> list[Compared]:
    rows = []
    for stop_s in stops:
        for which in ("first", "second"):
            print(f"stop time {stop_s:g} s, {which} drain …", file=sys.stderr)
            parts = _drain(machine, stop_s)
            rows.append(compared(stop_s, *parts))
            if save is not None:
                save.mkdir(parents=True, exist_ok=True)
                (save / f"{stop_s:g}s-{which}.json").write_text(json.dumps(parts))
            print(table(rows[-1:]).splitlines()[-1], file=sys.stderr)
        machine.kubectl("delete", "namespace", _where(stop_s))  # its pods have used capacity of the new nodes
    return rows


def _drain(machine: Machine, stop_s: float) -> tuple[Doc, Doc, list[Doc], Doc, Left | None]:
    """Plan, rehearsal, events, result, and the end that the run predicted."""
    _fill(machine, stop_s)
    plan = machine.told("drain", "plan", *OLD)
    rehearsal = machine.told("rehearse", *OLD)
    nodes = sum(each["verdict"] == "drains" for each in plan["targets"])
    with tempfile.NamedTemporaryFile("w", suffix=".json") as saved:
        json.dump(plan, saved)
        saved.flush()
        words = ["--plan", saved.name, "--yes", "--expect-nodes", str(nodes), *JOURNALS]
        return plan, rehearsal, *_run(machine, words)


def _where(stop_s: float) -> str:
    return f"{cluster.PREFIX}-{stop_s:g}s"


def _fill(machine: Machine, stop_s: float) -> None:
    """All pods on the old nodes, Ready, with the new ones empty and schedulable."""
    where = _where(stop_s)
    machine.kubectl("uncordon", "-l", f"{cluster.LABEL}=old")
    machine.kubectl("cordon", "-l", f"{cluster.LABEL}=new")
    machine.kubectl("apply", "-f", "-", give=cluster.namespace(where))
    machine.kubectl("delete", "pods", "--all", "-n", where, "--grace-period=1", "--wait=false")
    docs = {"apiVersion": "v1", "kind": "List", "items": cluster.workloads(where, stop_s)}
    machine.kubectl("apply", "-f", "-", give=docs)
    wanted, end_s = sum(each.replicas for each in cluster.WORKLOADS), time.monotonic() + FILLED_S
    while _ready_on_old(machine, where) != wanted:
        if time.monotonic() > end_s:
            raise Refused(f"not all of {wanted} pods in {where} are Ready on the old nodes after {FILLED_S:g} s")
        time.sleep(1)
    machine.kubectl("uncordon", "-l", f"{cluster.LABEL}=new")
    for budget in machine.listed("poddisruptionbudgets", "-n", where):
        words = ("--for=jsonpath={.status.currentHealthy}=" + str(budget["status"]["expectedPods"]), "--timeout=1m")
        machine.kubectl("wait", f"pdb/{budget['metadata']['name']}", "-n", where, *words)


def _ready_on_old(machine: Machine, where: str) -> int:
    """The number of pods; there may be no others."""
    old = {each["metadata"]["name"] for each in machine.listed("nodes", "-l", f"{cluster.LABEL}=old")}
    pods = machine.listed("pods", "-n", where)
    ready = [
        {"type": "Ready", "status": "True"}.items() <= condition.items()
        for pod in pods
        if pod["spec"].get("nodeName") in old and "deletionTimestamp" not in pod["metadata"]
        for condition in pod["status"].get("conditions", ())
    ]
    return sum(ready) if sum(ready) == len(pods) else 0


def _run(machine: Machine, words: Sequence[str]) -> tuple[list[Doc], Doc, Left | None]:
    """The events of the run, and the output of `drain status` after a fifth of its pods."""
    left = None
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        going = machine.eksdoc("drain", "run", *words, out=out, err=err)
        try:
            while going.poll() is None:
                time.sleep(LOOK_S)
                left = left or _left(machine)
        finally:
            if going.poll() is None:
                going.terminate()
                going.wait()
        out.seek(0)
        err.seek(0)
        *events, run = [json.loads(line) for line in out] or [{}]
        if run.get("kind") != "DrainRun":
            raise Refused(f"drain run: exit code {going.returncode}: {err.read().strip()}")
    return events, run, left


def _left(machine: Machine) -> Left | None:
    run = machine.told("drain", "status", *JOURNALS)["run"]
    if run is None or not run["said"] or not run["updatedAt"]:
        return None
    return left_of(run["said"], (_time(run["updatedAt"]) - _time(run["begunAt"])).total_seconds())


def _time(said: str) -> datetime:
    return datetime.fromisoformat(said.replace("Z", "+00:00"))


if __name__ == "__main__":
    sys.exit(main())
