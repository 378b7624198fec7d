"""What came of a measurement: of each zone what its pod printed, what was done meanwhile, and how CoreDNS stood."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.coredns_lameduck.measuring.plan import MeasurementZone
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.coredns import DnsPod, DnsStand, LoadReport

# When CoreDNS's pods were told to end, left the service, were gone, and when new ones came: seen once a second, by the
# API server's clock.


class What(str, Enum):
    """In the order in which they come at the same moment."""

    TOLD = "told to end"
    OUT = "left the endpoints"
    GONE = "gone"
    CAME = "joined the endpoints"


@dataclass(frozen=True, slots=True)
class MeasurementEvent:
    at: datetime
    what: What
    pod: str


def moments(stands: Sequence[DnsStand]) -> tuple[MeasurementEvent, ...]:
    """`stands` in their order; what had happened before the first of them is no part of it."""
    found: list[MeasurementEvent] = []
    for before, after in itertools.pairwise(stands):
        found += _between(before, after)
    order = {what: place for place, what in enumerate(What)}
    return tuple(sorted(found, key=lambda each: (each.at, order[each.what], each.pod)))


def _between(before: DnsStand, after: DnsStand) -> Iterator[MeasurementEvent]:
    now = {pod.uid: pod for pod in after.pods}
    for pod in before.pods:
        there = now.get(pod.uid)
        if pod.told_at is None and (there is None or there.told_at is not None):
            yield MeasurementEvent(after.at, What.TOLD, pod.name)
        if not pod.ended and (there is None or there.ended):
            yield MeasurementEvent(after.at, What.GONE, pod.name)
    if isinstance(before.serving, Unknown) or isinstance(after.serving, Unknown):
        return
    known = {address: pod.name for pod in (*before.pods, *after.pods) for address in pod.addresses}
    yield from _moved(before.serving - after.serving, What.OUT, known, after.at)
    yield from _moved(after.serving - before.serving, What.CAME, known, after.at)


def _moved(addresses: frozenset[str], what: What, known: dict[str, str], at: datetime) -> Iterator[MeasurementEvent]:
    """One of each pod: both its addresses move at once."""
    for name in sorted({known[address] for address in addresses if address in known}):
        yield MeasurementEvent(at, what, name)


def settled(first: Sequence[DnsPod], stand: DnsStand, wanted: int) -> bool:
    """Those that were to go have gone, and as many as are wanted are ready."""
    going = {pod.uid for pod in first}
    left = [pod for pod in stand.pods if pod.uid in going and not pod.ended]
    ready = [pod for pod in stand.pods if pod.ready and pod.told_at is None and not pod.ended]
    return not left and len(ready) >= wanted


@dataclass(frozen=True, slots=True)
class CorednsAct:
    """What was done to CoreDNS, and when by the API server's clock (None: it was not). `refused`: why not; `finished`:
    the pods that were to go have gone, and as many are ready as before."""

    done_at: datetime | None = None
    refused: str = ""
    missing: str = ""
    finished: bool = False


@dataclass(frozen=True, slots=True)
class MeasuredZone:
    zone: MeasurementZone
    report: LoadReport | Unknown


@dataclass(frozen=True, slots=True)
class DnsMeasurement:
    """`ended`: when it was over, by the API server's clock. `unseen`: why it is not known how CoreDNS stood, "" if it
    is. `left`: names of pods still there at the end, of `owner`; `not_removed`: why that could not be removed.
    `interrupted`: somebody ended it before its time."""

    zones: tuple[MeasuredZone, ...]
    deed: CorednsAct = CorednsAct()
    moments: tuple[MeasurementEvent, ...] = ()
    ended: datetime | None = None
    unseen: str = ""
    owner: str = ""
    left: tuple[str, ...] = ()
    not_removed: str = ""
    interrupted: bool = False


INTERRUPTED = Unknown("it was interrupted before the pod had told anything")


def offset_s(moment: MeasurementEvent, report: LoadReport) -> float:
    """Of the report's seconds; the clocks of nodes and API server are both kept by AWS."""
    return (moment.at - report.began).total_seconds()


SLACK_S = 3
"""Moments are known to a second, and by two clocks."""
_CLOCKS_S = 5.0
"""Clocks that differ by less are taken for the same."""


def until(report: LoadReport | Unknown, ended: datetime | None, read_s: float) -> LoadReport | Unknown:
    """What was asked before `ended` (the API server's clock): what came later is of the cleaning up. It was read
    `read_s` after that, so nothing can be told of later seconds; where it is, the node's clock is ahead, and nobody
    knows which of them count."""
    if ended is None or isinstance(report, Unknown):
        return report
    last = (ended - report.began).total_seconds()
    ahead = report.length - last - read_s
    if ahead > _CLOCKS_S:
        return Unknown(f"the clock of its node is ahead of the API server's, by {ahead:.0f} s at least")
    kept = {stream: {t: one for t, one in of.items() if t <= last} for stream, of in report.seconds.items()}
    return replace(report, seconds=kept)


def untold_s(report: LoadReport, ended: datetime | None) -> float:
    """So many of its last seconds are not told of: the asker ended too soon, or its log was cut."""
    return 0.0 if ended is None else max(0.0, (ended - report.began).total_seconds() - report.length)
