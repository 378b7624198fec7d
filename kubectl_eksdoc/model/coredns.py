"""CoreDNS: its object names in EKS and kubeadm clusters, its parsed Corefile, and measurements of DNS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime

from kubectl_eksdoc.frozen import frozen

from .kinds import Unknown
from .placement import ProbeLabels
from .selectors import Labels

SYSTEM_NAMESPACE, NAME, SERVICE = "kube-system", "coredns", "kube-dns"
POD_LABEL = ("k8s-app", "kube-dns")
"""The label by which the Service selects its pods."""
POD_SELECTOR = "=".join(POD_LABEL)
COREFILE_KEY = "Corefile"
"""The key in its ConfigMap."""


def is_coredns(namespace: str, labels: Labels) -> bool:
    """Whether a pod is a backend of the kube-dns Service."""
    key, value = POD_LABEL
    return namespace == SYSTEM_NAMESPACE and labels.get(key) == value


# A parsed Corefile: its text, and the position of everything in it.
#
# The text is kept unchanged, so printing returns the parsed text; an edit replaces only a span of it.


@frozen
class Token:
    """`text` without quotes and escapes, as CoreDNS reads it; ``source[start:end]`` is the original text. `line`: where
    it begins, from 1."""

    text: str
    line: int
    start: int
    end: int

    @property
    def last_line(self) -> int:
        """The line where it ends: a quoted token may span several lines."""
        return self.line + self.text.count("\n")

    @property
    def has_environment(self) -> bool:
        """Whether CoreDNS inserts an environment variable at start: ``{$NAME}`` or ``{%NAME%}``."""
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
    """`target` names a snippet, or a file outside of this text. At the top level it belongs to no block."""

    keyword: Token
    target: Token


@frozen
class Block:
    """A server block, or a snippet if `snippet` names one. `keys` are its zones as written, without commas. `body` in
    its order; `opened` and `closed` are its braces, None if it has none (which is allowed for a single block)."""

    keys: tuple[Token, ...]
    body: tuple[Directive | Import, ...]
    opened: Token | None = None
    closed: Token | None = None
    snippet: str = ""

    @property
    def directives(self) -> tuple[Directive, ...]:
        """Its own directives, without those of its imports."""
        return tuple(each for each in self.body if isinstance(each, Directive))

    def directives_named(self, name: str) -> tuple[Directive, ...]:
        return tuple(each for each in self.directives if each.name == name)


@frozen
class Corefile:
    """`blocks` and `imports` at the top level, each in their order."""

    text: str
    blocks: tuple[Block, ...] = ()
    imports: tuple[Import, ...] = ()

    def __str__(self) -> str:
        """The original text, byte for byte."""
        return self.text

    @property
    def server_blocks(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if not block.snippet)

    @property
    def snippets(self) -> dict[str, Block]:
        return {block.snippet: block for block in self.blocks if block.snippet}

    @property
    def imported_files(self) -> tuple[str, ...]:
        """The files that its server blocks import; their content is not known."""
        return tuple(each.target.text for each in (*self.imports, *self.expanded) if isinstance(each, Import))

    @property
    def expanded(self) -> tuple[Directive | Import, ...]:
        """The elements of all server blocks, with snippets expanded."""
        return tuple(each for block in self.server_blocks for each in self.expand(block))

    @property
    def directives(self) -> tuple[Directive, ...]:
        return tuple(each for each in self.expanded if isinstance(each, Directive))

    @property
    def directives_by_block(self) -> list[list[Directive]]:
        return [[each for each in self.expand(block) if isinstance(each, Directive)] for block in self.server_blocks]

    def has_plugin(self, plugin: str) -> bool:
        return any(each.name == plugin for each in self.directives)

    def expand(self, block: Block, parents: tuple[str, ...] = ()) -> Iterator[Directive | Import]:
        """The elements of `block`, with imports of snippets replaced by the snippets' elements. An `Import` that
        remains refers to a file, which is not part of this text, or to one of its `parents`."""
        snippet_path = (*parents, block.snippet)
        for each in block.body:
            snippet = self.snippets.get(each.target.text) if isinstance(each, Import) else None
            if isinstance(each, Directive):
                yield self._expand_directive(each)
            elif snippet is None or snippet.snippet in snippet_path:
                yield each
            else:
                yield from self.expand(snippet, snippet_path)

    def _expand_directive(self, directive: Directive) -> Directive:
        """Expand snippets that are imported within the directive's own block, where a line begins with ``import``."""
        tokens = list[Token]()
        at = 0
        while at < len(directive.tokens):
            token, following = directive.tokens[at], directive.tokens[at + 1 : at + 2]
            starts_line = at > 0 and directive.tokens[at - 1].last_line < token.line
            snippet = (
                self.snippets.get(following[0].text) if starts_line and token.text == "import" and following else None
            )
            if snippet is None:
                tokens.append(token)
                at += 1
            else:
                for each in snippet.body:
                    tokens += each.tokens if isinstance(each, Directive) else (each.keyword, each.target)
                at += 2
        return Directive(tuple(tokens))


