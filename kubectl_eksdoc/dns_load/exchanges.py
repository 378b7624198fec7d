"""DNS queries and responses over UDP and TCP, each from a new socket, as the libc resolver does.

A reused source port would be a flow that kube-proxy already knows, and it would send the query where it sent the last
one. `PersistentSocket` does that on purpose, like Envoy and other resolvers that keep their socket
(kubernetes/kubernetes#125467).

Also the plan, the tally of each second, and the output.
"""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import errno
import ipaddress
import json
import math
import secrets
import socket
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TextIO

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype

# The plan of the load, a JSON object.


UDP, TCP, KEPT = "udp", "tcp", "udp-kept"
MOST_A_SECOND = 2000
"""Of all streams together: a higher rate would be a flood, not a measurement."""


class BadPlan(ValueError):
    """The plan cannot be executed; the message says why."""


@dataclass(frozen=True, slots=True)
class QueryStream:
    """One target over one transport."""

    target: str
    transport: str
    address: str
    port: int

    @property
    def v6(self) -> bool:
        return ":" in self.address


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """The plan. Times in seconds; `queries_per_second`: in each stream; `late_after`: a later response is `LATE`."""

    streams: tuple[QueryStream, ...]
    rate: float
    seconds: float
    timeout: float
    late: float
    question: str


def read(text: str) -> LoadSettings:
    """
    Raises:
        BadPlan: it is no plan, or its values are invalid.
    """
    try:
        found = json.loads(text)
        streams = tuple(_streams(found))
        asked = LoadSettings(
            streams,
            float(found["rate"]),
            float(found["seconds"]),
            float(found.get("timeout", 5)),
            float(found.get("late", 1)),
            str(found["question"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadPlan(f"the plan cannot be read: {type(error).__name__}: {error}") from error
    if not streams:
        raise BadPlan("the plan names no server to query")
    if len(set(streams)) < len(streams):
        raise BadPlan("the plan names a server twice")
    if min(asked.rate, asked.seconds, asked.timeout, asked.late) <= 0:
        raise BadPlan("rate, seconds, timeout and late must be more than 0")
    if asked.rate * len(streams) > MOST_A_SECOND:
        raise BadPlan(f"{asked.rate * len(streams):g} questions a second are more than {MOST_A_SECOND}")
    return asked


def _streams(plan: dict[str, Any]) -> list[QueryStream]:
    transports = plan["transports"]
    if set(transports) - {UDP, TCP}:
        raise ValueError(f"transports are {UDP} and {TCP}")
    made = []
    for target in plan["targets"]:
        ipaddress.ip_address(target["address"])  # a name would be resolved by the DNS that is measured
        for transport in (*transports, *((KEPT,) if target.get("kept") else ())):
            made.append(QueryStream(str(target["name"]), transport, target["address"], int(target.get("port", 53))))
    return made


_GOOD = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)


class DnsQuery:
    """A query with a unique id and a unique name: no earlier response matches it, and no cache has it. The name is
    below one that the cluster's DNS serves itself, so upstream DNS is not measured."""

    def __init__(self, below: str, v6: bool) -> None:
        name = dns.name.from_text(f"eksdoc-{secrets.token_hex(6)}.{below}")
        kind = dns.rdatatype.AAAA if v6 else dns.rdatatype.A
        self._asked = dns.message.make_query(name, kind)
        self.wire = self._asked.to_wire()

    def judged(self, wire: bytes) -> str | None:
        """Empty for a valid response; the reason for an invalid one (``SERVFAIL``, ``truncated``, ``malformed``); None
        for a response to another query."""
        if wire[:2] != self.wire[:2]:
            return None
        try:
            answer = dns.message.from_wire(wire, ignore_trailing=True)
        except (dns.message.Truncated, dns.exception.DNSException, ValueError):
            return "malformed"
        if not self._asked.is_response(answer):
            return None
        if answer.flags & dns.flags.TC:
            return "truncated"
        code = answer.rcode()
        return "" if code in _GOOD else dns.rcode.to_text(code)


_LARGEST = 65535


class QueryResult(str, Enum):
    """The result of a query."""

    ANSWERED = "answered"
    LATE = "late"  # a response after the time that applications tolerate
    LOST = "lost"  # no response within the timeout
    REFUSED = "refused"  # an immediate error: no listener, or the path is closed
    FAILED = "failed"  # an unusable response: SERVFAIL, REFUSED, truncated


_CLOSED = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.ECONNABORTED: "aborted",
    errno.EPIPE: "closed",
    errno.EHOSTUNREACH: "unreachable",
}
"""Errors reported by the target or by a device on the path. A network without a route (ENETUNREACH) is an error of this
machine."""


class PersistentSocket(asyncio.DatagramProtocol):
    """One UDP socket for all queries of a stream. Mutable."""

    def __init__(self) -> None:
        self._open: dict[asyncio.Future[str], DnsQuery] = {}
        self._transport: asyncio.DatagramTransport | None = None
        self._opening = asyncio.Lock()

    async def exchange(self, stream: QueryStream, question: DnsQuery) -> str:
        """As `_udp`; the socket is opened with the first query."""
        loop = asyncio.get_running_loop()
        async with self._opening:  # a concurrent query must not open a second socket
            if self._transport is None:
                where = (stream.address, stream.port)
                self._transport, _ = await loop.create_datagram_endpoint(lambda: self, remote_addr=where)
        answer: asyncio.Future[str] = loop.create_future()
        self._open[answer] = question
        try:
            self._transport.sendto(question.wire)
            return await answer
        finally:
            self._open.pop(answer, None)

    def datagram_received(self, data: bytes, addr: object) -> None:
        for answer, question in self._open.items():
            if not answer.done() and (judged := question.judged(data)) is not None:
                answer.set_result(judged)

    def error_received(self, exc: Exception) -> None:
        """An ICMP error does not identify its query: it ends the oldest one."""
        oldest = next((answer for answer in self._open if not answer.done()), None)
        if oldest is not None:
            oldest.set_exception(exc)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def ask(
    stream: QueryStream, question: DnsQuery, timeout_s: float, kept: PersistentSocket | None = None
) -> tuple[QueryResult, str]:
    """The result, and the reason if it is `FAILED` or `REFUSED`. `persistent_socket`: the socket to use, if any.

    Raises:
        OSError: this machine cannot send (no sockets, no memory); it says nothing about the target.
    """
    how = kept.exchange if kept is not None else _udp if stream.transport == UDP else _tcp
    try:
        said = await asyncio.wait_for(how(stream, question), timeout_s)
    except (asyncio.TimeoutError, TimeoutError):
        return QueryResult.LOST, ""
    except EOFError:
        return QueryResult.REFUSED, "closed without an answer"
    except OSError as error:
        if error.errno == errno.ETIMEDOUT:
            return QueryResult.LOST, ""
        if error.errno not in _CLOSED:
            raise
        return QueryResult.REFUSED, _CLOSED[error.errno]
    return (QueryResult.FAILED, said) if said else (QueryResult.ANSWERED, "")


@contextlib.contextmanager
def _socket(stream: QueryStream, kind: socket.SocketKind) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if stream.v6 else socket.AF_INET, kind) as made:
        made.setblocking(False)
        yield made


