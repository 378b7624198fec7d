"""Hooks as real processes: their input, their output, and that they end when the run ends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest

from kubectl_eksdoc.host.processes import MAX_MESSAGE, HookedBackend
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus
from kubectl_eksdoc.kubernetes.updates import HookEnded, RequestAnswered, RunUpdate
from kubectl_eksdoc.model.actions import AFTER_WAVE, BEFORE_WAVE, ClusterAction, Cordon, Hook

HOOK = Hook(BEFORE_WAVE, 3, ("old-0", "old-1"))


class Echo:
    """Answers every act with success."""

    def __init__(self) -> None:
        self.answers: list[RunUpdate] = []
        self.closed = False

    def do(self, act: ClusterAction) -> None:
        self.answers.append(RequestAnswered(act, ApiStatus(200)))

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        found, self.answers = self.answers, []
        if not found:
            sleep(min(wait_s, 0.05))
        return found

    def restart_watches(self) -> None: ...

    def close(self) -> None:
        self.closed = True


@contextmanager
def hooked(command: str, timeout_s: float = 30.0) -> Iterator[HookedBackend]:
    field = HookedBackend(Echo(), {BEFORE_WAVE: command, AFTER_WAVE: "exit 1"}, "r1", timeout_s)
    try:
        yield field
    finally:
        field.close()


def news(field: HookedBackend) -> Sequence[RunUpdate]:
    until_s = monotonic() + 20
    while monotonic() < until_s:
        if found := field.updates(1.0):
            return found
    raise AssertionError("nothing was told")


def asked(command: str, hook: Hook = HOOK, timeout_s: float = 30.0) -> HookEnded:
    with hooked(command, timeout_s) as field:
        field.do(hook)
        (ended,) = news(field)
    assert isinstance(ended, HookEnded) and ended.hook == hook
    return ended


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


def ends(pid: int) -> bool:
    until_s = monotonic() + 10
    while monotonic() < until_s:
        if not is_alive(pid):
            return True
        sleep(0.02)
    return False


def test_who_fails_says_no_with_its_last_line() -> None:
    assert asked("echo looking; echo '3 alerts fire' >&2; echo; exit 3") == HookEnded(
        HOOK, False, "exit status 3: 3 alerts fire"
    )
    assert asked("true") == HookEnded(HOOK, True, "")
    assert asked("exit 3") == HookEnded(HOOK, False, "exit status 3")
    assert "exit status 127" in asked("no-such-command-anywhere").message
    assert asked("kill -9 $$") == HookEnded(HOOK, False, "killed by signal 9")


def test_it_is_told_what_it_is_asked_about() -> None:
    told = asked('echo "$EKSDOC_RUN $EKSDOC_WAVE $EKSDOC_WHEN $EKSDOC_NODES; $(tr "\\n" ,)"')
    assert told.message == "r1 3 before-wave old-0 old-1; old-0,old-1,"


def test_of_thousands_of_nodes_the_names_stand_on_its_input() -> None:
    hook = Hook(BEFORE_WAVE, 1, tuple(f"ip-10-0-{i}.eu-central-1.compute.internal" for i in range(6000)))
    told = asked('echo "${EKSDOC_NODES-none} $(wc -l)"', hook)
    assert told.ok and told.message.split() == ["none", "6000"]


def test_a_hook_without_a_command_says_no() -> None:
    field = HookedBackend(Echo(), {}, "r1")
    field.do(HOOK)
    (ended,) = news(field)
    assert isinstance(ended, HookEnded) and not ended.ok and "cannot be run" in ended.message


@pytest.mark.long
def test_who_takes_too_long_is_killed_with_what_it_started(tmp_path: Path) -> None:
    """One of the processes ignores SIGTERM."""
    ended = asked(f"trap '' TERM; sleep 600 & echo $! > {tmp_path}/pid; echo waiting; wait; sleep 600", timeout_s=0.5)
    assert not ended.ok and ended.message == "it takes more than 0s: waiting"
    assert ends(int((tmp_path / "pid").read_text()))


def test_when_the_run_is_closed_it_is_killed_with_what_it_started(tmp_path: Path) -> None:
    with hooked(f"sleep 600 & echo $! > {tmp_path}/half; mv {tmp_path}/half {tmp_path}/pid; wait") as field:
        field.do(HOOK)
        until_s = monotonic() + 10
        while not (tmp_path / "pid").exists() and monotonic() < until_s:
            sleep(0.02)
        pid = int((tmp_path / "pid").read_text())
        assert is_alive(pid)
        begun_s = monotonic()
    assert ends(pid) and monotonic() - begun_s < 5


def test_what_it_leaves_running_holds_nothing_up(tmp_path: Path) -> None:
    begun_s = monotonic()
    ended = asked(f"sleep 600 & echo $! > {tmp_path}/pid; echo done")
    assert ended == HookEnded(HOOK, True, "done") and monotonic() - begun_s < 10
    pid = int((tmp_path / "pid").read_text())
    assert is_alive(pid), "it is none of our business"
    os.kill(pid, 9)


def test_who_says_too_much_is_not_kept_whole() -> None:
    ended = asked("head -c 3000000 /dev/zero | tr '\\0' x; exit 1")
    assert not ended.ok and len(ended.message) <= MAX_MESSAGE + 20
    assert asked("printf 'a\\033[31mred\\n'").message == "a[31mred"


def test_everything_else_is_the_inner_fields() -> None:
    inner = Echo()
    field = HookedBackend(inner, {BEFORE_WAVE: "true"}, "r1")
    field.do(Cordon("old-0", "u"))
    assert field.updates(0.0) == [RequestAnswered(Cordon("old-0", "u"), ApiStatus(200))]
    field.do(HOOK)
    field.do(Cordon("old-1", "u"))
    found = [*news(field)]
    while len(found) < 2:
        found += news(field)
    assert {type(each) for each in found} == {RequestAnswered, HookEnded}
    field.close()
    assert inner.closed
