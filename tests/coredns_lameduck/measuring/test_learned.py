"""What is kept of a measurement: only what was seen to its end counts as time that was enough."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.coredns_lameduck.measuring.findings import DnsMeasurement, MeasuredZone, propagation, said
from kubectl_eksdoc.model.coredns import Counts, LoadReport, MeasuredSecond, MeasuredStream, Propagation
from tests.coredns_lameduck.measuring.test_findings import END, PLAN, left, report

STOPPED = dict.fromkeys(range(10, 20), Counts(10, 0, lost=10))
"""Of a pod that was told to end at second 5."""


def measured(what: LoadReport, told_s: int = 5) -> DnsMeasurement:
    zones = tuple(MeasuredZone(zone, what) for zone in PLAN.zones)
    return DnsMeasurement(zones, moments=(left(told_s),), ended=END)


def test_all_that_was_seen_to_its_end_is_kept() -> None:
    assert propagation(PLAN, measured(report(gone=STOPPED)), 15) == Propagation(5, 15, END)


def cut(what: LoadReport, seconds: int) -> LoadReport:
    """The log of an asker that ended too soon."""
    return replace(
        what, seconds={s: {t: one for t, one in of.items() if t < seconds} for s, of in what.seconds.items()}
    )


@pytest.mark.parametrize(
    "what",
    [
        report(),  # it answers to the end: whether the service sends to it after that was not seen
        report(gone=dict.fromkeys(range(17, 20), Counts(10, 0, lost=10))),
        report(gone=STOPPED, service={11: Counts(10, 8, unsure=2)}),
        report(gone=STOPPED, service={11: Counts(8, 8, unsent=2)}),
        report(gone=STOPPED, service={11: Counts()}),
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
    lost = propagation(PLAN, measured(report(gone=STOPPED, service={10: Counts(10, 9, lost=1)})), 15)
    assert lost == Propagation(6, 15, END, lost=True)
    at_once = propagation(PLAN, measured(report(gone=STOPPED, service={5: Counts(10, 9, lost=1)})), 15)
    assert at_once == Propagation(1, 15, END, lost=True)


def test_what_a_socket_that_is_kept_loses_is_not_propagation() -> None:
    """In IPVS mode that is up to 300 s, whatever lameduck is."""
    made = report(gone=STOPPED)
    kept = MeasuredStream("service-v4", "udp-kept")
    seconds = {**made.seconds, kept: {t: MeasuredSecond(Counts(10, 0, lost=10)) for t in range(20)}}
    assert propagation(PLAN, measured(replace(made, seconds=seconds)), 15) == Propagation(5, 15, END)


def test_a_pod_that_still_answers_is_said_to() -> None:
    (line,) = said(PLAN, measured(report()))
    assert line == "coredns-1 answered for at least 15 s after it began to terminate"
    assert END - timedelta(seconds=15) == left(5).at