async def _udp(stream: QueryStream, question: DnsQuery) -> str:
    loop = asyncio.get_running_loop()
    with _socket(stream, socket.SOCK_DGRAM) as sock:
        sock.connect((stream.address, stream.port))
        await loop.sock_sendall(sock, question.wire)
        while True:
            judged = question.judged(await loop.sock_recv(sock, _LARGEST))
            if judged is not None:
                return judged


async def _tcp(stream: QueryStream, question: DnsQuery) -> str:
    loop = asyncio.get_running_loop()
    with _socket(stream, socket.SOCK_STREAM) as sock:
        await loop.sock_connect(sock, (stream.address, stream.port))
        await loop.sock_sendall(sock, len(question.wire).to_bytes(2, "big") + question.wire)
        while True:
            length = int.from_bytes(await _exactly(sock, 2), "big")
            judged = question.judged(await _exactly(sock, length))
            if judged is not None:
                return judged


async def _exactly(sock: socket.socket, length: int) -> bytes:
    loop, held = asyncio.get_running_loop(), b""
    while len(held) < length:
        more = await loop.sock_recv(sock, length - len(held))
        if not more:
            raise EOFError
        held += more
    return held


# Results of each second, and which of them are reliable.


STALL_S = 0.2
"""A query that was sent this late belongs to another second; while the loop is blocked this long, responses are not
seen."""

_ROUNDING_S = 1e-6


@dataclass(frozen=True, slots=True)
class FinishedQuery:
    """One query: when it was due, sent and ended, in the event loop's seconds; `sent` None: this machine was too busy
    to send it."""

    due: float
    sent: float | None
    over: float
    end: QueryResult | None
    why: str = ""


@dataclass
class Stalls:
    """Times in which this program was blocked, in order. Mutable."""

    spans: list[tuple[float, float]] = field(default_factory=list)

    def add(self, begin: float, end: float) -> None:
        if end - begin >= STALL_S:
            self.spans.append((begin, end))

    def within(self, begin: float, end: float) -> float:
        """Blocked seconds within that time."""
        first = bisect.bisect_left(self.spans, begin, key=lambda span: span[1])
        found = 0.0
        for from_s, until_s in self.spans[first:]:
            if from_s >= end:
                break
            found += max(0.0, min(end, until_s) - max(begin, from_s))
        return found


