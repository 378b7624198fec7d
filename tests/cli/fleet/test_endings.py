"""A fleet that is told to end: nobody is left, neither the members' processes nor what they have started."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.cli.fleet.places import LONGEST_S, places
from tests.cli.processes import until
from tests.fakes import kubeconfigs


def gone(number: int) -> bool:
    """Ended; who nobody waits for any more is a zombie until the first process of the machine does."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([signal.SIGTERM], id="kill", marks=pytest.mark.long),
        pytest.param([signal.SIGINT] * 3, id="insisting", marks=pytest.mark.long),
    ],
)
def test_told_to_end_nobody_is_left(tmp_path: Path, numbers: list[signal.Signals]) -> None:
    """Credential plugins wait for somebody to log in, and do not listen."""
    noted = tmp_path / "pids"
    noted.mkdir()
    plugin = kubeconfigs.plugin(
        tmp_path,
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"with open(os.path.join({str(noted)!r}, sys.argv[1]), 'w') as file:\n"
        "    file.write(f'{os.getpid()} {os.getppid()}\\n')\n"
        "time.sleep(600)\n",
    )
    with places(tmp_path) as there:
        for each in ("a", "b", "c"):
            there.add(each, "secure", kubeconfigs.exec_user(plugin, each))
        there.urls = {"secure": "https://127.0.0.1:1"}
        with there.begun("check", "--fleet", "a,b,c", "--parallel", "2") as process:
            try:
                until(lambda: len([path for path in noted.iterdir() if path.read_text().endswith("\n")]) == 2)
                begun_s = time.monotonic()
                for number in numbers:
                    process.send_signal(number)
                    time.sleep(0.1)
                out, err = process.communicate(timeout=LONGEST_S)
            finally:
                process.kill()
    # The third may come when the interpreter is on its way out, and knows of no signals any more.
    codes = (130, -signal.SIGINT) if len(numbers) > 1 else (130,)
    assert process.returncode in codes and out == ""
    assert err.splitlines()[-1] == "interrupted"
    assert time.monotonic() - begun_s < 15
    pids = [int(word) for path in noted.iterdir() for word in path.read_text().split()]
    assert len(pids) == 4, "two were asked at a time"
    until(lambda: all(gone(pid) for pid in pids))
