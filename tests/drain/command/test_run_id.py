"""``drain run --run-id`` starts a run once under its id. Errors that say nothing about the run itself ask the caller to
start it again; all other results do not. tests/in_cluster/command/test_process.py tests killed processes."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.command.run_controller import restartable
from kubectl_eksdoc.errors import JournalError, JournalGone, LocalJournalError, LockInDoubt, LockLost, Unreachable
from kubectl_eksdoc.model.journal import TERMINATED
from tests.drain.command.served import Machine
from tests.kube.live_backend.test_complete_drain import Evictions

RUN = ("drain", "run", "--nodegroup", "blue", "--yes", "--expect-nodes", "1", "--run-id", "now")


@pytest.mark.long
def test_told_to_end_it_is_to_be_started_again_until_it_is_over(seen: Evictions, one: Machine, other: Machine) -> None:
    times = [0]
    one.times_told = lambda: times[0]
    with one.running(*RUN):
        one.out.until("Z  evicted")
        times[0] = 1
    assert one.code == 130 and TERMINATED in one.out.getvalue()
    assert "run now, journal in namespace kube-system" in one.err.getvalue()
    second = other.run(*RUN)
    assert second.code in (0, 1), second.err
    assert len(seen.of) == 16 and max(seen.of.values()) == 1
    again = one.run(*RUN)
    assert again.code == 0 and "run now has ended already: done" in again.err and again.out == ""
    assert len(seen.of) == 16
    assert "now" in other.run("drain", "status").out


def test_an_outage_ends_no_run() -> None:
    with pytest.raises(Unreachable, match="cannot be read") as caught, restartable():
        raise JournalError("the journal cannot be read", "Look.")
    assert caught.value.hint == "Look."
    with pytest.raises(KeyboardInterrupt), restartable():
        raise LockLost(f"{TERMINATED}; nobody answered")


@pytest.mark.parametrize(
    "error",
    [
        JournalGone("gone"),
        LocalJournalError("full"),
        LockLost("ben leads it now"),
        LockInDoubt("it was unknown for 15 m"),
    ],
)
def test_what_somebody_did_or_a_guard_decided_does(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, restartable():
        raise error
    assert caught.value is error
