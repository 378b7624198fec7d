"""CoreDNS: what it is called where EKS or kubeadm installs it, its Corefile as read, and DNS as it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime

from kubectl_eksdoc.frozen import frozen

from .kinds import Unknown
from .placing import ProbeLabels
from .selectors import Labels

SYSTEM, NAME, SERVICE = "kube-system", "coredns", "kube-dns"
LABEL = ("k8s-app", "kube-dns")
"""By it the service selects its pods."""
SELECTOR = "=".join(LABEL)
COREFILE = "Corefile"
"""The key of its ConfigMap."""


def is_coredns(namespace: str, labels: Labels) -> bool:
    """Whether a pod is one of those that the service sends to."""
    key, value = LABEL
    return namespace == SYSTEM and labels.get(key) == value


# A Corefile as it was read: its text, and where in it everything stands.
#
# The text is kept whole, so printing gives back what was parsed; an edit replaces a span of it and nothing else.


@frozen
class Token:
    """`text` without quotes and escapes, as CoreDNS takes it; ``source[start:end]`` is how it was written. `line` from
    1: where it begins."""

    text: str
    line: int
    start: int
    end: int

    @property
    def last_line(self) -> int:
        """Where it ends: a quoted one may go over several."""
        return self.line + self.text.count("\n")

    @property
    def environment(self) -> bool:
        """Its value is put together when CoreDNS starts: ``{$NAME}`` or ``{%NAME%}``."""
        return "{$" in self.text or "{%" in self.text


@frozen
class Directive:
    """One use of a plugin in a block; the first of `tokens` is its name."""

    tokens: tuple[Token, ...]

    @property
    def name(self) -> str:
        return self.tokens[0].text

    @property
    def line(self) -> int:
        return self.tokens[0].line


@frozen
class Import:
    """`target` names a snippet, or a file that this text does not hold; at the top `block` is not there."""

    keyword: Token
    target: Token


@frozen
class Block:
    """A server block, or a snippet if `snippet` names one. `keys` are its zones as written, without commas. `body` in
    its order; `opened` and `closed` are its braces, None where it has none (which is allowed for a single block)."""

    keys: tuple[Token, ...]
    body: tuple[Directive | Import, ...]
    opened: Token | None = None
    closed: Token | None = None
    snippet: str = ""

    @property
    def directives(self) -> tuple[Directive, ...]:
        """Its own, without those that it imports."""
        return tuple(each for each in self.body if isinstance(each, Directive))

    def named(self, name: str) -> tuple[Directive, ...]:
        return tuple(each for each in self.directives if each.name == name)


@frozen
class Corefile:
    """`blocks` and `imports` at the top, each in their order."""

    text: str
    blocks: tuple[Block, ...] = ()
    imports: tuple[Import, ...] = ()

    def __str__(self) -> str:
        """As it was written, to the last byte."""
        return self.text

    @property
    def servers(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if not block.snippet)

    @property
    def snippets(self) -> dict[str, Block]:
        return {block.snippet: block for block in self.blocks if block.snippet}

    @property
    def files(self) -> tuple[str, ...]:
        """The files that its server blocks import, which may hold anything."""
        return tuple(each.target.text for each in (*self.imports, *self.held) if isinstance(each, Import))

    @property
    def held(self) -> tuple[Directive | Import, ...]:
        """What CoreDNS sees of all its server blocks."""
        return tuple(each for block in self.servers for each in self.whole(block))

    @property
    def directives(self) -> tuple[Directive, ...]:
        return tuple(each for each in self.held if isinstance(each, Directive))

    @property
    def by_block(self) -> list[list[Directive]]:
        return [[each for each in self.whole(block) if isinstance(each, Directive)] for block in self.servers]

    def has(self, plugin: str) -> bool:
        return any(each.name == plugin for each in self.directives)

    def whole(self, block: Block, within: tuple[str, ...] = ()) -> Iterator[Directive | Import]:
        """What of `block` CoreDNS sees: with what its snippets hold in the place of their imports. An `Import` that is
        left is of a file, which this text does not hold, or of one of the snippets that it is `within`."""
        inside = (*within, block.snippet)
        for each in block.body:
            held = self.snippets.get(each.target.text) if isinstance(each, Import) else None
            if isinstance(each, Directive):
                yield self._filled(each)
            elif held is None or held.snippet in inside:
                yield each
            else:
                yield from self.whole(held, inside)

    def _filled(self, of: Directive) -> Directive:
        """With snippets that are imported within its own block, where a line begins with ``import``."""
        tokens = list[Token]()
        at = 0
        while at < len(of.tokens):
            token, after = of.tokens[at], of.tokens[at + 1 : at + 2]
            begins = at > 0 and of.tokens[at - 1].last_line < token.line
            held = self.snippets.get(after[0].text) if begins and token.text == "import" and after else None
            if held is None:
                tokens.append(token)
                at += 1
            else:
                for each in held.body:
                    tokens += each.tokens if isinstance(each, Directive) else (each.keyword, each.target)
                at += 2
        return Directive(tuple(tokens))


@frozen
class CorefileRefusal:
    """What CoreDNS says to a Corefile that it does not take: `plugin` is "" for the grammar; `line` 0 where it names
    none. `said` are its words, without where."""

    said: str
    line: int = 0
    plugin: str = ""

    def __str__(self) -> str:
        where = f"Corefile:{self.line} - " if self.line else ""
        return f"plugin/{self.plugin}: {where}{self.said}" if self.plugin else f"{where}{self.said}"


# DNS as it was measured from pods: whom they ask, what came of each second, and how CoreDNS stood meanwhile.


MEASURE_LABEL = "eksdoc.io/dns-measure"
MARKS = ProbeLabels(MEASURE_LABEL, "load-generator", 16 << 20)
"""Some 130 bytes for each second of each stream: 15 minutes of 40 streams are 5 MB."""

UDP, TCP, KEPT = "udp", "tcp", "udp-kept"
"""`KEPT`: over one UDP socket for all questions, to the service alone."""
TRANSPORTS = (UDP, TCP)


@frozen
class QueryTarget:
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


@frozen
class Counts:
    """Of questions. `sent` is the sum of what follows, but for `unsent`: due, and not sent as the load generator was
    too busy.
    `late`: answered after more than a second; `lost`: not within the timeout; `refused`: told at once that nobody is
    there; `failed`: an answer that is none (SERVFAIL, truncated); `unsure`: not answered in time, which may have been
    the load generator's own fault."""

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


