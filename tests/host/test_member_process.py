"""One process for each cluster of a fleet: how it is started, read and ended, and that no child process remains."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubectl_eksdoc.host.fleet import MemberProcesses, MemberProcessSettings, member_environment, own_program
from kubectl_eksdoc.model.cluster import FleetMember, JudgedMember, MemberOutcome, UnjudgedMember

LONGEST_S = 30.0
ANSWER = json.dumps({"apiVersion": "eksdoc.io/v1alpha1", "kind": "UpgradeCheck", "findings": [], "verdict": "fine"})
PRINTS = f"print({ANSWER!r})"


def members(program: str, timeout_s: float = LONGEST_S, environ: Mapping[str, str] | None = None) -> MemberProcesses:
    """`program`: Python source; the member's name is in ``sys.argv[1]``."""
    around = dict(os.environ) if environ is None else environ
    asked = MemberProcessSettings(
        lambda member: (member.name,),
        "UpgradeCheck",
        lambda member: member_environment(member, around),
        timeout_s,
        (sys.executable, "-S", "-c", f"import os, signal, sys, time\n{program}"),
    )
    return MemberProcesses(asked)


@contextmanager
def closing(asking: MemberProcesses) -> Iterator[MemberProcesses]:
    try:
        yield asking
    finally:
        asking.close()


def answers(asking: MemberProcesses, *names: str) -> dict[str, MemberOutcome]:
    found: dict[str, MemberOutcome] = {}
    with closing(asking):
        for name in names:
            asking.start(FleetMember(name, name))
        ends_s = time.monotonic() + LONGEST_S
        while len(found) < len(names):
            assert time.monotonic() < ends_s
            found.update({member.name: outcome for member, outcome in asking.finished(0.2)})
    return found


def answer(asking: MemberProcesses) -> MemberOutcome:
    return answers(asking, "a")["a"]


