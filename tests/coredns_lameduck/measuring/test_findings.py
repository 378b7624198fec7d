"""Findings of a measurement, from its numbers and the events observed meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.coredns_lameduck.measurement_findings import (
    DnsMeasurement,
    MeasuredZone,
    MeasurementEvent,
    MeasurementEventKind,
    budget_sentences,
    has_settled,
    measurement_events,
    measurement_findings,
    propagation,
    truncate_report,
)
from kubectl_eksdoc.model.coredns import (
    CoreDnsPod,
    CoreDnsState,
    EndpointPropagation,
    LoadReport,
    MeasuredSecond,
    QueryCounts,
    QueryStream,
)
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Unknown
from tests.coredns_lameduck.measuring.test_planning import planned
from tests.coredns_lameduck.worlds import PODS, START

PLAN = planned()
SERVICE, ENDPOINT_OF = QueryStream("service-v4", "udp"), QueryStream("coredns-1-v4", "udp")
GOOD = MeasuredSecond(QueryCounts(10, 10), (0.4, 0.8, 1.2))
END = START + timedelta(seconds=20)


def report(**odd: dict[int, QueryCounts]) -> LoadReport:
    """20 s with all questions answered, except for some seconds of the service (`service`) and of an endpoint (`own`
    over UDP, `gone` over both)."""
    seconds = {stream: dict.fromkeys(range(20), GOOD) for stream in PLAN.streams}
    for name, stream in (
        ("service", SERVICE),
        ("own", ENDPOINT_OF),
        ("gone", ENDPOINT_OF),
        ("gone", replace(ENDPOINT_OF, transport="tcp")),
    ):
        seconds[stream] |= {t: MeasuredSecond(counts, None) for t, counts in odd.get(name, {}).items()}
    return LoadReport(START, seconds)


def judged(what: LoadReport | Unknown, *moments: MeasurementEvent, unseen: str = "") -> list[Finding]:
    zone = PLAN.zones[0]
    measured = DnsMeasurement((MeasuredZone(zone, what),), moments=moments, ended=END, unseen=unseen)
    return list(measurement_findings(PLAN, measured))


def short(found: list[Finding]) -> list[tuple[str, Status]]:
    return [(each.code.name, each.status) for each in found]


def left(at_s: int) -> MeasurementEvent:
    return MeasurementEvent(START + timedelta(seconds=at_s), MeasurementEventKind.TOLD, "coredns-1")


def test_all_answered_is_a_pass_that_says_what_it_is_worth() -> None:
    (alone,) = judged(report())
    assert (alone.code.name, alone.status) == (
        "dns-answers-lost",
        Status.PASS,
    ) and "no CoreDNS pod ended meanwhile" in alone.evidence[0]
    (gone,) = judged(report(gone=dict.fromkeys(range(12, 20), QueryCounts(10, 0, lost=10))), left(5))
    assert gone.evidence == (
        "while coredns-1 ended",
        "coredns-1 answered for 7 s after it began to terminate",
        "every node that asked sent elsewhere within 7 s: no answer was lost",
    )
    (blind,) = judged(report(), unseen="the cluster refuses list pods")
    assert "is not known" in blind.evidence[0]


def test_it_says_what_it_learned_about_the_budget() -> None:
    """Its endpoint is removed at second 5, and it answers until second 9; the service loses answers until second 12."""
    gone = dict.fromkeys(range(10, 20), QueryCounts(10, 0, lost=10))
    found = judged(report(service={11: QueryCounts(10, 9, lost=1), 12: QueryCounts(10, 8, lost=2)}, gone=gone), left(5))
    (lost,) = (each for each in found if each.code.name == "dns-answers-lost")
    assert "coredns-1 answered for 5 s after it began to terminate" in lost.evidence
    assert "the service lost answers until 8 s after a pod began to terminate" in lost.evidence


@pytest.mark.parametrize(
    "counts", [QueryCounts(10, 9, lost=1), QueryCounts(10, 9, refused=1), QueryCounts(10, 9, failed=1)]
)
def test_one_answer_that_clients_did_not_get_fails(counts: QueryCounts) -> None:
    (found,) = judged(report(service={7: counts}), left(5))
    assert (found.code.name, found.status, found.severity) == ("dns-answers-lost", Status.FAIL, Severity.HIGH)
    assert found.message.startswith("1 of 600 questions") and "(1 over UDP)" in found.message
    assert found.evidence[:2] == ("in the seconds +7", "coredns-1: told to end at +5 s")


def test_late_answers_fail_less() -> None:
    (found,) = judged(report(service={7: QueryCounts(10, 8, late=2)}))
    assert (found.code.name, found.status, found.severity) == ("dns-answers-late", Status.FAIL, Severity.MEDIUM)


@pytest.mark.parametrize("counts", [QueryCounts(10, 9, unsure=1), QueryCounts(4, 4, unsent=6)])
def test_what_was_not_asked_on_time_is_unknown_and_no_pass(counts: QueryCounts) -> None:
    assert short(judged(report(service={7: counts}))) == [("dns-not-measured", Status.UNKNOWN)]


def test_what_was_not_asked_on_time_hides_no_loss() -> None:
    found = judged(report(service={7: QueryCounts(10, 8, lost=1, unsure=1)}))
    assert short(found) == [
        ("dns-answers-lost", Status.FAIL),
        ("dns-not-measured", Status.UNKNOWN),
    ]


def test_an_endpoint_that_has_left_is_expected_to_be_silent() -> None:
    silent = {t: QueryCounts(10, 0, lost=10) for t in range(9, 20)}
    assert short(judged(report(own=silent), left(8))) == [("dns-answers-lost", Status.PASS)]


def test_an_endpoint_that_was_silent_before_is_not() -> None:
    found = judged(report(own={2: QueryCounts(10, 0, lost=10)}), left(8))
    assert short(found) == [
        ("dns-endpoint-silent", Status.FAIL),
        ("dns-answers-lost", Status.PASS),
    ]
    assert found[0].evidence == ("from zone a in the seconds +2",)


def test_where_it_is_not_known_who_left_no_endpoint_is_blamed() -> None:
    found = judged(report(own={2: QueryCounts(10, 0, lost=10)}), unseen="the cluster refuses list pods")
    assert short(found) == [("dns-answers-lost", Status.PASS)]


def test_a_log_that_ends_too_soon_is_unknown() -> None:
    whole = report()
    cut = replace(whole, seconds={s: {t: o for t, o in of.items() if t < 9} for s, of in whole.seconds.items()})
    (found,) = judged(cut)
    assert found.status is Status.UNKNOWN and "the last 11 s" in found.message


@pytest.mark.parametrize("what", [Unknown("its image cannot be pulled"), LoadReport(START, {})])
def test_nothing_measured_is_unknown(what: LoadReport | Unknown) -> None:
    found = judged(what)
    assert found and {each.status for each in found} == {Status.UNKNOWN}
    assert all(each.missing for each in found)


def test_without_nodes_nothing_is_measured_and_that_is_no_pass() -> None:
    (found,) = measurement_findings(replace(PLAN, zones=(), pods=()), DnsMeasurement(()))
    assert (found.code.name, found.status) == ("dns-not-measured", Status.UNKNOWN) and found.missing


def test_a_clock_that_is_ahead_is_unknown_and_no_second_is_dropped_for_it() -> None:
    lost = report(service={15: QueryCounts(10, 0, lost=10)})
    assert truncate_report(lost, END, 7) == lost
    ahead = replace(lost, began=START + timedelta(seconds=14))
    found = truncate_report(ahead, END, 7)
    assert isinstance(found, Unknown) and "ahead of the API server's, by 7 s at least" in found.why
    assert isinstance(truncate_report(ahead, None, 0), LoadReport), "nobody knows when it was over, so nothing is cut"


STOPPED = dict.fromkeys(range(10, 20), QueryCounts(10, 0, lost=10))
"""Of a pod that was told to end at second 5."""


def measured(what: LoadReport, told_s: int = 5) -> DnsMeasurement:
    zones = tuple(MeasuredZone(zone, what) for zone in PLAN.zones)
    return DnsMeasurement(zones, moments=(left(told_s),), ended=END)


def test_all_that_was_seen_to_its_end_is_kept() -> None:
    assert propagation(PLAN, measured(report(gone=STOPPED)), 15) == EndpointPropagation(5, 15, END)


def cut(what: LoadReport, seconds: int) -> LoadReport:
    """The log of a load generator that ended too early."""
    return replace(
        what, seconds={s: {t: one for t, one in of.items() if t < seconds} for s, of in what.seconds.items()}
    )


@pytest.mark.parametrize(
    "what",
    [
        report(),  # it answers to the end: whether the service sends to it after that was not seen
        report(gone=dict.fromkeys(range(17, 20), QueryCounts(10, 0, lost=10))),
        report(gone=STOPPED, service={11: QueryCounts(10, 8, unsure=2)}),
        report(gone=STOPPED, service={11: QueryCounts(8, 8, unsent=2)}),
        report(gone=STOPPED, service={11: QueryCounts()}),
        cut(report(gone=STOPPED), 4),
        cut(report(gone=STOPPED), 15),
    ],
)
def test_what_was_not_seen_to_its_end_does_not_show_that_time_was_enough(what: LoadReport) -> None:
    assert propagation(PLAN, measured(what), 15) is None


def test_a_zone_that_nothing_is_asked_from_is_not_known() -> None:
    zones = tuple(MeasuredZone(zone, report(gone=STOPPED)) for zone in PLAN.zones[1:])
    assert len(zones) < len(PLAN.zones)
    assert propagation(PLAN, replace(measured(report(gone=STOPPED)), zones=zones), 15) is None


def test_a_loss_counts_to_the_end_of_its_second_and_makes_the_lameduck_of_then_too_short() -> None:
    """It answers for 5 s; a question of the sixth second is lost: 5 s were not enough."""
    lost = propagation(PLAN, measured(report(gone=STOPPED, service={10: QueryCounts(10, 9, lost=1)})), 15)
    assert lost == EndpointPropagation(6, 15, END, lost=True)
    at_once = propagation(PLAN, measured(report(gone=STOPPED, service={5: QueryCounts(10, 9, lost=1)})), 15)
    assert at_once == EndpointPropagation(1, 15, END, lost=True)


def test_what_a_socket_that_is_kept_loses_is_not_propagation() -> None:
    """In IPVS mode that is up to 300 s, whatever lameduck is."""
    made = report(gone=STOPPED)
    kept = QueryStream("service-v4", "udp-kept")
    seconds = {**made.seconds, kept: {t: MeasuredSecond(QueryCounts(10, 0, lost=10)) for t in range(20)}}
    assert propagation(PLAN, measured(replace(made, seconds=seconds)), 15) == EndpointPropagation(5, 15, END)


def test_a_pod_that_still_answers_is_said_to() -> None:
    (line,) = budget_sentences(PLAN, measured(report()))
    assert line == "coredns-1 answered for at least 15 s after it began to terminate"
    assert END - timedelta(seconds=15) == left(5).at


ONE, TWO = PODS
NEW = CoreDnsPod("coredns-3", "u3", "n1", ("10.0.0.3",))
TOLD = replace(ONE, deletion_requested_at=START, ready=False)


def look(seconds: int, *pods: CoreDnsPod, serving: tuple[CoreDnsPod, ...] | None = None) -> CoreDnsState:
    there = (pod for pod in pods if pod.deletion_requested_at is None) if serving is None else serving
    return CoreDnsState(START + timedelta(seconds=seconds), pods, frozenset(a for pod in there for a in pod.addresses))


def told(*stands: CoreDnsState) -> list[tuple[int, MeasurementEventKind, str]]:
    return [(round((each.at - START).total_seconds()), each.what, each.pod) for each in measurement_events(stands)]


def test_a_pod_is_told_leaves_and_is_gone() -> None:
    found = told(look(0, ONE, TWO), look(1, TOLD, TWO, serving=(ONE, TWO)), look(2, TOLD, TWO), look(7, TWO, NEW))
    assert found == [
        (1, MeasurementEventKind.TOLD, "coredns-1"),
        (2, MeasurementEventKind.OUT, "coredns-1"),
        (7, MeasurementEventKind.GONE, "coredns-1"),
        (7, MeasurementEventKind.CAME, "coredns-3"),
    ]


def test_one_that_was_quicker_than_the_looks_has_done_it_all_at_once() -> None:
    found = told(look(0, ONE, TWO), look(1, TWO))
    assert found == [
        (1, what, "coredns-1")
        for what in (MeasurementEventKind.TOLD, MeasurementEventKind.OUT, MeasurementEventKind.GONE)
    ]


def test_where_the_endpoints_are_not_known_the_pods_still_are() -> None:
    stands = (look(0, ONE), replace(look(1, TOLD), serving=Unknown("no right")), look(2))
    assert told(*stands) == [(1, MeasurementEventKind.TOLD, "coredns-1"), (2, MeasurementEventKind.GONE, "coredns-1")]


def test_what_had_happened_before_is_no_part_of_it() -> None:
    assert told(look(0, TOLD, TWO), look(1, TOLD, TWO)) == []
    assert told(look(0, TWO)) == told() == []


def test_it_is_over_once_those_have_gone_and_others_serve() -> None:
    assert not has_settled((ONE,), look(1, TOLD, TWO, NEW), 2)
    assert not has_settled((ONE,), look(1, TWO, replace(NEW, ready=False)), 2)
    assert has_settled((ONE,), look(1, TWO, NEW), 2) and has_settled(
        (ONE,), look(1, replace(TOLD, ended=True), TWO, NEW), 2
    )
