"""Runs every command over the demo and the recorded clusters, in all formats, and keeps or compares the answers.

    python -m tools.same_answers record [DIR]     writes DIR/facts.jsonl.xz and DIR/texts.jsonl.xz
    python -m tools.same_answers compare [DIR]    runs all again; exit code 1 if anything differs (--facts: in facts)

Facts are the exit code and, of a JSON or YAML answer, everything but sentences (strings of four words or more): codes,
severities, names, evictions in their order, budgets, durations, numbers. Texts are the sentences and all other
formats, with white space made equal. So a change of wording leaves the facts as they are, and a change of facts shows
even if the wording hides it. Each command is a process of its own, forked from one that has loaded the package: only
its outside is compared.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import queue
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
BASELINE = ROOT / "tests" / "data" / "answers"
CLUSTERS = ROOT / "tests" / "data" / "clusters"

FORMATS = ("table", "wide", "json", "yaml", "markdown", "html", "name", "junit", "sarif")
IN_ALL_FORMATS = ("--demo", "small-traps")
"""The sources of which every format is recorded; of the others table and JSON."""

EVERYWHERE = (
    "drain plan -l !no-such-label",
    "rehearse -l !no-such-label",
    "check --target {next}",
    "addon-diff --all",
    "imds-probe",
    "coredns-lameduck",
    "interruption",
)
"""Commands that run over each source."""

OF_THE_DEMO = (
    "",
    "options",
    "drain",
    "drain plan",
    "drain plan --nodegroup no-such",
    "drain plan --nodegroup blue",
    "drain plan --nodegroup green --nodegroup blue",
    "drain plan --older-than v1.33",
    "check",
    "check --target 1.35",
    "check --gate before-control-plane",
    "check --gate before-nodes",
    "check --gate after",
    "check --only kubelet-skew,kube-proxy-skew",
    "check --fail-on high",
    "check --symptom dns",
    "check --symptom credentials",
    "check --changed-since 24h",
    "addon-diff vpc-cni",
    "addon-diff vpc-cni --to latest",
    "addon-diff vpc-cni --resolve-conflicts OVERWRITE",
    "addon-diff vpc-cni --resolve-conflicts PRESERVE",
    "addon-diff vpc-cni --each-step",
    "addon-diff vpc-cni --since-when",
    "addon-diff coredns",
    "addon-diff kube-proxy",
    "addon-diff --all --after",
    "addon-diff nonsense",
    "imds-probe --nodegroup green",
    "imds-probe --hops 3",
    "coredns-lameduck --set lameduck=20s",
    "coredns-lameduck --set lameduck=30s",
    "coredns-lameduck --place on-demand",
    "coredns-lameduck --autoscale 3:10",
    "interruption --print stack",
    "interruption --print commands",
    "interruption --print iam",
    "interruption --print helm-values",
)

DRAIN_OPTIONS = (
    "--ignore-daemonsets=false",
    "--delete-emptydir-data",
    "--force",
    "--force --delete-emptydir-data",
    "--partial",
    "--evict-protected",
    "--surge-singles",
    "--wait-jobs 30m",
    "--grace-period 5",
    "--pod-selector app=web",
    "--force --delete-emptydir-data --partial --evict-protected",
    "--max-unavailable 1",
    "--max-unavailable zone=1",
    "--max-unavailable nodegroup=50%",
    "--surge 1",
    "--surge 3 --force --delete-emptydir-data --partial",
    "--soft-budget 25%",
    "--max-evictions-per-second 1",
    "--order soonest",
    "--order chain",
    "--order light",
    "--order efficiency",
    "--order zone",
    "--order name",
    "--effort 0",
    "--assume-fixed pdb-blocked,pod-single-replica",
)
"""Each on ``drain plan -o json``, for the demo and for each recorded cluster."""

RIGHTS = (
    "permissions",
    "permissions drain plan",
    "permissions drain run",
    "permissions drain run --surge-singles",
    "permissions check",
    "permissions addon-diff --apply",
    "permissions imds-probe --active",
    "permissions imds-probe --apply",
    "permissions coredns-lameduck --apply",
    "permissions coredns-lameduck --measure",
    "permissions interruption",
    "permissions snapshot",
    "permissions check --iam",
    "permissions --iam --cluster-name shop --region eu-west-1 --account 111122223333",
)


def commands() -> tuple[str, ...]:
    """All commands, in the order in which they are recorded; ``{clusters}`` stands for the folder of recorded
    clusters."""
    sources = ["--demo"]
    sources += [f"--snapshot {{clusters}}/{path.name}" for path in sorted(CLUSTERS.glob("*.tar.gz"))]
    found: dict[str, None] = {}
    for source in sources:
        after = "1.34" if source == "--demo" else "1.37"
        all_formats = source == IN_ALL_FORMATS[0] or IN_ALL_FORMATS[1] in source
        for command in EVERYWHERE:
            for written in FORMATS if all_formats else ("table", "json"):
                found[f"{command.format(next=after)} {source} -o {written}"] = None
        for options in DRAIN_OPTIONS:
            found[f"drain plan -l !no-such-label {options} {source} -o json"] = None
    for command in OF_THE_DEMO:
        for written in ("table", "wide", "json"):
            found[f"{command} --demo -o {written}".strip()] = None
    for command in ("check --target 1.34", "drain plan --nodegroup blue"):
        found[f"{command} --demo --ascii"] = None
        found[f"{command} --demo --no-headers"] = None
    for command in RIGHTS:
        for written in ("table", "json", "yaml"):
            found[f"{command} -o {written}"] = None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of one command, split into facts and texts."""

    command: str
    facts: Any
    texts: tuple[str, ...]


