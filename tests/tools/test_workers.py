"""Tests that run in forked workers: a worker reports the same as a single process would report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SUITE = """
import os, pytest, warnings

@pytest.fixture(scope="session")
def ground(tmp_path_factory):
    yield tmp_path_factory.mktemp("ground")
    os.write(2, b"ground left\\n")

@pytest.mark.parametrize("number", range(40))
def test_each(number, ground, capfd):
    os.system(f"echo {number}")
    assert capfd.readouterr().out == f"{number}\\n"
    assert number != 17

def test_skipped(): pytest.skip("not here")
def test_warns(): warnings.warn("look out")
def test_killed(): os.kill(os.getpid(), 9)
def test_after(tmp_path): assert not list(tmp_path.iterdir())
"""

WAITING = """
import os, pathlib, pytest

@pytest.fixture(autouse=True)
def begun(request):
    with pathlib.Path(__file__).with_suffix(".begun").open("a") as file:
        file.write(f"{os.getpid()} {request.function.__name__}\\n")

@pytest.mark.parametrize("number", range(40))
def test_each(number): pass

@pytest.mark.waits
@pytest.mark.parametrize("number", range(3))
def test_waits(number): pass

def test_fails(): assert False
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "test_suite.py"
    path.write_text(SUITE, encoding="utf-8")
    return path


def ran(suite: Path, *words: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.workers", "--workers", "3"]
    command += ["-c", "/dev/null", "--rootdir", str(suite.parent), "--basetemp", str(suite.parent / "base")]
    done = subprocess.run([*command, *words, str(suite)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stdout + done.stderr


@pytest.mark.long
def test_every_test_is_reported_also_one_that_kills_its_worker(suite: Path) -> None:
    shown = ran(suite)
    assert "2 failed, 41 passed, 1 skipped, 1 warning" in shown, shown
    assert "test_each[17]" in shown
    assert "assert 17 != 17" in shown
    assert "the worker ended with -9 while this test ran" in shown
    assert "look out" in shown


@pytest.mark.long
def test_what_waits_is_begun_first_and_by_one_worker(tmp_path: Path) -> None:
    path = tmp_path / "test_waiting.py"
    path.write_text(WAITING, encoding="utf-8")
    assert "1 failed, 43 passed" in ran(path, "-o", "markers=waits")
    by_worker: dict[str, list[str]] = {}
    for line in path.with_suffix(".begun").read_text(encoding="utf-8").splitlines():
        worker, name = line.split()
        by_worker.setdefault(worker, []).append(name)
    (names,) = [each for each in by_worker.values() if "test_waits" in each]
    assert names[:3] == ["test_waits"] * 3 and names.count("test_waits") == 3
