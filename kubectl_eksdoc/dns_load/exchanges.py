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


UDP, TCP, UDP_PERSISTENT = "udp", "tcp", "udp-kept"
MAX_QUERIES_PER_SECOND = 2000
"""Of all streams together: a higher rate would be a flood, not a measurement."""


class BadPlan(ValueError):
    """The plan cannot be executed; the message says why."""


@dataclass(frozen=True, slots=True)
class LoadStream:
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

    streams: tuple[LoadStream, ...]
    queries_per_second: float
    seconds: float
    timeout: float
    late_after: float
    parent_name: str


def parse_plan(text: str) -> LoadSettings:
    """
    Raises:
        BadPlan: it is no plan, or its values are invalid.
    """
    try:
        document = json.loads(text)
        streams = tuple(_plan_streams(document))
        settings = LoadSettings(
            streams,
            float(document["rate"]),
            float(document["seconds"]),
            float(document.get("timeout", 5)),
            float(document.get("late", 1)),
            str(document["question"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadPlan(f"the plan cannot be read: {type(error).__name__}: {error}") from error
    if not streams:
        raise BadPlan("the plan names no server to query")
    if len(set(streams)) < len(streams):
        raise BadPlan("the plan names a server twice")
    if min(settings.queries_per_second, settings.seconds, settings.timeout, settings.late_after) <= 0:
        raise BadPlan("rate, seconds, timeout and late must be more than 0")
    if settings.queries_per_second * len(streams) > MAX_QUERIES_PER_SECOND:
        raise BadPlan(
            f"{settings.queries_per_second * len(streams):g} questions a second are more than {MAX_QUERIES_PER_SECOND}"
        )
    return settings


def _plan_streams(plan: dict[str, Any]) -> list[LoadStream]:
    transports = plan["transports"]
    if set(transports) - {UDP, TCP}:
        raise ValueError(f"transports are {UDP} and {TCP}")
    streams = []
    for target in plan["targets"]:
        ipaddress.ip_address(target["address"])  # a name would be resolved by the DNS that is measured
        for transport in (*transports, *((UDP_PERSISTENT,) if target.get("kept") else ())):
            streams.append(LoadStream(str(target["name"]), transport, target["address"], int(target.get("port", 53))))
    return streams


_SUCCESS_CODES = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)


class DnsQuery:
    """A query with a unique id and a unique name: no earlier response matches it, and no cache has it. The name is
    below one that the cluster's DNS serves itself, so upstream DNS is not measured."""

    def __init__(self, parent_name: str, v6: bool) -> None:
        name = dns.name.from_text(f"eksdoc-{secrets.token_hex(6)}.{parent_name}")
        record_type = dns.rdatatype.AAAA if v6 else dns.rdatatype.A
        self._query = dns.message.make_query(name, record_type)
        self.wire = self._query.to_wire()

    def check_response(self, wire: bytes) -> str | None:
        """Empty for a valid response; the reason for an invalid one (``SERVFAIL``, ``truncated``, ``malformed``); None
        for a response to another query."""
        if wire[:2] != self.wire[:2]:
            return None
        try:
            answer = dns.message.from_wire(wire, ignore_trailing=True)
        except (dns.message.Truncated, dns.exception.DNSException, ValueError):
            return "malformed"
        if not self._query.is_response(answer):
            return None
        if answer.flags & dns.flags.TC:
            return "truncated"
        code = answer.rcode()
        return "" if code in _SUCCESS_CODES else dns.rcode.to_text(code)


_MAX_DATAGRAM = 65535


class QueryResult(str, Enum):
    """The result of a query."""

    ANSWERED = "answered"
    LATE = "late"  # a response after the time that applications tolerate
    LOST = "lost"  # no response within the timeout
    REFUSED = "refused"  # an immediate error: no listener, or the path is closed
    FAILED = "failed"  # an unusable response: SERVFAIL, REFUSED, truncated


_REFUSED_ERRORS = {
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
        self._open_queries: dict[asyncio.Future[str], DnsQuery] = {}
        self._transport: asyncio.DatagramTransport | None = None
        self._opening = asyncio.Lock()

    async def exchange(self, stream: LoadStream, question: DnsQuery) -> str:
        """As `_udp`; the socket is opened with the first query."""
        loop = asyncio.get_running_loop()
        async with self._opening:  # a concurrent query must not open a second socket
            if self._transport is None:
                remote_address = (stream.address, stream.port)
                self._transport, _ = await loop.create_datagram_endpoint(lambda: self, remote_addr=remote_address)
        answer: asyncio.Future[str] = loop.create_future()
        self._open_queries[answer] = question
        try:
            self._transport.sendto(question.wire)
            return await answer
        finally:
            self._open_queries.pop(answer, None)

    def datagram_received(self, data: bytes, addr: object) -> None:
        for answer, question in self._open_queries.items():
            if not answer.done() and (failure := question.check_response(data)) is not None:
                answer.set_result(failure)

    def error_received(self, exc: Exception) -> None:
        """An ICMP error does not identify its query: it ends the oldest one."""
        oldest = next((answer for answer in self._open_queries if not answer.done()), None)
        if oldest is not None:
            oldest.set_exception(exc)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def send_query(
    stream: LoadStream, question: DnsQuery, timeout_s: float, persistent_socket: PersistentSocket | None = None
) -> tuple[QueryResult, str]:
    """The result, and the reason if it is `FAILED` or `REFUSED`. `persistent_socket`: the socket to use, if any.

    Raises:
        OSError: this machine cannot send (no sockets, no memory); it says nothing about the target.
    """
    exchange = (
        persistent_socket.exchange if persistent_socket is not None else _udp if stream.transport == UDP else _tcp
    )
    try:
        failure = await asyncio.wait_for(exchange(stream, question), timeout_s)
    except (asyncio.TimeoutError, TimeoutError):
        return QueryResult.LOST, ""
    except EOFError:
        return QueryResult.REFUSED, "closed without an answer"
    except OSError as error:
        if error.errno == errno.ETIMEDOUT:
            return QueryResult.LOST, ""
        if error.errno not in _REFUSED_ERRORS:
            raise
        return QueryResult.REFUSED, _REFUSED_ERRORS[error.errno]
    return (QueryResult.FAILED, failure) if failure else (QueryResult.ANSWERED, "")


@contextlib.contextmanager
def _socket(stream: LoadStream, kind: socket.SocketKind) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if stream.v6 else socket.AF_INET, kind) as sock:
        sock.setblocking(False)
        yield sock


async def _udp(stream: LoadStream, question: DnsQuery) -> str:
    loop = asyncio.get_running_loop()
    with _socket(stream, socket.SOCK_DGRAM) as sock:
        sock.connect((stream.address, stream.port))
        await loop.sock_sendall(sock, question.wire)
        while True:
            failure = question.check_response(await loop.sock_recv(sock, _MAX_DATAGRAM))
            if failure is not None:
                return failure


async def _tcp(stream: LoadStream, question: DnsQuery) -> str:
    loop = asyncio.get_running_loop()
    with _socket(stream, socket.SOCK_STREAM) as sock:
        await loop.sock_connect(sock, (stream.address, stream.port))
        await loop.sock_sendall(sock, len(question.wire).to_bytes(2, "big") + question.wire)
        while True:
            length = int.from_bytes(await _receive_exactly(sock, 2), "big")
            failure = question.check_response(await _receive_exactly(sock, length))
            if failure is not None:
                return failure


async def _receive_exactly(sock: socket.socket, length: int) -> bytes:
    loop, received = asyncio.get_running_loop(), b""
    while len(received) < length:
        chunk = await loop.sock_recv(sock, length - len(received))
        if not chunk:
            raise EOFError
        received += chunk
    return received


# Results of each second, and which of them are reliable.


STALL_AFTER_S = 0.2
"""A query that was sent this late belongs to another second; while the loop is blocked this long, responses are not
seen."""

_ROUNDING_S = 1e-6


@dataclass(frozen=True, slots=True)
class FinishedQuery:
    """One query: when it was due, sent and ended, in the event loop's seconds; `sent` None: this machine was too busy
    to send it."""

    due: float
    sent: float | None
    ended: float
    result: QueryResult | None
    reason: str = ""


@dataclass
class Stalls:
    """Times in which this program was blocked, in order. Mutable."""

    spans: list[tuple[float, float]] = field(default_factory=list)

    def add(self, start: float, end: float) -> None:
        if end - start >= STALL_AFTER_S:
            self.spans.append((start, end))

    def seconds_within(self, start: float, end: float) -> float:
        """Blocked seconds within that time."""
        first = bisect.bisect_left(self.spans, start, key=lambda span: span[1])
        stalled_s = 0.0
        for from_s, until_s in self.spans[first:]:
            if from_s >= end:
                break
            stalled_s += max(0.0, min(end, until_s) - max(start, from_s))
        return stalled_s


@dataclass
class TalliedSecond:
    """The tally of one stream. `uncertain`: sent, but the result may be due to this machine; `unsent`: due, but this
    machine was too busy. Mutable."""

    sent: int = 0
    results: dict[QueryResult, int] = field(default_factory=lambda: defaultdict(int))
    uncertain: int = 0
    unsent: int = 0
    reasons: set[str] = field(default_factory=set)
    latencies: list[float] = field(default_factory=list)

    def add(self, other: TalliedSecond) -> None:
        self.sent += other.sent
        self.uncertain += other.uncertain
        self.unsent += other.unsent
        self.reasons |= other.reasons
        self.latencies += other.latencies
        for result, count in other.results.items():
            self.results[result] += count


class Tally:
    """Collects finished queries, and returns each second once. Mutable."""

    def __init__(self, settings: LoadSettings, started: float) -> None:
        self._settings = settings
        self._started = started
        self.stalls = Stalls()
        self._finished: dict[int, dict[LoadStream, list[FinishedQuery]]] = defaultdict(lambda: defaultdict(list))
        self._sums = {stream: TalliedSecond() for stream in settings.streams}

    def second_of(self, due: float) -> int:
        return int(due - self._started + _ROUNDING_S)

    def add(self, stream: LoadStream, query: FinishedQuery) -> None:
        self._finished[self.second_of(query.due)][stream].append(query)

    def pop_second(self, number: int) -> dict[LoadStream, TalliedSecond]:
        """The tally of one second without open queries; only its sum is kept."""
        queries = self._finished.pop(number, {})
        seconds = {
            stream: self._tally_second(queries[stream]) for stream in self._settings.streams if stream in queries
        }
        for stream, second in seconds.items():
            self._sums[stream].add(second)
        return seconds

    @property
    def pending_seconds(self) -> list[int]:
        """The seconds that were not returned yet."""
        return sorted(self._finished)

    @property
    def sums(self) -> dict[LoadStream, TalliedSecond]:
        return self._sums

    def _tally_second(self, queries: Iterable[FinishedQuery]) -> TalliedSecond:
        second = TalliedSecond()
        for query in queries:
            if query.sent is None:
                second.unsent += 1
                continue
            second.sent += 1
            result = self._reliable_result(query, query.sent)
            if result is None:
                second.uncertain += 1
                continue
            second.results[result] += 1
            if query.reason:
                second.reasons.add(query.reason)
            if result in (QueryResult.ANSWERED, QueryResult.LATE):
                second.latencies.append(query.ended - query.sent)
        return second

    def _reliable_result(self, query: FinishedQuery, sent: float) -> QueryResult | None:
        """The result, or None if it is uncertain. A refusal or an invalid response is reliable even if this machine was
        busy."""
        if query.result in (None, QueryResult.REFUSED, QueryResult.FAILED):
            return query.result
        awake_s = query.ended - sent - self.stalls.seconds_within(sent, query.ended)
        if query.result is QueryResult.LOST:
            return QueryResult.LOST if awake_s >= self._settings.timeout / 2 else None
        if query.ended - sent <= self._settings.late_after:
            return QueryResult.ANSWERED
        return QueryResult.LATE if awake_s > self._settings.late_after else None


PROGRAM_NAME, OUTPUT_VERSION = "eksdoc-dns-load", 1
_QUANTILES = (0.5, 0.99, 1.0)


class LinePrinter:
    """Prints one JSON line at a time. Mutable."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def print_start(self, settings: LoadSettings, wall_s: float) -> None:
        """`wall_s`: seconds since 1970, UTC."""
        self._print_line(
            {"program": PROGRAM_NAME, "version": OUTPUT_VERSION, "began": round(wall_s, 3), "seconds": settings.seconds}
        )

    def print_second(self, number: int, seconds: dict[LoadStream, TalliedSecond]) -> None:
        for stream, second in seconds.items():
            self._print_line({"t": number, **_stream_fields(stream), **second_fields(second)})

    def print_end(self, was_stopped: bool, sums: dict[LoadStream, TalliedSecond]) -> None:
        """`was_stopped`: by a signal, not by the deadline."""
        ending = "told" if was_stopped else "deadline"
        self._print_line(
            {"end": ending, "sum": [{**_stream_fields(stream), **second_fields(sums[stream])} for stream in sums]}
        )

    def print_error(self, reason: str) -> None:
        self._print_line({"error": reason})

    def _print_line(self, fields: dict[str, Any]) -> None:
        self._out.write(json.dumps(fields, separators=(",", ":")) + "\n")
        self._out.flush()


def _stream_fields(stream: LoadStream) -> dict[str, Any]:
    return {"to": stream.target, "by": stream.transport}


def second_fields(second: TalliedSecond) -> dict[str, Any]:
    return {
        "sent": second.sent,
        **{end.value: second.results.get(end, 0) for end in QueryResult},
        "unsure": second.uncertain,
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