@frozen
class MeasuredSecond:
    """Of one stream. `ms`: the median, the 99th percentile and the longest of what was answered, None without any;
    `why`: what was said with what failed or was refused."""

    counts: Counts = Counts()
    ms: tuple[float, float, float] | None = None
    why: tuple[str, ...] = ()


@frozen
class MeasuredStream:
    """One target (by its name) over one transport."""

    target: str
    transport: str


@frozen
class LoadReport:
    """What one load generator printed: of each stream its seconds, counted from `began` by the clock of its node."""

    began: datetime
    seconds: Mapping[MeasuredStream, Mapping[int, MeasuredSecond]]

    def total(self, stream: MeasuredStream) -> Counts:
        return sum((each.counts for each in self.seconds.get(stream, {}).values()), Counts())

    @property
    def length(self) -> int:
        """Seconds until the last that was told of."""
        return 1 + max((number for of in self.seconds.values() for number in of), default=-1)


@frozen
class DnsPod:
    """One of CoreDNS's. `told_at`: when its deletion was asked for; `ended`: its containers have."""

    name: str
    uid: str
    node: str
    addresses: tuple[str, ...] = ()
    ready: bool = True
    told_at: datetime | None = None
    ended: bool = False


@frozen
class DnsStand:
    """How CoreDNS stands at one moment of the server's clock (a second fine). `serving`: addresses that are ready in
    the service's EndpointSlices, in which `port` is that of UDP."""

    at: datetime
    pods: tuple[DnsPod, ...]
    serving: frozenset[str] | Unknown
    port: int = 53


@frozen
class DnsService:
    """`addresses`: its cluster IPs, one or two of different families; `port` is that of UDP."""

    addresses: tuple[str, ...]
    port: int = 53


@frozen
class DnsWorkload:
    """The Deployment; `replicas` that are wanted."""

    uid: str
    replicas: int


@frozen
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
