"""The real entry point in separate processes: kubectl, pipes, unsupported Python versions."""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_eksdoc import __version__
from kubectl_eksdoc.launch import is_completion, version_error
from tests.contracts.source import PACKAGE, ROOT
from tests.fakes.programs import program

YOUNG_SYNTAX = (ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.AsyncFunctionDef, ast.Match)


def process(*command: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **({"PATH": path} if path else {})}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=False)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A folder with a script that does the same as pip's script for the entry point."""
    script = tmp_path / "script" / "kubectl-eksdoc"  # by its own name it says how it was called
    script.parent.mkdir()
    script.write_text("from kubectl_eksdoc.launch import main\nmain()\n", encoding="utf-8")
    return program(tmp_path / "kubectl-eksdoc", sys.executable, str(script)).parent


def test_module_and_script_say_their_version(plugin: Path) -> None:
    for command in ((sys.executable, "-m", "kubectl_eksdoc"), (str(plugin / "kubectl-eksdoc"),)):
        done = process(*command, "--version")
        assert (done.returncode, done.stdout, done.stderr) == (0, f"kubectl eksdoc {__version__}\n", "")


@pytest.mark.long
def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{shlex.quote(sys.executable)} -m kubectl_eksdoc drain plan --demo -o wide | head -n 1"
    done = process("/bin/sh", "-c", command)
    assert len(done.stdout.splitlines()) == 1
    assert "rror" not in done.stderr


@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        (">&-", 2, "error: there is nowhere to write the answer: stdout is closed\n"),
        (">&- <&- 2>&-", 2, ""),
        pytest.param("<&- 2>&- >/dev/null", 1, "", marks=pytest.mark.long),
    ],
)
def test_closed_streams_are_no_bug(redirected: str, code: int, said: str) -> None:
    done = process("/bin/sh", "-c", f"'{sys.executable}' -m kubectl_eksdoc drain plan --demo {redirected}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


@pytest.mark.long
def test_a_dump_from_a_closed_stdin_is_an_error_in_words() -> None:
    done = process("/bin/sh", "-c", f"'{sys.executable}' -m kubectl_eksdoc drain plan --snapshot - n <&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: cannot open the snapshot -: standard input is closed\n")


def test_nobody_waits_at_its_end_for_what_goes_with_the_process_anyway() -> None:
    """At exit, Python's garbage collector skips frozen objects."""
    seen = "print(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 1000)"
    done = process(
        sys.executable, "-c", f"import gc; from kubectl_eksdoc.cli.main import main; main(); {seen}", "version"
    )
    assert done.stdout.endswith("True True\n")


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 6, 15), (3, 9, 18)])
def test_an_old_python_is_told_in_one_line(version: tuple[int, int, int]) -> None:
    said = version_error(version, "/usr/bin/python3")
    assert said.startswith(
        f"error: kubectl eksdoc needs Python 3.10 or newer; this is {'.'.join(map(str, version))} (/usr/bin/"
    )
    assert "\n" not in said


def test_a_new_python_is_told_nothing() -> None:
    assert version_error((3, 10, 0), "x") == version_error((3, 14, 1), "x") == version_error((4, 0, 0), "x") == ""


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py", "launch.py"])
def test_what_runs_before_the_version_is_known_is_old_syntax(name: str) -> None:
    module = ast.parse((PACKAGE / name).read_text(encoding="utf-8"), feature_version=(3, 4))
    assert [node for node in ast.walk(module) if isinstance(node, YOUNG_SYNTAX)] == []
    assert "__future__" not in ast.unparse(module)


def test_a_python_that_is_too_old_is_silent_while_somebody_types() -> None:
    assert is_completion(["/x/kubectl_complete-eksdoc", ""]) and is_completion(["/x/kubectl-eksdoc", "__complete", ""])
    assert is_completion(["C:\\x\\kubectl_complete-eksdoc_drain.exe"])
    assert not is_completion(["/x/kubectl-eksdoc", "drain"]) and not is_completion(["/x/kubectl-eksdoc"])
