"""When CoreDNS's pods were told to end, left the service, were gone, and when new ones came: seen once a second, by the
API server's clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import DnsPod, DnsStand


class What(str, Enum):
    """In the order in which they come at the same moment."""

    TOLD = "told to end"
    OUT = "left the endpoints"
    GONE = "gone"
    CAME = "joined the endpoints"


@dataclass(frozen=True, slots=True)
class Moment:
    at: datetime
    what: What
    pod: str


def moments(stands: Sequence[DnsStand]) -> tuple[Moment, ...]:
    """`stands` in their order; what had happened before the first of them is no part of it."""
    found: list[Moment] = []
    for before, after in itertools.pairwise(stands):
        found += _between(before, after)
    order = {what: place for place, what in enumerate(What)}
    return tuple(sorted(found, key=lambda each: (each.at, order[each.what], each.pod)))


def _between(before: DnsStand, after: DnsStand) -> Iterator[Moment]:
    now = {pod.uid: pod for pod in after.pods}
    for pod in before.pods:
        there = now.get(pod.uid)
        if pod.told_at is None and (there is None or there.told_at is not None):
            yield Moment(after.at, What.TOLD, pod.name)
        if not pod.ended and (there is None or there.ended):
            yield Moment(after.at, What.GONE, pod.name)
    if isinstance(before.serving, Unknown) or isinstance(after.serving, Unknown):
        return
    known = {address: pod.name for pod in (*before.pods, *after.pods) for address in pod.addresses}
    yield from _moved(before.serving - after.serving, What.OUT, known, after.at)
    yield from _moved(after.serving - before.serving, What.CAME, known, after.at)


def _moved(addresses: frozenset[str], what: What, known: dict[str, str], at: datetime) -> Iterator[Moment]:
    """One of each pod: both its addresses move at once."""
    for name in sorted({known[address] for address in addresses if address in known}):
        yield Moment(at, what, name)


def settled(first: Sequence[DnsPod], stand: DnsStand, wanted: int) -> bool:
    """Those that were to go have gone, and as many as are wanted are ready."""
    going = {pod.uid for pod in first}
    left = [pod for pod in stand.pods if pod.uid in going and not pod.ended]
    ready = [pod for pod in stand.pods if pod.ready and pod.told_at is None and not pod.ended]
    return not left and len(ready) >= wanted
