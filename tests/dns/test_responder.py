"""The responder shuts down like the real CoreDNS: each recorded case, at a quarter of its time.

Order and cause are compared with the recording: the ports that close at once, those that stay open until lameduck is
over or the kill comes, the exit code, and that nothing ends sooner than its cause. How much later the test sees that
depends on the machine.
"""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s
from kubectl_eksdoc.model.coredns import Corefile
from tests import raw_facts
from tests.dns.responder_processes import LONGEST_S, Leaving, Seen, responding, until

CASES = tuple(raw_facts.lines("recordings/coredns-shutdown.jsonl.gz"))
SCALE = 0.25
LONG = 20.0
"""Seconds of lameduck are so long that no machine is too slow to see them, or to kill in time."""


def lameduck(case: dict[str, Any]) -> float:
    corefile = parse_corefile(case["corefile"])
    assert isinstance(corefile, Corefile)
    found = lameduck_s(corefile)
    assert found is not None
    return found


def then(case: dict[str, Any]) -> tuple[signal.Signals, float] | None:
    """The second signal, and its time, in recorded seconds."""
    if case["then"] is None:
        return None
    name, *_, number, _ = case["then"].split()
    return signal.Signals[name], float(number)


def recorded(change: dict[str, Any], case: dict[str, Any]) -> Seen:
    """A state of the recording; a case without the plugin has no such port."""
    health, ready = change["health"] == 200, change["ready"] == 200
    return Seen(change["udp"] is True, change["tcp"] is True, health if "health" in case["corefile"] else None, ready)


def states(leaving: Leaving) -> list[Seen]:
    """Each state from the moment at which the signal had been received, without repetitions."""
    found: list[Seen] = []
    ends_s = time.monotonic() + LONGEST_S
    while not leaving.gone or not found:
        assert time.monotonic() < ends_s
        now = leaving.seen()
        if now.ready is False and (not found or found[-1] != now):
            found.append(now)
    found.append(leaving.seen())
    return found


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["name"], marks=[pytest.mark.long] * (place not in (0, 3)))
        for place, case in enumerate(CASES)
    ],
)
def test_it_leaves_as_recorded(case: dict[str, Any]) -> None:
    second = then(case)
    killed = second is not None and second[0] is signal.SIGKILL
    with responding(case["corefile"], LONG if killed else SCALE) as leaving:
        before = leaving.seen()
        assert before == Seen(True, True, True if "health" in case["corefile"] else None, True)
        told_s = leaving.tell()
        if second is not None:
            until(lambda: time.monotonic() - told_s >= second[1] * SCALE)
            leaving.tell(second[0])
        seen = states(leaving)
        ended_s = time.monotonic() - told_s

    wanted = [recorded(change, case) for change in case["changes"]]
    assert seen[-1] == wanted[-1], "in the end nothing answers"
    assert leaving.process.returncode == case["exit"]
    cause_s = second[1] if killed and second is not None else lameduck(case)
    assert ended_s >= cause_s * SCALE, "nothing ends before its cause"
    if case["lastUdpAnswer"] is None:
        assert cause_s == 0
        # It closes one socket after another: the first look may fall in between, and then one of the two is closed.
        assert not (seen[0].udp and seen[0].tcp), "it was told"
        assert not any(each.udp or each.tcp for each in seen[1:]), "nothing answers again once it was silent"


@pytest.mark.long
@pytest.mark.parametrize("case", [c for c in CASES if c["lastUdpAnswer"]], ids=lambda case: case["name"])
def test_a_lame_duck_answers_until_its_cause(case: dict[str, Any]) -> None:
    """At one moment during lameduck: /ready is closed, and all else is unchanged, as recorded."""
    with responding(case["corefile"], LONG) as leaving:
        leaving.tell()
        until(lambda: leaving.seen().ready is False)
        leaving.tell()  # another one changes nothing
        assert leaving.seen() == recorded(case["changes"][0], case)
        assert not leaving.gone
        if case["exit"] < 0:
            leaving.tell(signal.SIGKILL)
            until(lambda: leaving.gone)
            assert leaving.process.returncode == case["exit"]
            assert leaving.seen() == recorded(case["changes"][-1], case)
