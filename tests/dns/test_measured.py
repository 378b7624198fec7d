"""The real load generator, as a process, over real sockets, while a DNS server leaves a service: lost answers and their
cause.

The speed of the machine decides nothing: each step waits for the one before, and a run whose events did not come in the
intended order (the proxy removed the endpoint only after lameduck was over) is repeated.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.dns.load_generator import Asking, asking, plan
from tests.dns.responder import HOSTS, Behaviour, has_v6
from tests.dns.responder_processes import LONGEST_S, Leaving, answering, several, until
from tests.dns.service import Service, serving

pytestmark = pytest.mark.long

LAMEDUCK = ".:53 {\n health {\n lameduck 5s\n }\n ready\n}\n"
NONE = ".:53 {\n health\n ready\n}\n"
ENOUGH = 8
"""So many flows are wanted in each stretch of time that matters."""


def flows_more(service: Service, ports: list[int]) -> None:
    """Wait until each endpoint has received so many more flows over each transport."""
    before = service.flows.copy()
    wanted = [(by, port) for by in ("udp", "tcp") for port in ports]
    until(lambda: all(service.flows[each] >= before[each] + ENOUGH for each in wanted), "no flows")


@dataclass(frozen=True)
class Course:
    """One run: the results of the load generator, and whether the events came in the intended order."""

    asked: Asking
    code: int
    in_order: bool


def targets(service: Service, one: Leaving, two: Leaving) -> dict[str, tuple[str, int]]:
    return {
        "service": (HOSTS[0], service.port),
        "leaving": (HOSTS[0], one.port),
        "staying": (HOSTS[0], two.port),
        **({"staying-v6": (HOSTS[1], two.port)} if two.v6 else {}),
    }


def course(folder: Path, corefile: str, scale: float, propagated_s: float, killed: bool = False) -> Course:
    """One of two endpoints ends; the proxy removes it after `propagated_s`, and, if it ends before that, after some
    flows to its address. `killed`: by a grace period that is shorter than lameduck."""
    with several(2, corefile, scale) as (one, two), serving([one.port, two.port]) as service:
        with asking(folder, plan(targets(service, one, two))) as asked:
            flows_more(service, [one.port, two.port])
            told_s = one.tell()
            if killed:
                one.tell(signal.SIGKILL)
            until(lambda: time.monotonic() - told_s >= propagated_s)
            left_early = one.gone
            if left_early:
                flows_more(service, [one.port])
            service.take_out(one.port)
            until(lambda: one.port not in service.endpoints)
            still_there = not one.gone
            until(lambda: one.gone)
            flows_more(service, [two.port])
            asked.end()
        wanted = still_there if corefile == LAMEDUCK and not killed else left_early
        return Course(asked, one.process.returncode, wanted)


def in_order(folder: Path, corefile: str, scale: float, propagated_s: float, killed: bool = False) -> Course:
    ends_s = time.monotonic() + 2 * LONGEST_S
    while time.monotonic() < ends_s:
        found = course(folder, corefile, scale, propagated_s, killed)
        if found.in_order:
            return found
    raise AssertionError("it never went in order")


def lost(asked: Asking, target: str) -> int:
    found = asked.of(target)
    return found["lost"] + found["refused"] + found["failed"]


def test_with_a_lameduck_that_is_longer_than_propagation_nothing_is_lost(tmp_path: Path) -> None:
    done = in_order(tmp_path, LAMEDUCK, 0.4, 0.3)
    assert done.code == 0
    assert done.asked.of("service")["answered"] > 4 * ENOUGH
    assert lost(done.asked, "service") == 0
    assert lost(done.asked, "leaving") > 0, "the endpoint itself was asked after it had left, too"
    assert lost(done.asked, "staying") == 0 and done.asked.of("staying")["answered"] > 0


def test_without_lameduck_answers_are_lost(tmp_path: Path) -> None:
    done = in_order(tmp_path, NONE, 1.0, 0.3)
    assert done.code == 0
    service = done.asked.of("service")
    assert service["lost"] > 0 and service["answered"] > 0
    assert lost(done.asked, "staying") == 0
    over = {by for (to, by), each in done.asked.sums().items() if to == "service" and each["lost"]}
    assert over == {"udp", "tcp"}


def test_killed_by_a_grace_period_that_is_too_short_answers_are_lost(tmp_path: Path) -> None:
    done = in_order(tmp_path, LAMEDUCK, 10.0, 0.3, killed=True)
    assert done.code == -signal.SIGKILL
    assert done.asked.of("service")["lost"] > 0
    assert lost(done.asked, "staying") == 0


def test_over_both_families(tmp_path: Path) -> None:
    if not has_v6():
        pytest.skip("no IPv6 on this machine")
    with answering({"it": Behaviour()}) as ports:
        both = {"v4": (HOSTS[0], ports["it"]), "v6": (HOSTS[1], ports["it"])}
        with asking(tmp_path, plan(both, seconds=1)) as asked:
            asked.over()
    streams = {stream: each["answered"] for stream, each in asked.sums().items()}
    assert set(streams) == {(to, by) for to in both for by in ("udp", "tcp")}
    assert all(streams.values())
