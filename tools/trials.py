"""Tries the recipes of CONTRIBUTING.md in a copy of this tree: what is one declaration has to be one, and enough.

    python -m tools.trials [check | verdict | blocker | field | column | option | addon …]

It says which files each trial edits by hand and which `make docs` writes, and runs the tests near them. Exit code 1: a
test fails, or what was declared does not show.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_TEXTS = {"": {"severity": "low", "status": "pass", "message": "a recipe was tried on it"}}
_RECORD = {"about": "A recipe was tried on it.", "texts": _TEXTS}
_CHECK = """def _tried(facts: CheckFacts) -> Iterator[Finding]:
    yield Finding.of("upgrade-tried", cluster_subject(facts))


UNHEALTHY_CHECKS = (
    UpgradeCheck.of("upgrade-tried", _tried),
"""
_VERDICT = """def is_tried(context: DrainContext, pod: Pod) -> RuleResult | None:
    return RuleResult.of(Finding.of("pod-tried", context.owner_subject(pod), (evidence_line(pod),)))


RULES = (
    is_tried,
"""
_REMEDY = {"text": "Take {name:# and the others|them} away.", "command": "{command}", "when": "later"}
_BLOCKS: dict[str, object] = {
    "severity": "high",
    "status": "fail",
    "message": "{count:# volume is|# volumes are} in its way",
}
_BLOCKS["remedies"] = [_REMEDY]
_FAILS: dict[str, object] = {
    **_TEXTS[""],
    "status": "fail",
    "remedies": [{"text": "Try it again.", "command": "kubectl get nodes"}],
}
_BLOCKER = {"brief": "recipe is tried", "update": "evicts", "texts": {"blocks": _BLOCKS}}
_BLOCKER_RULE = """def is_held_by_a_trial(context: DrainContext, pod: Pod) -> RuleResult | None:
    if pod.owner is not None:
        return None
    of, shown = context.owner_subject(pod), kubectl("get", "pod", pod.name, pod.namespace)
    return RuleResult.of(
        Finding.of("pod-held/blocks", of, (evidence_line(pod),), count=len(pod.volumes), name=pod.name, command=shown)
    )


RULES = (
    is_held_by_a_trial,
"""
_FIELD = '''    os_image: Text
    """A recipe was tried."""
'''
_OPTION = """    tried: bool = option(
        False, "--tried", OWN_GROUP, SWITCH, "try a recipe", steps=Steps("tried", "a recipe", (False, True))
    )
    surge_singles: bool = option("""
_ADDON = {
    "name": "node-doctor",
    "eks_addon": True,
    "about": "repairs nodes",
    "images": ["node-doctor"],
    "source": {"document": "its README", "read": "2026-11-26", "confidence": "medium"},
    "metadata": {"modes": [{"needs": ["region"]}], "given": {"region": ["AWS_REGION"]}, "fix": "set AWS_REGION"},
}


@dataclass(frozen=True)
class Trial:
    """`edit` makes the manual edits of the recipe; the declared item `shows` in the output of `command`; `tests`
    pass."""

    edit: Callable[[Path], None]
    command: tuple[str, ...]
    shows: str
    tests: tuple[str, ...]


def _replaced(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(before) != 1:
        raise SystemExit(f"{path.name} has {before!r} {text.count(before)} times: mend the trial")
    path.write_text(text.replace(before, after), encoding="utf-8")


def _recorded(tree: Path, area: str, code: str, **more: object) -> Path:
    """`more`: further fields of its record. Returns the package."""
    package = tree / "kubectl_eksdoc"
    file = package / "knowledge" / "findings.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    more |= {"area": "disruption"} if area == "check" else {}
    written["areas"][area].append({"code": code, "title": f"A recipe that is tried for {code}", **_RECORD, **more})
    file.write_text(f"{json.dumps(written, indent=1)}\n", encoding="utf-8")
    return package


def new_check(tree: Path) -> None:
    """A record, and a rule with its entry."""
    rules = _recorded(tree, "check", "upgrade-tried", texts={"": _FAILS}) / "check" / "checks" / "workloads.py"
    _replaced(rules, "UNHEALTHY_CHECKS = (\n", _CHECK)


def new_verdict(tree: Path) -> None:
    """A record, and a rule with its entry."""
    rules = _recorded(tree, "drain", "pod-tried") / "drain" / "pod_verdicts.py"
    _replaced(rules, "RULES = (\n", _VERDICT)


def new_blocker(tree: Path) -> None:
    """A record, with its texts for columns and the effect of the update of a node group, and a rule with its entry."""
    rules = _recorded(tree, "drain", "pod-held", **_BLOCKER) / "drain" / "pod_verdicts.py"
    _replaced(rules, "RULES = (\n", _BLOCKER_RULE)


def new_field(tree: Path) -> None:
    """A line with its type, and its description."""
    result = tree / "kubectl_eksdoc" / "interruption" / "report.py"
    _replaced(result, "    instance_type: Text | None\n", f"    instance_type: Text | None\n{_FIELD}")


def new_column(tree: Path) -> None:
    """A column, its cell, and its restriction to -o wide."""
    rows = tree / "kubectl_eksdoc" / "drain" / "report" / "rows.py"
    _replaced(rows, 'Column("OS IMAGE"),', 'Column("OS IMAGE"),\n        Column("RUNTIME"),')
    _replaced(rows, '_WIDE_ONLY = ("ZONE", ', '_WIDE_ONLY = ("RUNTIME", "ZONE", ')
    _replaced(rows, '"OS IMAGE": node.os_image,', '"OS IMAGE": node.os_image, "RUNTIME": node.runtime,')


def new_option(tree: Path) -> None:
    """A field."""
    policy = tree / "kubectl_eksdoc" / "drain" / "policy.py"
    _replaced(policy, "    surge_singles: bool = option(", _OPTION)


def new_addon(tree: Path) -> None:
    """A record."""
    file = tree / "kubectl_eksdoc" / "knowledge" / "software.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    made = {**written, "records": [*written["records"], _ADDON]}
    file.write_text(f"{json.dumps(made, indent=1)}\n", encoding="utf-8")


_SHOWN = """import io, json, sys
from kubectl_eksdoc.cli.completion_command import complete
from kubectl_eksdoc.cli.main import run

def shown(words):
    if words[0] == "complete":
        return str(complete(words[1:], {}))
    out = io.StringIO()
    run(words, out, out)
    return out.getvalue()

print(json.dumps([shown(words) for words in json.loads(sys.argv[1])]))
"""
"""The output of some commands, run in one process."""
_QUIET = ("-q", "--assert=plain", "-p", "no:cacheprovider")
_OF_LONG_TESTS = ("EKSDOC_EXAMPLES", "PYTHONDONTWRITEBYTECODE")
_PLAN = ("drain", "plan", "--demo", "-o", "json")
_SCHEMA = "tests/drain/report/test_result.py"
TRIALS = {
    "check": Trial(new_check, ("check", "--demo", "-o", "json"), '"upgrade-tried"', ("tests/contracts/test_codes.py",)),
    "verdict": Trial(
        new_verdict,
        _PLAN,
        '"pod-tried"',
        (_SCHEMA, "tests/contracts/test_codes.py"),
    ),
    "blocker": Trial(
        new_blocker,
        _PLAN,
        '"pod-held"',
        (
            "tests/contracts/test_texts.py",
            "tests/contracts/test_codes.py",
            "tests/contracts/test_remedies.py::test_each_command_of_a_text_parses",
            "tests/contracts/test_every_finding_says.py",
            _SCHEMA,
        ),
    ),
    "field": Trial(
        new_field,
        ("interruption", "--demo", "-o", "json"),
        '"osImage"',
        (_SCHEMA, "tests/interruption/command/test_offline.py"),
    ),
    "column": Trial(
        new_column,
        ("drain", "plan", "--demo", "-o", "wide"),
        "RUNTIME",
        ("tests/drain/report/test_same_rows.py", "tests/report/test_width.py"),
    ),
    "option": Trial(
        new_option,
        (*_PLAN, "--tried"),
        '"tried": true',
        (
            "tests/cli/test_declared_options.py",
            "tests/cli/completing/test_tree.py",
            "tests/tui/test_form.py::test_a_knob_has_an_end_on_both_sides_and_comes_back",
        ),
    ),
    "addon": Trial(
        new_addon,
        ("complete", "addon-diff", "node-d"),
        "node-doctor",
        ("tests/model/test_knowledge.py", "tests/imds_probe/test_programs.py"),
    ),
}


def copied(tree: Path) -> None:
    """The files that git tracks, or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def held(tree: Path) -> dict[str, int]:
    """The last write time of each file."""
    return {str(path.relative_to(tree)): path.stat().st_mtime_ns for path in tree.rglob("*") if path.is_file()}


def _differing(before: dict[str, int], now: dict[str, int]) -> list[str]:
    return sorted(name for name in now if now[name] != before.get(name))


def _ran(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Output of Python in the copy, whose bytecode is stored beside it."""
    env = {name: value for name, value in os.environ.items() if name not in _OF_LONG_TESTS}
    env |= {"PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": f"{tree}.bytecode", "EKSDOC_COMPLETION_OFFLINE": "1"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)


def tried(names: Sequence[str]) -> bool:
    """All trials in one copy. Prints the results."""
    with tempfile.TemporaryDirectory(prefix="eksdoc-trial-") as folder:
        tree = Path(folder) / "tree"
        copied(tree)
        now = held(tree)
        for name in names:
            before = now
            TRIALS[name].edit(tree)
            now = held(tree)
            print(f"{name}: by hand: {', '.join(_differing(before, now))}")
        documents = _ran(tree, "-m", "tools.documents")
        print(f"by make docs: {', '.join(_differing(now, held(tree)))}")
        commands = _ran(tree, "-c", _SHOWN, json.dumps([TRIALS[name].command for name in names]))
        paths = dict.fromkeys(path for name in names for path in TRIALS[name].tests)
        tests = _ran(tree, "-m", "pytest", *_QUIET, "-m", "not long and not hypothesis", *paths)
    shown = zip(names, json.loads(commands.stdout or "[]"), strict=False)
    lacking = {name: text[-500:] for name, text in shown if TRIALS[name].shows not in text}
    well = not (lacking or documents.returncode or commands.returncode or tests.returncode)
    said = f"{documents.stderr[-2000:]}{commands.stderr[-2000:]}\nnot shown: {lacking}\n{tests.stdout[-3000:]}"
    print("well" if well else f"NOT WELL\n{said}")
    return well


def main(words: Sequence[str]) -> int:
    if strange := [each for each in words if each not in TRIALS]:
        print(f"there is no trial {', '.join(strange)}, but {', '.join(TRIALS)}", file=sys.stderr)
        return 2
    return 0 if tried(words or list(TRIALS)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
