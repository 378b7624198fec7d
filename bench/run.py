"""Measures what the tool promises: medians of five (three where a run is long), as ratios wherever one is promised.

``make bench`` prints a table and fails if a target is missed; with ``QUICK=1`` small sizes, one run each, several parts
at a time and no targets, to see that everything still works. ``--record`` writes results/<date>.json and .md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from bench.at_scale import LARGER, first_plan, gaps, large_snapshot, packed, portfolio, what_if
from bench.beside_kubectl import drain_run
from bench.checks import check, check_packed, manifests
from bench.lines import Line, Plan, table
from bench.measure import Run, Series, in_turn, run
from bench.screens import screens
from bench.snapshots import snapshot_file

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MEDIUM = ROOT / "tests" / "data" / "clusters" / "medium.tar.gz"
TOOL = (sys.executable, "-m", "kubectl_eksdoc")
JUDGED = (0, 1, 5)  # a plan, whatever it says


def snapshot(plan: Plan) -> Iterator[Line]:
    """A recorded cluster of 120 nodes and 1,886 pods, from the archive to the printed plan."""
    command = (*TOOL, "drain", "plan", "--snapshot", str(MEDIUM), "--nodegroup", "blue", "-o", "json")
    (all_of_it,) = in_turn(plan.times, partial(run, command, plan.env, JUDGED, keep=True))
    read = json.loads(all_of_it.runs[0].stdout)["metadata"]["kindsRead"]
    assert {"resource": "pods", "state": "read", "count": 1886} in read
    yield Line("medium snapshot to JSON plan: wall", all_of_it.wall, "s", 1.5)
    yield Line("medium snapshot to JSON plan: peak memory", all_of_it.peak, "MiB", 150)


def start(plan: Plan) -> Iterator[Line]:
    """The time until the first output."""
    ours = partial(run, (*TOOL, "--help"), plan.env)
    if not plan.kubectl:
        (helped,) = in_turn(plan.times, ours)
        yield Line("--help: wall", helped.wall * 1000, "ms")
        return
    ours(), run((plan.kubectl, "version", "--client"), plan.env)  # both from a warm page cache
    helped, theirs = in_turn(plan.times * 2, ours, partial(run, (plan.kubectl, "version", "--client"), plan.env))
    yield Line("--help: wall", helped.wall * 1000, "ms")
    yield Line("kubectl version --client: wall", theirs.wall * 1000, "ms")
    yield Line("--help against kubectl version --client", helped.wall / theirs.wall, "x", 2.5)


def live(plan: Plan) -> Iterator[Line]:
    """Reading many pods from a server on this machine."""
    with _server(plan) as kubeconfig:
        child = partial(_reading, plan, kubeconfig)
        child("facts")  # the server puts its pages together
        raw, facts = in_turn(plan.times, partial(child, "raw"), partial(child, "facts"))
        seconds = {"raw": _inner(raw), "facts": _inner(facts)}
        allowed = 1.3 * seconds["raw"] + 15e-6 * plan.pods
        assert {json.loads(r.stdout)["pods"] for r in facts.runs} == {plan.pods}
        yield Line(f"{plan.pods} pods fetched, undecoded", seconds["raw"], "s")
        yield Line(f"{plan.pods} pods fetched and made facts", seconds["facts"], "s", allowed)
        yield Line("the same, on top of fetching", (seconds["facts"] - seconds["raw"]) / plan.pods * 1e6, "us/pod")
        kept = json.loads(child("retained").stdout)
        yield Line("kept per pod", kept["bytes"] / plan.pods / 1024, "KiB", 3)
        yield Line("whole process: wall", facts.wall, "s")
        yield Line("whole process: peak memory", facts.peak, "MiB")
        if plan.kubectl:
            command = (plan.kubectl, "--kubeconfig", kubeconfig, "get", "pods", "-A", "-o", "json")
            (theirs,) = in_turn(plan.times, partial(run, command, plan.env))
            yield Line("kubectl get pods -A -o json: wall", theirs.wall, "s")
            yield Line("kubectl get pods -A -o json: peak memory", theirs.peak, "MiB")
            yield Line("faster than kubectl", theirs.wall / facts.wall, "x", 10, at_least=True)
            yield Line("leaner than kubectl", theirs.peak / facts.peak, "x", 10, at_least=True)


def _reading(plan: Plan, kubeconfig: str, mode: str) -> Run:
    return run((sys.executable, str(HERE / "reading.py"), mode, kubeconfig), plan.env, keep=True)


def _inner(series: Series) -> float:
    """The median of the processes' own measurements: imports are not in it."""
    seconds = sorted(json.loads(r.stdout)["seconds"] for r in series.runs)
    return float(seconds[len(seconds) // 2])


@contextlib.contextmanager
def _server(plan: Plan) -> Iterator[str]:
    """A kubeconfig for a static server that runs until the block ends."""
    command = (sys.executable, str(HERE / "server.py"), "--pods", str(plan.pods))
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, env=plan.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        path = Path(folder) / "kubeconfig"
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "bench",
                    "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
                    "clusters": [{"name": "bench", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                    "users": [{"name": "bench", "user": {}}],
                }
            )
        )
        yield str(path)  # leaving closes the server's standard input, which ends it


def embedded(plan: Plan) -> Iterator[Line]:
    """The simulated cluster on which drains are rehearsed."""
    quick = plan.times == 1
    count = 200 if quick else plan.pods
    ask = partial(_embedded, plan)
    (loads,) = in_turn(plan.times, partial(ask, "load", count))
    yield Line("medium loaded into the simulated cluster", _inner(loads), "s", 3)
    (evictions,) = in_turn(1 if quick else 3, partial(ask, "evict", count))
    said = json.loads(evictions.runs[0].stdout)
    what = f"{count} evictions in virtual time, {said['refused']:,} refusals between them"
    yield Line(what, _inner(evictions), "s", 20)
    (lists,) = in_turn(plan.times, partial(ask, "list", count))
    pairs = [json.loads(run.stdout) for run in lists.runs]
    yield Line(f"list of {count} pods ({pairs[0]['bytes'] >> 20} MiB) over HTTP", _inner(lists), "s")
    times = sorted(pair["seconds"] / pair["static"] for pair in pairs)
    yield Line("the same against sending the same bytes", times[len(times) // 2], "x", 5)


def _embedded(plan: Plan, what: str, count: int) -> Run:
    command = (sys.executable, str(HERE / "embedded.py"), what, str(MEDIUM), "--count", str(count))
    return run(command, plan.env, keep=True)


def aws(plan: Plan) -> Iterator[Line]:
    """The time before the first request of a command to AWS, beyond importing boto3."""
    for name, (services, most_ms) in _CLIENTS.items():
        ask = partial(run, (sys.executable, str(HERE / "aws_clients.py"), *services), plan.env, keep=True)
        ask()  # compiled, and from a warm page cache
        (clients,) = in_turn(plan.times, ask)
        said = [json.loads(each.stdout) for each in clients.runs]
        middle = {key: sorted(each[key] for each in said)[len(said) // 2] for key in ("boto3_s", "clients_s")}
        yield Line("import boto3", 1000 * middle["boto3_s"], "ms")
        yield Line(f"clients of AWS for {name}: {', '.join(services)}", 1000 * middle["clients_s"], "ms", most_ms)


_CLIENTS = {
    "a cluster and its add-ons": (("sts", "eks"), 250),
    "the metadata service": (("sts", "eks", "ec2", "autoscaling"), 500),  # EC2's model alone has two megabytes
}


def metadata(plan: Plan) -> Iterator[Line]:
    """Pods that reach the metadata service of a large cluster: the whole computation except the network, and the whole
    command on a snapshot, in CPU time beyond that of an interpreter that does nothing."""
    command = (sys.executable, "-m", "bench.metadata", "--nodes", str(plan.nodes * LARGER))
    (probes,) = in_turn(plan.times, partial(run, command, plan.env, keep=True))
    said = json.loads(probes.runs[0].stdout)
    what = f"imds-probe of {plan.nodes * LARGER} nodes ({said['pods']:,} pods)"
    yield Line(f"{what}: own time", _inner(probes), "s", 3)
    yield Line(f"{what}: calls of DescribeInstances", said["asked"]["DescribeInstances"], "calls")
    yield Line(f"{what}: calls in all", sum(said["asked"].values()), "calls")
    with tempfile.TemporaryDirectory() as folder:
        writer = (sys.executable, "-m", "bench.metadata", "--nodes", str(plan.nodes), "--write", folder)
        run(writer, plan.env)
        nothing = partial(run, (sys.executable, "-c", "pass"), plan.env)
        for words in ((), ("--assume", "hops=1", "-o", "json")):
            probe = (*TOOL, "imds-probe", "--snapshot", folder, *words)
            empty, whole = in_turn(plan.times, nothing, partial(run, probe, plan.env, JUDGED))
            cpu = whole.cpu - empty.cpu
            yield Line(f"{' '.join(('imds-probe', *words))} of a snapshot of {plan.nodes} nodes: CPU", cpu, "s", 3)


PARTS = {
    "snapshot": snapshot,
    "start": start,
    "live": live,
    "plan": first_plan,
    "packed": packed,
    "portfolio": portfolio,
    "gap": gaps,
    "what-if": what_if,
    "large-snapshot": large_snapshot,
    "embedded": embedded,
    "drain-run": drain_run,
    "screens": screens,
    "aws": aws,
    "metadata": metadata,
    "check": check,
    "check-packed": check_packed,
    "manifests": manifests,
    "snapshot-file": snapshot_file,
}
"""What ``--only`` names, in the order of the table."""

LONGEST = ("drain-run", "screens")
"""They mostly wait, and are begun first where several parts run at a time."""


def _measured(plan: Plan, names: list[str], at_once: int) -> list[Line]:
    with ThreadPoolExecutor(at_once) as pool:
        parts = {
            name: pool.submit(lambda part: list(part(plan)), PARTS[name])
            for name in sorted(names, key=lambda name: name not in LONGEST)
        }
        try:
            return [line for name in names for line in parts[name].result()]
        finally:  # after a failure, what has not begun
            pool.shutdown(cancel_futures=True)


def _machine() -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _record(lines: list[Line], machine: dict[str, object], plan: Plan) -> None:
    now = datetime.now(timezone.utc)
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    figures = [{**asdict(line), "met": line.met} for line in lines]
    body = {"at": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "machine": machine, "runs": plan.times, "figures": figures}
    (folder / f"{now:%Y-%m-%d}.json").write_text(json.dumps(body, indent=2) + "\n")
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    title = f"# Measured on {now:%Y-%m-%d}\n\nMedians of {plan.times}, fewer where a run is long; {about}."
    (folder / f"{now:%Y-%m-%d}.md").write_text(f"{title}\n\n{table(lines, targets=True)}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="keep the results under bench/results")
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    asked = parser.parse_args()
    quick = os.environ.get("QUICK", "") not in ("", "0")
    kubectl = os.environ.get("KUBECTL") or shutil.which("kubectl") or ""
    with tempfile.TemporaryDirectory() as home:  # kubectl writes its cache there
        env = {key: value for key, value in os.environ.items() if key not in ("KUBECONFIG", "PYTHONPATH")}
        env |= {"HOME": home, "PYTHONPATH": str(ROOT)}
        plan = Plan(1, 500, 30, 500, kubectl, env) if quick else Plan(5, 10_000, 1000, 150_000, kubectl, env)
        machine = _machine()
        names = [name for name in PARTS if asked.only in (None, name)]
        lines = _measured(plan, names, 3 if quick else 1)
    print(table(lines, targets=not quick))
    print(", ".join(f"{key} {value}" for key, value in machine.items()) + ("" if kubectl else "; no kubectl here"))
    if asked.record:
        _record(lines, machine, plan)
    return 1 if not quick and any(line.met is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
