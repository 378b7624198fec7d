"""One question and what comes back, over UDP or TCP, each from a socket of its own, as a resolver of libc has it.

A port that is used again would be a flow that kube-proxy already knows, and go where the last one went.
`PersistentSocket` does that on purpose, as Envoy and other resolvers that keep their socket
(kubernetes/kubernetes#125467).

A question, as it is sent, and whether what came back answers it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import secrets
import socket
from collections.abc import Iterator
from enum import Enum

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype

from kubectl_eksdoc.dns_load.plan import UDP, QueryStream

_GOOD = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)


class DnsQuery:
    """One of its own kind: with an id and a name that nobody has asked before, so that no answer of before fits it and
    no cache knows it. The name is below one that the cluster's DNS answers itself, so what is upstream is not measured.
    """

    def __init__(self, below: str, v6: bool) -> None:
        name = dns.name.from_text(f"eksdoc-{secrets.token_hex(6)}.{below}")
        kind = dns.rdatatype.AAAA if v6 else dns.rdatatype.A
        self._asked = dns.message.make_query(name, kind)
        self.wire = self._asked.to_wire()

    def judged(self, wire: bytes) -> str | None:
        """Nothing for an answer; why it is a bad one (``SERVFAIL``, ``truncated``, ``malformed``); None for what
        is not meant for this question."""
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
    """What became of a question."""

    ANSWERED = "answered"
    LATE = "late"  # an answer, after more time than applications like
    LOST = "lost"  # nothing within the timeout
    REFUSED = "refused"  # nobody listens there, or the way there is closed: told at once
    FAILED = "failed"  # an answer that is none: SERVFAIL, REFUSED, truncated


_CLOSED = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.ECONNABORTED: "aborted",
    errno.EPIPE: "closed",
    errno.EHOSTUNREACH: "unreachable",
}
"""What the other side, or somebody on the way, tells. A network without a route (ENETUNREACH) is our own fault."""


class PersistentSocket(asyncio.DatagramProtocol):
    """One UDP socket for all questions of a stream. Mutable."""

    def __init__(self) -> None:
        self._open: dict[asyncio.Future[str], DnsQuery] = {}
        self._transport: asyncio.DatagramTransport | None = None
        self._opening = asyncio.Lock()

    async def exchange(self, stream: QueryStream, question: DnsQuery) -> str:
        """As `_udp`; the socket is opened with the first question."""
        loop = asyncio.get_running_loop()
        async with self._opening:  # a question that is due meanwhile opens no second one
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
        """An ICMP error does not tell which question it is about: it ends the oldest."""
        oldest = next((answer for answer in self._open if not answer.done()), None)
        if oldest is not None:
            oldest.set_exception(exc)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def ask(
    stream: QueryStream, question: DnsQuery, timeout_s: float, kept: PersistentSocket | None = None
) -> tuple[QueryResult, str]:
    """What became of it, and the reason if it was `FAILED` or `REFUSED`. `kept`: by which it is asked, if any.

    Raises:
        OSError: this machine cannot ask (no sockets left, no memory); nothing is known of the other one.
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