class Server:
    """A process with the package of `root` imported, which forks for each command."""

    def __init__(self, home: str, python: str, root: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "EKSDOC_", "KUBE"))}
        env = kept | {"HOME": home, "XDG_CACHE_HOME": home, "XDG_STATE_HOME": home, "KUBECONFIG": f"{home}/none"}
        env |= {"COLUMNS": "120", "NO_COLOR": "1", "PYTHONHASHSEED": "0", "PYTHONPATH": str(root)}
        self._clusters = os.path.relpath(CLUSTERS, root)
        self._process = subprocess.Popen(
            [python, str(Path(__file__).with_name("forking.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env=env,
        )

    def run(self, command: str) -> Answer:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(command.format(clusters=self._clusters).split()), file=self._process.stdin, flush=True)
        code, *printed = json.loads(self._process.stdout.readline())
        out, err = (each.replace(self._clusters, os.path.relpath(CLUSTERS, ROOT)) for each in printed)
        told = _plain(re.sub(r"\(\d+[a-z]+ ago\)", "(… ago)", err))
        document = _document(command, out)
        if document is None:
            return Answer(command, {"exit": code}, (told, _plain(out)))
        sentences: list[str] = []
        facts = _without_sentences(document, "", sentences)
        return Answer(command, {"exit": code, "answer": facts}, (told, *sentences))

    def close(self) -> None:
        self._process.communicate()


def _document(command: str, printed: str) -> Any:
    """A JSON or YAML answer; several YAML documents are a list. None if it is neither."""
    try:
        if command.endswith(("-o json", "-o sarif")):
            return json.loads(printed)
        if command.endswith("-o yaml"):
            return list(yaml.load_all(printed, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (ValueError, yaml.YAMLError):
        return None
    return None


def _plain(text: str) -> str:
    """Words only: without widths, table rules and line ends."""
    return " ".join(word for word in text.split() if not re.fullmatch(r"[-─━═+|]+", word))


def _without_sentences(value: Any, path: str, sentences: list[str]) -> Any:
    """`value` with sorted keys and a mark in place of each sentence, which is appended to `sentences`."""
    if isinstance(value, Mapping):
        return {str(key): _without_sentences(value[key], f"{path}.{key}", sentences) for key in sorted(value, key=str)}
    if isinstance(value, list):
        return [_without_sentences(one, f"{path}[{at}]", sentences) for at, one in enumerate(value)]
    if isinstance(value, str) and len(value.split()) >= 4:
        sentences.append(f"{path}: {_plain(value)}")
        return "…"
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def answers(python: str, root: Path) -> Iterator[Answer]:
    count = os.cpu_count() or 2
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(count) as pool:
        free: queue.SimpleQueue[Server] = queue.SimpleQueue()
        for _ in range(count):
            free.put(Server(home, python, root))

        def answer(command: str) -> Answer:
            server = free.get()
            try:
                return server.run(command)
            finally:
                free.put(server)

        for number, found in enumerate(pool.map(answer, commands()), 1):
            if sys.stderr.isatty():
                print(f"\r{number}", end="", file=sys.stderr, flush=True)
            yield found
        for _ in range(count):
            free.get().close()


def record(to: Path, python: str, root: Path) -> int:
    """Write both files; the same answers give the same bytes."""
    to.mkdir(parents=True, exist_ok=True)
    kept = tuple(answers(python, root))
    _write(to / "facts.jsonl.xz", ({"command": one.command, "facts": one.facts} for one in kept))
    _write(to / "texts.jsonl.xz", ({"command": one.command, "texts": one.texts} for one in kept))
    print(f"{len(kept)} answers recorded in {to}")
    return 0


def _write(path: Path, rows: Iterator[Any]) -> None:
    lines = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    # Answers repeat over megabytes, which gzip cannot use.
    path.write_bytes(lzma.compress(lines.encode()))


def _read(path: Path, key: str) -> dict[str, Any]:
    rows = (json.loads(line) for line in lzma.decompress(path.read_bytes()).decode().splitlines())
    return {row["command"]: row[key] for row in rows}


def compare(with_: Path, python: str, root: Path, only_facts: bool) -> int:
    """Print each command whose answer differs, and its first difference; 1 if there is one."""
    facts, texts = _read(with_ / "facts.jsonl.xz", "facts"), _read(with_ / "texts.jsonl.xz", "texts")
    other_facts = other_texts = count = 0
    for answer in answers(python, root):
        count += 1
        name = f"kubectl eksdoc {answer.command}"
        if answer.command not in facts:
            print(f"new: {name}")
            continue
        differences = list(_differences(facts[answer.command], answer.facts, ""))
        other_facts += bool(differences)
        for difference in differences[:5]:
            print(f"facts of {name}: {difference}")
        if not only_facts and list(answer.texts) != texts[answer.command]:
            other_texts += 1
            print(f"texts of {name}: {_first(texts[answer.command], list(answer.texts))}")
    print(f"{count} answers: {other_facts} with other facts, " + f"{other_texts} with other texts" * (not only_facts))
    return int(bool(other_facts or other_texts))


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if key not in after or key not in before:
                yield f"{path}.{key} {'is new' if key in after else 'is gone'}"
            else:
                yield from _differences(before[key], after[key], f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, f"{path}[{at}]")
    elif isinstance(before, list) and isinstance(after, list):
        yield f"{path} has {len(after)} entries, not {len(before)}"
    elif before != after or type(before) is not type(after):
        yield f"{path} is {after!r}, not {before!r}"


def _first(before: list[str], after: list[str]) -> str:
    """The words around the first difference."""
    old, new = " ".join(before).split(), " ".join(after).split()
    at = next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new))
    )
    return f"… {' '.join(new[max(0, at - 3) : at + 6])} …, not … {' '.join(old[max(0, at - 3) : at + 6])} …"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("do", choices=("record", "compare"))
    parser.add_argument("folder", nargs="?", type=Path, default=BASELINE)
    parser.add_argument("--facts", action="store_true", help="compare facts only")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout whose package is run (default: this one)")
    args = parser.parse_args()
    if args.do == "record":
        return record(args.folder, sys.executable, args.root)
    return compare(args.folder, sys.executable, args.root, args.facts)


if __name__ == "__main__":
    sys.exit(main())
