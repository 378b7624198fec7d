"""Changes dumps, snapshots and Terraform plans at random, and runs the reading commands over them in this process.

    python -m tools.fuzz [--cases 500] [--seed 1] [--log FILE]    exit code 1 if a case ends in 70 or takes too long
    python -m tools.fuzz --show NUMBER [--seed 1]                 one case again: what was changed, and its traceback

Each case changes one to three fields of a recorded cluster that is cut down to some 20 pods, of a snapshot of the demo
with its answers of AWS, or of a Terraform plan. A case is told by its seed and number alone, so with a log a run that
was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import signal
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.streams import BUG, USAGE
from tools import terraform_example

CLUSTERS = Path(__file__).resolve().parents[1] / "tests" / "data" / "clusters"
NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)
PODS, NODES, OTHERS = 20, 6, 4
"""Number of pods that are kept of a recorded cluster; of other kinds the owners of these pods, and the first few."""
CPU_S = 10.0
"""Limit of processor time for a case; an unchanged one takes less than 0.5 s."""
TOO_LONG = -1
"""In place of an exit code."""

_OF_A_DUMP = (
    "drain plan -l !no-such-label",
    "rehearse -l !no-such-label",
    "check --target 1.37",
    "imds-probe",
    "coredns-lameduck",
    "interruption",
)
_OF_THE_DEMO = {
    "drain plan --nodegroup blue": "",
    "rehearse --nodegroup blue": "",
    "check --target 1.34": "scenes/check/",
    "imds-probe": "scenes/imds-probe/",
    "coredns-lameduck": "",
    "interruption": "scenes/interruption/",
    "addon-diff --all": "",
}
"""Each with the folder of its snapshot."""
_OF_A_PLAN = "addon-diff --tf-plan"
_FORMATS = ("json", "table", "wide")
_TIMES = ("9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2026-11-20T08:51:00Z", "2026-11-20")
_TEXTS = (
    "",
    "x",
    "-",
    "*",
    "/",
    "..",
    "\0",
    "\ud800",
    "\u202e",
    "a" * 300,
    "In",
    "Exists",
    "Gt",
    "True",
    "100%",
    "-1%",
)
_AMOUNTS = ("1e9999", "1e-400", "9" * 400, "1Ei", "-1", "0.5", "v1.99.0", "1.2.3.4", "::1", "0x1F", "{}", "[1]", "a: b")
_NUMBERS = (0, 1, -1, 1 << 31, 1 << 63, 1 << 70, 0.5, -1e308, 1e308)
_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    [],
    {},
    [None],
    [[]],
    [""],
    [{}],
    {"": ""},
    {"a": None},
    {"a": [{}]},
    *_NUMBERS,
)


class TooLong(BaseException):
    """The case has used up its processor time; no error handler may catch it."""


@dataclass(frozen=True)
class Base:
    """The unchanged input. `files` by their paths in the folder `name`; `commands`, each with the folder that it
    reads."""

    name: str
    files: Mapping[str, Any]
    commands: Mapping[str, str]


class Case(NamedTuple):
    """`changed` are the files that differ from those of the base."""

    base: Base
    command: str
    changed: Mapping[str, Any]
    notes: tuple[str, ...]


class Outcome(NamedTuple):
    command: str
    code: int
    said: str


def recorded(path: Path) -> Base:
    """A recorded cluster, reduced."""
    with tarfile.open(path) as archive:
        lists = {
            Path(entry.name).name: json.load(archive.extractfile(entry))  # type: ignore[arg-type]
            for entry in archive
            if entry.name.endswith(".json")
        }
    return Base(path.name.partition(".")[0], _cut(lists), dict.fromkeys(_OF_A_DUMP, ""))


def _cut(lists: Mapping[str, Any]) -> dict[str, Any]:
    """One pod of each owner on the nodes with pods of most owners, and the objects that belong to it."""
    pods = lists["pods.json"]["items"]
    owners = Counter(node for node, _ in {(_node(pod), _owner(pod)) for pod in pods})
    nodes = {node for node, _ in owners.most_common(NODES)}
    kept = list({_owner(pod): pod for pod in pods if _node(pod) in nodes}.values())[:PODS]
    wanted = {_owner(pod) for pod in kept}
    for name in ("jobs.json", "replicasets.json"):
        wanted |= {_owner(each) for each in lists.get(name, {"items": ()})["items"] if _uid(each) in wanted}
    found = {name: {**body, "items": _some(body["items"], wanted)} for name, body in lists.items()}
    in_use = [each for each in lists["nodes.json"]["items"] if each["metadata"]["name"] in nodes]
    return {**found, "pods.json": {"kind": "List", "items": kept}, "nodes.json": {"kind": "List", "items": in_use}}


def _some(items: list[Any], wanted: set[str]) -> list[Any]:
    return [each for number, each in enumerate(items) if _uid(each) in wanted or number < OTHERS]


def _node(pod: Any) -> str:
    return str(pod["spec"].get("nodeName", ""))


def _uid(doc: Any) -> str:
    return str(doc["metadata"]["uid"])


def _owner(doc: Any) -> str:
    owners = doc["metadata"].get("ownerReferences") or ({"uid": _uid(doc)},)
    return str(owners[0]["uid"])


def demo(folder: Path) -> Base:
    """A snapshot of the demo; missing objects are no error in it."""
    path = folder / "demo.eksdoc"
    if (taken := ended(f"snapshot {path} --demo --overwrite")).code:
        raise SystemExit(f"no snapshot of the demo could be taken: {taken.said}")
    with tarfile.open(path) as archive:
        files = {entry.name: json.load(archive.extractfile(entry)) for entry in archive}  # type: ignore[arg-type]
    for scene in files["eksdoc-manifest.json"]["scenes"].values():
        for read in scene["reads"]:
            read["count"] = 0
    return Base("demo", files, _OF_THE_DEMO)


def terraform() -> Base:
    """A plan with a change of each sort."""
    plan = json.loads(terraform_example.plan())
    (update,) = plan["resource_changes"]
    before, after = update["change"]["before"], update["change"]["after"]
    dns = {**before, "addon_name": "coredns", "addon_version": "v1.11.4-eksbuild.2", "configuration_values": None}
    sorts: tuple[tuple[str, list[str], Any, Any, dict[str, bool]], ...] = (
        ("coredns", ["update"], dns, dns, {"addon_version": True}),
        ("created", ["create"], None, {**before, "addon_name": "kube-proxy"}, {"arn": True}),
        ("deleted", ["delete"], {**before, "addon_name": "kube-proxy"}, None, {}),
        ("replaced", ["delete", "create"], before, after, {"configuration_values": True}),
        ("forgotten", ["forget"], {**before, "preserve": False}, None, {}),
    )
    for name, actions, was, then, later in sorts:
        change = {"actions": actions, "before": was, "after": then, "after_unknown": later, "after_sensitive": {}}
        plan["resource_changes"].append({**update, "address": f"aws_eks_addon.{name}", "change": change})
    plan["deferred_changes"] = [{"resource_change": update, "reason": "provider_config_unknown"}]
    return Base("terraform", {"plan.json": plan}, {_OF_A_PLAN: ""})


def case(seed: int, number: int, bases: tuple[Base, ...]) -> Case:
    """Terraform plans are one case of five, the demo two, recorded clusters the others."""
    chance = random.Random(f"{seed}:{number}")
    plan, shop, *clusters = bases
    base = (plan, shop, shop, chance.choice(clusters), chance.choice(clusters))[number % 5]
    command = chance.choice(tuple(base.commands))
    folder = base.commands[command]
    names = sorted(n for n in base.files if n.startswith(folder) and (folder or "scenes/" not in n) and "mani" not in n)
    changed: dict[str, Any] = {}
    notes = []
    for _ in range(chance.randint(1, 3)):
        # Answers of AWS and the API server other than lists are as large as all lists together.
        answers = [name for name in names if name.endswith("-answers.json")]
        name = chance.choice(answers if answers and chance.random() < 0.4 else names)
        document = changed.setdefault(name, deepcopy(base.files[name]))
        within = document.get("items", document)
        if within:
            notes.append(f"{name}: {_change(chance, within)}")
    words = f"{command} {{0}}/plan.json --snapshot {{1}}" if base is plan else f"{command} --snapshot {{0}}"
    return Case(base, f"{words} -o {chance.choice(_FORMATS)}", changed, tuple(notes))


def _change(chance: random.Random, value: Any) -> str:
    """Change a value somewhere below `value`, and describe the change."""
    path: list[Any] = []
    while True:
        parent = value
        path.append(chance.randrange(len(parent)) if isinstance(parent, list) else chance.choice(sorted(parent)))
        value = parent[path[-1]]
        at_a_field = len(path) > 1
        if not isinstance(value, (dict, list)) or not value or (at_a_field and chance.random() < 0.2):
            break
    what = chance.random()
    if what < 0.15:
        del parent[path[-1]]
        return f"{path} is gone"
    if what < 0.3 and isinstance(parent, list):
        parent.append(deepcopy(value))
        return f"{path} is there twice"
    if what < 0.5 and isinstance(value, str):
        parent[path[-1]] = chance.choice((value + "x", value[:-1], value.upper(), f" {value}", *_TIMES))
    else:
        parent[path[-1]] = deepcopy(chance.choice((*_TIMES, *_TEXTS, *_AMOUNTS, *_VALUES, *_VALUES)))
    return f"{path} is {json.dumps(parent[path[-1]])[:60]}, not {json.dumps(value)[:60]}"


def ended(command: str) -> Outcome:
    """The exit code of a command, and the end of its output."""
    out, err = io.StringIO(), io.StringIO()
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
    try:
        code = run(command.split(), out, err, context=CommandContext(out, err, {"COLUMNS": "120"}, now=lambda: NOW))
    except TooLong:
        code = TOO_LONG
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return Outcome(command, code, err.getvalue() if "--debug" in command else err.getvalue()[-300:])


class Fuzzer:
    """Runs cases in a folder with the bases; each case restores the files that it has changed."""

    def __init__(self, folder: Path, seed: int) -> None:
        signal.signal(signal.SIGVTALRM, _too_long)
        clusters = [recorded(path) for path in sorted(CLUSTERS.glob("*.tar.gz"))]
        self._folder, self._seed = folder, seed
        self._bases = (terraform(), demo(folder), *clusters)
        for base in self._bases:
            self._write(base, base.files)

    def case(self, number: int) -> Case:
        return case(self._seed, number, self._bases)

    def ended(self, number: int, *words: str) -> Outcome:
        one = self.case(number)
        self._write(one.base, one.changed)
        command = one.command.format(self._folder / one.base.name, self._folder / "demo")
        outcome = ended(" ".join((command, *words)))
        self._write(one.base, {name: one.base.files[name] for name in one.changed})
        return outcome._replace(command=one.command.partition(" -")[0] + " --tf-plan" * ("--tf-plan" in command))

    def _write(self, base: Base, files: Mapping[str, Any]) -> None:
        for name, document in files.items():
            path = self._folder / base.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(document))


def _too_long(*_: object) -> None:
    raise TooLong


def summary(outcomes: Iterable[Outcome]) -> list[str]:
    """The exit codes of each command, and how many of its cases were judged: exit code 2 means that the input was
    refused."""
    codes: dict[str, Counter[int]] = {}
    for each in outcomes:
        codes.setdefault(each.command, Counter())[each.code] += 1
    lines = []
    for command, counts in sorted(codes.items()):
        beyond = 100 * (counts.total() - counts[USAGE]) // counts.total()
        ended = (f"{'too long' if code == TOO_LONG else f'exit {code}'} {counts[code]}" for code in sorted(counts))
        lines.append(f"{counts.total():6} {command}: {beyond} % beyond exit 2 ({', '.join(ended)})")
    return lines


def _from_log(log: Path | None) -> Iterator[tuple[int, Outcome]]:
    if log is not None and log.exists():
        for line in log.read_text().splitlines():
            number, *told = json.loads(line)
            yield number, Outcome(*told)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="a line for each case; a run with the same log goes on after them")
    parser.add_argument("--show", type=int, metavar="NUMBER")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder), args.seed)
        if args.show is not None:
            print(*fuzzer.case(args.show).notes, *fuzzer.ended(args.show, "--debug"), sep="\n")
            return 0
        return _all(fuzzer, args.cases, args.log)


def _all(fuzzer: Fuzzer, cases: int, log: Path | None) -> int:
    done = dict(_from_log(log))
    for number in range(cases):
        if number not in done:
            done[number] = fuzzer.ended(number)
            if log is not None:
                with log.open("a") as file:
                    file.write(json.dumps([number, *done[number]]) + "\n")
    for line in summary(done.values()):
        print(line)
    bad = {number: each for number, each in done.items() if each.code in (BUG, TOO_LONG)}
    for number, each in sorted(bad.items()):
        print(f"case {number}: {each.command}: {each.said.strip().splitlines()[-2:]}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
