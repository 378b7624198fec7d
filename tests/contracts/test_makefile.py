"""The environment of the Makefile is created once, and recovers: moved, half created, without its Python, without pip.

A shell script stands in for python3, so nothing is installed and each run takes a moment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import required_programs
from tests.contracts.source import ROOT

# Logs its steps in $LOG. A word in $FAIL makes that step fail; an environment without its file "lib" is broken.
PYTHON = r"""#!/bin/sh
lib="$(dirname "$0")/lib"
fails() { case " $FAIL " in *" $1 "*) return 0;; esac; return 1; }
case "$*" in
  "-c import sys; "*) ! fails old ;;
  "-c import venv, "*) ! fails without-venv ;;
  "-m venv "*)
    echo "venv" >> "$LOG"
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python" || exit
    fails venv && exit 1
    : > "$3/bin/lib" ;;
  "-c import pip" | *" pip "*--version) [ -e "$lib" ] ;;
  *" pip "*install*)
    mkdir "$LOG.busy" || { echo "two pips at once" >> "$LOG"; exit 1; }
    sleep 0.1
    rmdir "$LOG.busy"
    case "$*" in *"[test]"*) echo "pip test" ;; *) echo "pip" ;; esac >> "$LOG"
    ! fails pip ;;
  "-m compileall "*) [ -e "$lib" ] ;;
  "-m kubectl_eksdoc "*) echo "demo" >> "$LOG"; exit 1 ;;
  "-m pytest "*)
    echo "pytest" >> "$LOG"
    ! fails pytest ;;
  "-m tests.rerun_failures"*) echo "again${3:+, up to $3 may}" >> "$LOG"; exit 1 ;;
  --version) echo "Python 3.9.1" ;;
  *) echo "unexpected: $*" >> "$LOG"; exit 99 ;;
esac
"""


@dataclass
class Clone:
    """A folder with the files that the Makefile reads, and the python3 stand-in."""

    folder: Path
    python: Path
    log: Path

    def make(self, *words: str, fail: str = "", code: int = 0) -> list[str]:
        """The steps of a run of make that ends with `code`."""
        done = self.run(*words, fail=fail)
        assert done.returncode == code, done.stdout + done.stderr
        told = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return told

    def run(self, *words: str, fail: str = "") -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "VENV", "PYTHON")}
        env = {**kept, "LOG": str(self.log), "FAIL": fail, "PATH": f"{self.python.parent}:{os.environ['PATH']}"}
        command = [required_programs.found("make"), *words]
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    folder, programs = tmp_path / "a clone", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    for name in ("Makefile", "setup.cfg", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
        os.utime(folder / name, (1, 1))
    python = programs / "python3"
    python.write_text(PYTHON, encoding="utf-8")
    python.chmod(0o755)
    return Clone(folder, python, tmp_path / "log")


def test_the_first_run_installs_and_the_next_does_not(clone: Clone) -> None:
    assert clone.make("demo") == ["venv", "pip", "demo"]
    assert clone.make("demo") == ["demo"]
    assert clone.make("test") == ["pip test", "pytest"]
    assert clone.make("test") == ["pytest"]
    assert clone.make("demo") == ["demo"]


def test_what_failed_is_run_again(clone: Clone) -> None:
    clone.make("test")
    assert clone.make("test", fail="pytest", code=2) == ["pytest", "again"]
    assert clone.make("test-long", fail="pytest", code=2) == ["pytest", "again, up to 3 may"]


ONCE = """
from pathlib import Path
def test_once():
    seen, before = Path("seen"), Path("seen").exists()
    seen.touch()
    assert before
"""


@pytest.mark.parametrize(
    ("text", "most", "code"),
    [
        pytest.param(ONCE, "1", 0, id="passes alone", marks=pytest.mark.long),
        pytest.param(ONCE, "", 1, id="none may", marks=pytest.mark.long),
        pytest.param(ONCE.replace("assert before", "assert False"), "1", 1, id="fails again", marks=pytest.mark.long),
        pytest.param("", "1", 1, id="no test failed", marks=pytest.mark.long),
    ],
)
def test_what_passes_alone_is_let_through_where_some_may(text: str, most: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(text, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    run("pytest", "-q")
    done = run("tests.rerun_failures", *most.split())
    assert done.returncode == code, done.stdout + done.stderr
    assert ("test_it.py::test_once" in done.stderr) is (code == 0)


def test_other_requirements_are_installed(clone: Clone) -> None:
    clone.make("demo")
    stamp = (clone.folder / ".venv" / ".installed").stat().st_mtime
    os.utime(clone.folder / "setup.cfg", (stamp + 5, stamp + 5))
    assert clone.make("demo") == ["pip", "demo"]


def test_a_moved_environment_is_made_anew(clone: Clone) -> None:
    clone.make("test")
    clone.folder = clone.folder.rename(clone.folder.with_name("moved"))
    assert clone.make("test") == ["venv", "pip test", "pytest"]
    assert clone.make("test") == ["pytest"]


def test_a_half_made_environment_is_made_anew(clone: Clone) -> None:
    assert clone.make("demo", fail="venv", code=2) == ["venv"]
    assert clone.make("demo") == ["venv", "pip", "demo"]


def test_an_install_that_failed_is_done_again(clone: Clone) -> None:
    assert clone.make("demo", fail="pip", code=2) == ["venv", "pip"]
    assert clone.make("demo") == ["pip", "demo"]


@pytest.mark.parametrize("lost", ["python", "lib"])
def test_an_environment_that_lost_its_python_or_pip_is_made_anew(clone: Clone, lost: str) -> None:
    clone.make("demo")
    (clone.folder / ".venv" / "bin" / lost).unlink()
    assert clone.make("demo") == ["venv", "pip", "demo"]


@pytest.mark.parametrize("left", [(), ("bin",), ("bin", "bin/python")], ids=str)
def test_rubbish_in_the_usual_place_is_made_anew(clone: Clone, left: tuple[str, ...]) -> None:
    (clone.folder / ".venv").mkdir()
    for name in left:
        (clone.folder / ".venv" / name).mkdir()
    assert clone.make("demo") == ["venv", "pip", "demo"]


def test_an_environment_of_someone_else_is_used_or_refused_but_never_removed(clone: Clone) -> None:
    theirs = clone.folder.parent / "theirs"
    (theirs / "bin").mkdir(parents=True)
    (theirs / "bin" / "mine").touch()
    refused = clone.run("demo", f"VENV={theirs}")
    assert refused.returncode == 2 and "no pip that works" in refused.stdout
    shutil.copy(clone.python, theirs / "bin" / "python")
    (theirs / "bin" / "lib").touch()
    assert clone.make("demo", f"VENV={theirs}") == ["pip", "demo"]
    assert (theirs / "bin" / "mine").exists()


def test_two_pips_never_run_at_once(clone: Clone) -> None:
    assert clone.make("-j4", "demo", "test") == ["venv", "pip", "demo", "pip test", "pytest"]


@pytest.mark.parametrize(
    ("fail", "said"), [("old", "Python 3.10 or newer is needed"), ("without-venv", "apt install python3-venv")]
)
def test_a_python_that_will_not_do_is_told_of(clone: Clone, fail: str, said: str) -> None:
    done = clone.run("demo", fail=fail)
    assert done.returncode == 2 and said in done.stdout
    assert not (clone.folder / ".venv").exists()


def test_a_cluster_of_the_environment_is_not_drained(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/me/production")
    done = clone.run("test-real")
    assert done.returncode == 2 and "name the cluster that may be drained" in done.stdout
    assert "unexpected" not in clone.log.read_text(encoding="utf-8"), "nothing was started"
