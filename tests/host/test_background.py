"""Background work that continues after its process has ended; each test starts a process, because the code forks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.contracts.source import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")

_RUN = """
import subprocess, sys, time
from pathlib import Path
from kubectl_eksdoc.host.processes import run_in_background
place = Path(sys.argv[1])
def work():
    {work}
print("before", flush=False)
run_in_background(work, {wait}, {longest})
print("after")
"""


def run(tmp_path: Path, work: str, wait_s: float = 5, longest_s: float = 20) -> str:
    """The output up to the end of the pipes."""
    script = _RUN.format(work=work, wait=wait_s, longest=longest_s)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "place")],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


def until(path: Path) -> str:
    ends_s = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < ends_s
        time.sleep(0.02)
    return path.read_text()


def test_what_is_done_in_time_is_done(tmp_path: Path) -> None:
    said = run(tmp_path, "place.write_text('done')", wait_s=20)
    assert said == "before\nafter\n" and (tmp_path / "place").read_text() == "done"


def test_what_takes_longer_holds_neither_the_process_nor_its_pipes(tmp_path: Path) -> None:
    waits = "[time.sleep(0.01) for _ in iter(place.with_name('goes-on').exists, True)]"
    said = run(tmp_path, f"{waits}; print('unheard', flush=True); place.write_text('late')", wait_s=0.1)
    assert said == "before\nafter\n" and not (tmp_path / "place").exists()
    (tmp_path / "goes-on").touch()
    assert until(tmp_path / "place") == "late"


def test_what_goes_wrong_is_nobodys(tmp_path: Path) -> None:
    assert run(tmp_path, "raise SystemError('x')") == "before\nafter\n"


@pytest.mark.long
def test_it_ends_with_its_programs(tmp_path: Path) -> None:
    """A credential plugin that hangs must not keep running."""
    lasting = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
    run(tmp_path, f"subprocess.run([sys.executable, '-c', {lasting!r}, str(place)])", wait_s=0.1, longest_s=3)
    pid = ""
    ends_s = time.monotonic() + 20
    while not pid:
        assert time.monotonic() < ends_s
        pid = until(tmp_path / "place")
    while Path(f"/proc/{pid}").exists() and "Z" not in _state(pid):
        assert time.monotonic() < ends_s
        time.sleep(0.05)


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