@dataclass
class TalliedSecond:
    """The tally of one stream. `uncertain`: sent, but the result may be due to this machine; `unsent`: due, but this
    machine was too busy. Mutable."""

    sent: int = 0
    ends: dict[QueryResult, int] = field(default_factory=lambda: defaultdict(int))
    unsure: int = 0
    unsent: int = 0
    reasons: set[str] = field(default_factory=set)
    latencies: list[float] = field(default_factory=list)

    def add(self, other: TalliedSecond) -> None:
        self.sent += other.sent
        self.unsure += other.unsure
        self.unsent += other.unsent
        self.reasons |= other.reasons
        self.latencies += other.latencies
        for end, count in other.ends.items():
            self.ends[end] += count


class Tally:
    """Collects finished queries, and returns each second once. Mutable."""

    def __init__(self, asked: LoadSettings, began: float) -> None:
        self._asked = asked
        self._began = began
        self.stalls = Stalls()
        self._ended: dict[int, dict[QueryStream, list[FinishedQuery]]] = defaultdict(lambda: defaultdict(list))
        self._sums = {stream: TalliedSecond() for stream in asked.streams}

    def second_of(self, due: float) -> int:
        return int(due - self._began + _ROUNDING_S)

    def hear(self, stream: QueryStream, ended: FinishedQuery) -> None:
        self._ended[self.second_of(ended.due)][stream].append(ended)

    def take(self, number: int) -> dict[QueryStream, TalliedSecond]:
        """The tally of one second without open queries; only its sum is kept."""
        heard = self._ended.pop(number, {})
        found = {stream: self._counted(heard[stream]) for stream in self._asked.streams if stream in heard}
        for stream, second in found.items():
            self._sums[stream].add(second)
        return found

    @property
    def numbers(self) -> list[int]:
        """The seconds that were not returned yet."""
        return sorted(self._ended)

    @property
    def sums(self) -> dict[QueryStream, TalliedSecond]:
        return self._sums

    def _counted(self, every: Iterable[FinishedQuery]) -> TalliedSecond:
        second = TalliedSecond()
        for one in every:
            if one.sent is None:
                second.unsent += 1
                continue
            second.sent += 1
            end = self._believed(one, one.sent)
            if end is None:
                second.unsure += 1
                continue
            second.ends[end] += 1
            if one.why:
                second.reasons.add(one.why)
            if end in (QueryResult.ANSWERED, QueryResult.LATE):
                second.latencies.append(one.over - one.sent)
        return second

    def _believed(self, one: FinishedQuery, sent: float) -> QueryResult | None:
        """The result, or None if it is uncertain. A refusal or an invalid response is reliable even if this machine was
        busy."""
        if one.end in (None, QueryResult.REFUSED, QueryResult.FAILED):
            return one.end
        awake_s = one.over - sent - self.stalls.within(sent, one.over)
        if one.end is QueryResult.LOST:
            return QueryResult.LOST if awake_s >= self._asked.timeout / 2 else None
        if one.over - sent <= self._asked.late:
            return QueryResult.ANSWERED
        return QueryResult.LATE if awake_s > self._asked.late else None


NAME, VERSION = "eksdoc-dns-load", 1
_QUANTILES = (0.5, 0.99, 1.0)


class LinePrinter:
    """Prints one JSON line at a time. Mutable."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def begun(self, asked: LoadSettings, wall_s: float) -> None:
        """`wall_s`: seconds since 1970, UTC."""
        self._line({"program": NAME, "version": VERSION, "began": round(wall_s, 3), "seconds": asked.seconds})

    def second(self, number: int, of: dict[QueryStream, TalliedSecond]) -> None:
        for stream, second in of.items():
            self._line({"t": number, **_named(stream), **counts(second)})

    def over(self, told: bool, sums: dict[QueryStream, TalliedSecond]) -> None:
        """`was_stopped`: by a signal, not by the deadline."""
        ending = "told" if told else "deadline"
        self._line({"end": ending, "sum": [{**_named(stream), **counts(sums[stream])} for stream in sums]})

    def refused(self, why: str) -> None:
        self._line({"error": why})

    def _line(self, found: dict[str, Any]) -> None:
        self._out.write(json.dumps(found, separators=(",", ":")) + "\n")
        self._out.flush()


def _named(stream: QueryStream) -> dict[str, Any]:
    return {"to": stream.target, "by": stream.transport}


def counts(second: TalliedSecond) -> dict[str, Any]:
    return {
        "sent": second.sent,
        **{end.value: second.ends.get(end, 0) for end in QueryResult},
        "unsure": second.unsure,
        "unsent": second.unsent,
        "ms": quantiles(second.latencies),
        "why": sorted(second.reasons),
    }


def quantiles(latencies: Sequence[float]) -> list[float] | None:
    """Latency quantiles in milliseconds (nearest rank): the smallest latency that at least this share does not
    exceed."""
    if not latencies:
        return None
    ordered = sorted(latencies)
    ranks = (max(1, math.ceil(share * len(ordered))) for share in _QUANTILES)
    return [round(ordered[rank - 1] * 1000, 2) for rank in ranks]
