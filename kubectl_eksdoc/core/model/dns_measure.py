"""DNS as it was measured from pods: whom they ask, what came of each second, and how CoreDNS stood meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.probe_pods import Marks

MEASURE_LABEL = "eksdoc.io/dns-measure"
MARKS = Marks(MEASURE_LABEL, "asker", 16 << 20)
"""Some 130 bytes for each second of each stream: 15 minutes of 40 streams are 5 MB."""

UDP, TCP, KEPT = "udp", "tcp", "udp-kept"
"""`KEPT`: over one UDP socket for all questions, to the service alone."""
TRANSPORTS = (UDP, TCP)


@dataclass(frozen=True, slots=True)
class Target:
    """An address that is asked. `pod` "": it is the service's; `name` is unlike any other's."""

    name: str
    address: str
    port: int = 53
    pod: str = ""

    @property
    def transports(self) -> tuple[str, ...]:
        return TRANSPORTS if self.pod else (*TRANSPORTS, KEPT)

    @property
    def family(self) -> str:
        return "v6" if ":" in self.address else "v4"


@dataclass(frozen=True, slots=True)
class Counts:
    """Of questions. `sent` is the sum of what follows, but for `unsent`: due, and not sent as the asker was too busy.
    `late`: answered after more than a second; `lost`: not within the timeout; `refused`: told at once that nobody is
    there; `failed`: an answer that is none (SERVFAIL, truncated); `unsure`: not answered in time, which may have been
    the asker's own fault."""

    sent: int = 0
    answered: int = 0
    late: int = 0
    lost: int = 0
    refused: int = 0
    failed: int = 0
    unsure: int = 0
    unsent: int = 0

    @property
    def bad(self) -> int:
        """What clients would have had no answer to."""
        return self.lost + self.refused + self.failed

    @property
    def unknown(self) -> int:
        return self.unsure + self.unsent

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Counts)))


@dataclass(frozen=True, slots=True)
class Second:
    """Of one stream. `ms`: the median, the 99th percentile and the longest of what was answered, None without any;
    `why`: what was said with what failed or was refused."""

    counts: Counts = Counts()
    ms: tuple[float, float, float] | None = None
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """One target (by its name) over one transport."""

    target: str
    transport: str


@dataclass(frozen=True, slots=True)
class Report:
    """What one asker printed: of each stream its seconds, counted from `began` by the clock of its node."""

    began: datetime
    seconds: Mapping[Stream, Mapping[int, Second]]

    def total(self, stream: Stream) -> Counts:
        return sum((each.counts for each in self.seconds.get(stream, {}).values()), Counts())

    @property
    def length(self) -> int:
        """Seconds until the last that was told of."""
        return 1 + max((number for of in self.seconds.values() for number in of), default=-1)


@dataclass(frozen=True, slots=True)
class DnsPod:
    """One of CoreDNS's. `told_at`: when its deletion was asked for; `ended`: its containers have."""

    name: str
    uid: str
    node: str
    addresses: tuple[str, ...] = ()
    ready: bool = True
    told_at: datetime | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class DnsStand:
    """How CoreDNS stands at one moment of the server's clock (a second fine). `serving`: addresses that are ready in
    the service's EndpointSlices, in which `port` is that of UDP."""

    at: datetime
    pods: tuple[DnsPod, ...]
    serving: frozenset[str] | Unknown
    port: int = 53


@dataclass(frozen=True, slots=True)
class DnsService:
    """`addresses`: its cluster IPs, one or two of different families; `port` is that of UDP."""

    addresses: tuple[str, ...]
    port: int = 53


@dataclass(frozen=True, slots=True)
class DnsWorkload:
    """The Deployment; `replicas` that are wanted."""

    uid: str
    replicas: int


@dataclass(frozen=True, slots=True)
class Propagation:
    """Seconds until every node sends elsewhere, on a cluster with so many `nodes`. `measured_at` None: an estimate.
    `lost`: answers were lost until then; else none was lost, and it is a bound from above."""

    seconds: int
    nodes: int
    measured_at: datetime | None = None
    lost: bool = False

    def holds_for(self, nodes: int) -> bool:
        """A measurement says nothing about a cluster that has grown to more than twice as many nodes."""
        return nodes <= 2 * self.nodes

    def __str__(self) -> str:
        if self.measured_at is None:
            return f"{self.seconds} s until {self.nodes} nodes send elsewhere (estimated)"
        when = f"measured on {self.measured_at:%Y-%m-%d} from one node of each zone, {self.nodes} nodes"
        if self.lost:
            return f"{self.seconds} s until every node sends elsewhere ({when}: answers were lost until then)"
        return f"at most {self.seconds} s until every node sends elsewhere ({when}: no answer was lost)"