@frozen
class CorefileError:
    """The error with which CoreDNS refuses a Corefile. `plugin` is "" for a syntax error; `line` 0 if it names none.
    `said` is the message without the location."""

    said: str
    line: int = 0
    plugin: str = ""

    def __str__(self) -> str:
        location = f"Corefile:{self.line} - " if self.line else ""
        return f"plugin/{self.plugin}: {location}{self.said}" if self.plugin else f"{location}{self.said}"


# DNS measurements from pods: their targets, the result of each second, and the state of CoreDNS meanwhile.


MEASURE_LABEL = "eksdoc.io/dns-measure"
LOAD_GENERATOR_LABELS = ProbeLabels(MEASURE_LABEL, "load-generator", 16 << 20)
"""About 130 bytes for each second of each stream: 15 minutes of 40 streams are 5 MB."""

UDP, TCP, UDP_KEPT = "udp", "tcp", "udp-kept"
"""`UDP_KEPT`: one UDP socket for all queries, only to the Service."""
TRANSPORTS = (UDP, TCP)


@frozen
class QueryTarget:
    """An address that receives queries. `pod` "": the address of the Service; `name` is unique."""

    name: str
    address: str
    port: int = 53
    pod: str = ""

    @property
    def transports(self) -> tuple[str, ...]:
        return TRANSPORTS if self.pod else (*TRANSPORTS, UDP_KEPT)

    @property
    def family(self) -> str:
        return "v6" if ":" in self.address else "v4"


@frozen
class QueryCounts:
    """Numbers of queries. `sent` is the sum of the following fields except `unsent`: due, but not sent because the load
    generator was too busy.

    `late`: answered after more than a second; `lost`: no answer within the timeout; `refused`: the connection was
    refused; `failed`: an error answer (SERVFAIL, truncated); `unsure`: no answer in time, possibly because of the load
    generator."""

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
        """Queries for which clients would have had no answer."""
        return self.lost + self.refused + self.failed

    @property
    def unknown(self) -> int:
        return self.unsure + self.unsent

    def __add__(self, other: QueryCounts) -> QueryCounts:
        return QueryCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(QueryCounts)))


@frozen
class MeasuredSecond:
    """One second of one stream. `ms`: the median, the 99th percentile and the maximum of answer times in milliseconds,
    None without answers; `why`: the error messages."""

    counts: QueryCounts = QueryCounts()
    ms: tuple[float, float, float] | None = None
    why: tuple[str, ...] = ()


@frozen
class QueryStream:
    """One target (by its name) over one transport."""

    target: str
    transport: str


@frozen
class LoadReport:
    """The output of one load generator: the seconds of each stream, counted from `began` by the clock of its node."""

    began: datetime
    seconds: Mapping[QueryStream, Mapping[int, MeasuredSecond]]

    def total(self, stream: QueryStream) -> QueryCounts:
        return sum((each.counts for each in self.seconds.get(stream, {}).values()), QueryCounts())

    @property
    def duration_s(self) -> int:
        """Seconds until the last one reported."""
        return 1 + max((second for stream_seconds in self.seconds.values() for second in stream_seconds), default=-1)


@frozen
class CoreDnsPod:
    """A CoreDNS pod. `deletion_requested_at`: the time of the request, None without one; `ended`: its containers have
    terminated."""

    name: str
    uid: str
    node: str
    addresses: tuple[str, ...] = ()
    ready: bool = True
    deletion_requested_at: datetime | None = None
    ended: bool = False


@frozen
class CoreDnsState:
    """The state of CoreDNS at one time of the server's clock (in seconds). `serving`: addresses that are ready in the
    Service's EndpointSlices; `port` is their UDP port."""

    at: datetime
    pods: tuple[CoreDnsPod, ...]
    serving: frozenset[str] | Unknown
    port: int = 53


@frozen
class DnsService:
    """`addresses`: its cluster IPs, one or two of different families; `port` is the UDP port."""

    addresses: tuple[str, ...]
    port: int = 53


@frozen
class CoreDnsDeployment:
    """The Deployment; `replicas` are the desired ones."""

    uid: str
    replicas: int


@frozen
class EndpointPropagation:
    """Seconds until every node sends queries elsewhere, on a cluster with `nodes` nodes. `measured_at` None: an
    estimate. `lost`: answers were lost until then; otherwise no answer was lost, and it is an upper bound."""

    seconds: int
    nodes: int
    measured_at: datetime | None = None
    lost: bool = False

    def holds_for(self, nodes: int) -> bool:
        """A measurement does not hold for a cluster with more than twice as many nodes."""
        return nodes <= 2 * self.nodes

    def __str__(self) -> str:
        if self.measured_at is None:
            return f"{self.seconds} s until {self.nodes} nodes send elsewhere (estimated)"
        measurement = f"measured on {self.measured_at:%Y-%m-%d} from one node of each zone, {self.nodes} nodes"
        if self.lost:
            return f"{self.seconds} s until every node sends elsewhere ({measurement}: answers were lost until then)"
        return f"at most {self.seconds} s until every node sends elsewhere ({measurement}: no answer was lost)"
