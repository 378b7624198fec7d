"""Tries the recipes of CONTRIBUTING.md in a copy of this tree: what is one declaration has to be one, and enough.

    python -m tools.trials [code | option | addon …]

For each trial it says which files are edited by hand and which `make docs` writes, and runs the tests near them. Exit
code 1: a test fails, or what was declared does not show.
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
_CODE = {
    "code": "node-tried",
    "title": "A node of a trial",
    "about": "A recipe was tried on it.",
    "needs": ["nodes"],
    "texts": {"": {"severity": "low", "status": "pass", "message": "a recipe was tried on it"}},
}
_RULE = """def _tried(node: Node) -> Finding | None:
    return Finding.of("node-tried", _subject(node))


def _ends_soon("""
_OPTION = """    tried: bool = option(
        False, "--tried", ONLY_HERE, SWITCH, "try a recipe", steps=Steps("tried", "a recipe", (False, True))
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
    """`edit` does by hand what the recipe says; what was declared `shows` in what `command` prints; `tests` pass."""

    edit: Callable[[Path], None]
    command: tuple[str, ...]
    shows: str
    tests: tuple[str, ...]


def _replaced(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(before) != 1:
        raise SystemExit(f"{path.name} has {before!r} {text.count(before)} times: mend the trial")
    path.write_text(text.replace(before, after), encoding="utf-8")


def new_code(tree: Path) -> None:
    """A record, and a rule."""
    package = tree / "kubectl_eksdoc"
    file = package / "knowledge" / "findings.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    written["areas"]["drain"].append(_CODE)
    file.write_text(f"{json.dumps(written, indent=1)}\n", encoding="utf-8")
    rules = package / "drain" / "nodes.py"
    _replaced(rules, "def _ends_soon(", _RULE)
    _replaced(rules, "found = (_ends_soon(node), ", "found = (_tried(node), _ends_soon(node), ")


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


_EKSDOC = ("-m", "kubectl_eksdoc")
_PLAN = ("drain", "plan", "--demo", "-o", "json")
TRIALS = {
    "code": Trial(new_code, _PLAN, '"node-tried"', ("tests/render/test_schema.py", "tests/model")),
    "option": Trial(
        new_option,
        (*_PLAN, "--tried"),
        '"tried": true',
        ("tests/cli/test_declared.py", "tests/cli/completing/test_tree.py", "tests/tui/test_form.py"),
    ),
    "addon": Trial(
        new_addon,
        ("complete", "addon-diff", "node-d"),
        "node-doctor",
        ("tests/model/test_knowledge.py", "tests/imds_probe/test_programs.py"),
    ),
}


def copied(tree: Path) -> None:
    """What git knows, or would take."""
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


def differing(tree: Path, before: dict[str, bytes]) -> list[str]:
    return sorted(name for name, content in before.items() if (tree / name).read_bytes() != content)


def held(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


def _ran(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Of Python, in the copy."""
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "EKSDOC_COMPLETION_OFFLINE": "1"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)


def tried(name: str) -> bool:
    """Prints what came of it."""
    trial = TRIALS[name]
    with tempfile.TemporaryDirectory(prefix="eksdoc-trial-") as folder:
        tree = Path(folder)
        copied(tree)
        before = held(tree)
        trial.edit(tree)
        by_hand = differing(tree, before)
        before = {path: (tree / path).read_bytes() for path in before}
        documents = _ran(tree, "-m", "tools.documents")
        made = differing(tree, before)
        shown = _shown(tree, trial.command)
        tests = _ran(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long", *trial.tests)
    well = documents.returncode == 0 and trial.shows in shown and tests.returncode == 0
    print(f"{name}: {'well' if well else 'NOT WELL'}; by hand: {', '.join(by_hand)}; by make docs: {len(made)} files")
    if not well:
        print(documents.stderr[-2000:], shown[-500:], tests.stdout[-3000:], sep="\n")
    return well


_COMPLETED = "import sys; from kubectl_eksdoc.cli.completing.command import answered; print(answered(sys.argv[1:], {}))"


def _shown(tree: Path, command: Sequence[str]) -> str:
    done = _ran(tree, "-c", _COMPLETED, *command[1:]) if command[0] == "complete" else _ran(tree, *_EKSDOC, *command)
    return done.stdout + done.stderr


if __name__ == "__main__":
    results = [tried(name) for name in sys.argv[1:] or TRIALS]
    sys.exit(0 if all(results) else 1)