def until(holds: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + LONGEST_S
    while not holds():
        assert time.monotonic() < ends_s
        time.sleep(0.02)


def gone(number: int) -> bool:
    """Whether the process has ended and was reaped; init reaps orphans."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def test_one_that_fails_takes_nobody_with_it() -> None:
    program = (
        f"name = sys.argv[1]\n"
        f"if name == 'killed': os.kill(os.getpid(), signal.SIGKILL)\n"
        f"if name == 'refused': sys.exit(print('error: no such context', file=sys.stderr) or 3)\n"
        f"if name == 'bug': raise ValueError('a bug')\n{PRINTS}; sys.exit(1)"
    )
    found = answers(members(program), "killed", "refused", "bug", "fine")
    fine = found.pop("fine")
    assert isinstance(fine, JudgedMember) and (fine.exit_code, fine.verdict) == (1, "fine")
    killed = found.pop("killed")
    assert isinstance(killed, UnjudgedMember) and killed.reason == "its process was killed by signal 9"
    assert found == {
        "refused": UnjudgedMember(3, "no such context"),
        "bug": UnjudgedMember(
            70, "its process ended with exit code 1 and printed no UpgradeCheck", "ValueError: a bug"
        ),
    }


def test_nobody_can_be_asked_there() -> None:
    """The process cannot prompt on stdin or on a terminal: its session has no terminal."""
    program = (
        "try: open('/dev/tty'); sys.exit('error: a terminal')\nexcept OSError: pass\n"
        f"sys.exit('error: stdin') if sys.stdin.read() else {PRINTS}"
    )
    assert isinstance(answer(members(program)), JudgedMember)


@pytest.mark.long
def test_however_much_it_prints_it_does_not_hang() -> None:
    both = "for _ in range(200): sys.stdout.write(' ' * 4000); sys.stderr.write('x' * 4000)"
    assert isinstance(answer(members(f"{both}\nsys.stdout.flush(); {PRINTS}")), JudgedMember)
    assert answer(members(f"{both}\nsys.exit(3)")).exit_code == 3


@pytest.mark.long
def test_who_hangs_is_ended_with_all_that_was_started(tmp_path: Path) -> None:
    """Like a credential plugin that waits for a browser; it ignores SIGTERM."""
    noted = tmp_path / "pids"
    program = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = os.fork()\n"
        f"open({str(noted)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "os.write(2, b'waiting for a login\\n')\n"  # both do: print() writes the end of a line apart
        "time.sleep(600)"
    )
    begun_s = time.monotonic()
    found = answer(members(program, timeout_s=1.0))
    assert isinstance(found, UnjudgedMember)
    assert (found.exit_code, found.reason) == (3, "no answer within 1s: waiting for a login")
    assert time.monotonic() - begun_s < 15
    pids = [int(line) for line in noted.read_text().split()]
    assert len(pids) == 2
    until(lambda: all(gone(pid) for pid in pids))


@pytest.mark.long
def test_closing_ends_all_and_none_begins(tmp_path: Path) -> None:
    program = f"open({str(tmp_path)!r} + '/' + sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    asking = members(program)
    with closing(asking):
        for name in ("a", "b", "c"):
            asking.start(FleetMember(name, name))
        until(lambda: len([path for path in tmp_path.iterdir() if path.read_text()]) == 3)
        begun_s = time.monotonic()
    assert time.monotonic() - begun_s < 10
    assert all(gone(int(path.read_text())) for path in tmp_path.iterdir())
    asking.start(FleetMember("late", "late"))
    asking.close()
    assert not (tmp_path / "late").exists()


def test_a_program_that_is_not_there_is_a_row() -> None:
    asked = MemberProcessSettings(lambda _: (), "UpgradeCheck", lambda _: {}, 5.0, ("/nowhere/python",))
    found = answers(MemberProcesses(asked), "a")["a"]
    assert found == UnjudgedMember(70, "its process cannot be begun: No such file or directory")


@pytest.mark.long
def test_it_is_this_program_wherever_somebody_works(tmp_path: Path) -> None:
    """A folder of the same name in the current directory must not be imported."""
    stranger = tmp_path / "kubectl_eksdoc"
    stranger.mkdir()
    (stranger / "__init__.py").write_text("raise SystemExit('error: a stranger')")
    words = f"import os; os.chdir({str(tmp_path)!r}); {own_program()[2]}"
    asked = MemberProcessSettings(
        lambda _: ("check", "--demo", "--only", "ami-al2", "-o", "json"),
        "UpgradeCheck",
        lambda _: dict(os.environ),
        LONGEST_S,
        (own_program()[0], "-c", words),
    )
    found = answers(MemberProcesses(asked), "a")["a"]
    assert isinstance(found, JudgedMember), found
    assert found.who.cluster == "demo-shop"


@pytest.mark.long
def test_whom_it_leaves_behind_holds_nothing_up() -> None:
    """Like a helper that caches a login: it still has the pipes open, and the caller does not wait for it."""
    begun_s = time.monotonic()
    found = answer(members(f"sys.stdout.flush()\nif not os.fork(): time.sleep(30); os._exit(0)\n{PRINTS}"))
    assert isinstance(found, JudgedMember) and time.monotonic() - begun_s < 20


@pytest.mark.long
@pytest.mark.parametrize("profile", ["", "prod"])
def test_each_has_an_environment_of_its_own(profile: str) -> None:
    program = (
        "names = [os.environ.get(name, '-') for name in ('AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_REGION', 'OTHER')]\n"
        "sys.exit('error: ' + ' '.join(names)) if print(' '.join(names), file=sys.stderr) else sys.exit(3)"
    )
    environ = {"AWS_PROFILE": "mine", "AWS_ACCESS_KEY_ID": "AKIA", "AWS_REGION": "us-east-1", "OTHER": "kept"}
    asking = members(program, environ=environ)
    with closing(asking):
        asking.start(FleetMember("a", "a", profile=profile, region="eu-west-1" if profile else ""))
        found: list[MemberOutcome] = []
        until(lambda: bool(found.extend(outcome for _, outcome in asking.finished(0.2)) or found))
    assert found[0] == UnjudgedMember(3, "prod - eu-west-1 kept" if profile else "mine AKIA us-east-1 kept")
