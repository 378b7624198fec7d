"""When pods of CoreDNS leave and come, by how it stood from look to look."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from kubectl_eksdoc.coredns_lameduck.measuring.findings import What, moments, settled
from kubectl_eksdoc.model.coredns import DnsPod, DnsStand
from kubectl_eksdoc.model.kinds import Unknown
from tests.flows.dns_worlds import PODS, START

ONE, TWO = PODS
NEW = DnsPod("coredns-3", "u3", "n1", ("10.0.0.3",))
TOLD = replace(ONE, told_at=START, ready=False)


def look(seconds: int, *pods: DnsPod, serving: tuple[DnsPod, ...] | None = None) -> DnsStand:
    there = (pod for pod in pods if pod.told_at is None) if serving is None else serving
    return DnsStand(START + timedelta(seconds=seconds), pods, frozenset(a for pod in there for a in pod.addresses))


def told(*stands: DnsStand) -> list[tuple[int, What, str]]:
    return [(round((each.at - START).total_seconds()), each.what, each.pod) for each in moments(stands)]


def test_a_pod_is_told_leaves_and_is_gone() -> None:
    found = told(look(0, ONE, TWO), look(1, TOLD, TWO, serving=(ONE, TWO)), look(2, TOLD, TWO), look(7, TWO, NEW))
    assert found == [
        (1, What.TOLD, "coredns-1"),
        (2, What.OUT, "coredns-1"),
        (7, What.GONE, "coredns-1"),
        (7, What.CAME, "coredns-3"),
    ]


def test_one_that_was_quicker_than_the_looks_has_done_it_all_at_once() -> None:
    found = told(look(0, ONE, TWO), look(1, TWO))
    assert found == [(1, what, "coredns-1") for what in (What.TOLD, What.OUT, What.GONE)]


def test_where_the_endpoints_are_not_known_the_pods_still_are() -> None:
    stands = (look(0, ONE), replace(look(1, TOLD), serving=Unknown("no right")), look(2))
    assert told(*stands) == [(1, What.TOLD, "coredns-1"), (2, What.GONE, "coredns-1")]


def test_what_had_happened_before_is_no_part_of_it() -> None:
    assert told(look(0, TOLD, TWO), look(1, TOLD, TWO)) == []
    assert told(look(0, TWO)) == told() == []


def test_it_is_over_once_those_have_gone_and_others_serve() -> None:
    assert not settled((ONE,), look(1, TOLD, TWO, NEW), 2)
    assert not settled((ONE,), look(1, TWO, replace(NEW, ready=False)), 2)
    assert settled((ONE,), look(1, TWO, NEW), 2) and settled((ONE,), look(1, replace(TOLD, ended=True), TWO, NEW), 2)
