"""A DNS server that shuts down like CoreDNS: with its Corefile's lameduck, over real UDP and TCP, with /health and
/ready.

From SIGTERM on it behaves as the real one in `tests/data/recordings/coredns-shutdown.jsonl.gz`: /ready is closed at
once; during lameduck it answers DNS and /health as before, and another SIGTERM changes nothing; then all ports are
closed, and it exits with 0. As a process: ``python -m tests.dns.responder --corefile TEXT --scale 0.1``; it prints its
ports as a line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import socket
import sys
from dataclasses import dataclass
from typing import cast

from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s
from kubectl_eksdoc.model.coredns import Corefile, Directive

NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
HOSTS = ("127.0.0.1", "::1")


@dataclass(frozen=True)
class Behaviour:
    """`delay_s` before each answer; `truncate` answers over UDP; `mute`: no question is answered."""

    rcode: int = NXDOMAIN
    delay_s: float = 0.0
    truncate: bool = False
    mute: bool = False


def answered(query: bytes, behaviour: Behaviour, over_udp: bool) -> bytes:
    """The header with QR, AA, RD and RA, and the question as it came."""
    end = 12
    while query[end]:
        end += query[end] + 1
    flags = 0x8580 | behaviour.rcode | (0x0200 if behaviour.truncate and over_udp else 0)
    return query[:2] + flags.to_bytes(2, "big") + b"\0\1\0\0\0\0\0\0" + query[12 : end + 5]


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self._behaviour.mute:
            return
        made = answered(data, self._behaviour, over_udp=True)
        asyncio.get_running_loop().call_later(self._behaviour.delay_s, self._send, made, addr)

    def _send(self, data: bytes, addr: tuple[str, int]) -> None:
        if not self._transport.is_closing():
            self._transport.sendto(data, addr)


class Responder:
    """One server. `scale`: the duration of a second of its Corefile."""

    def __init__(self, corefile: Corefile, scale: float, behaviour: Behaviour) -> None:
        found = lameduck_s(corefile)
        assert found is not None
        self.lameduck_s = found * scale
        names = {
            each.name
            for block in corefile.server_blocks
            for each in corefile.expand(block)
            if isinstance(each, Directive)
        }
        self._http = [name for name in ("health", "ready") if name in names]
        self._behaviour = behaviour
        self._udp: list[asyncio.DatagramTransport] = []
        self._servers: dict[str, list[asyncio.Server]] = {"tcp": [], "health": [], "ready": []}

    async def open(self) -> dict[str, object]:
        """Open the sockets: the port of DNS, the same for UDP and TCP, the address families, and the ports of health
        and ready."""
        port, hosts = await self._open_dns()
        told: dict[str, object] = {"port": port, "hosts": hosts}
        for name in self._http:
            server = await asyncio.start_server(self._http_answer, HOSTS[0], 0)
            self._servers[name].append(server)
            told[name] = server.sockets[0].getsockname()[1]
        return told

    async def _open_dns(self) -> tuple[int, list[str]]:
        loop = asyncio.get_running_loop()
        while True:
            tcp = await asyncio.start_server(self._tcp_answer, HOSTS[0], 0)
            port = tcp.sockets[0].getsockname()[1]
            made: list[asyncio.Server] = [tcp]
            udp: list[asyncio.DatagramTransport] = []
            hosts = [host for host in HOSTS if host == HOSTS[0] or has_v6()]
            try:
                for host in hosts:
                    if host != HOSTS[0]:
                        made.append(await asyncio.start_server(self._tcp_answer, host, port))
                    transport, _ = await loop.create_datagram_endpoint(
                        lambda: Datagrams(self._behaviour), local_addr=(host, port)
                    )
                    udp.append(transport)
            except OSError:  # another process has that port there
                for each in (*made, *udp):
                    each.close()
                continue
            self._servers["tcp"], self._udp = made, udp
            return port, hosts

    async def _tcp_answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            query = await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big"))
            await asyncio.sleep(self._behaviour.delay_s)
            if self._behaviour.mute:
                await reader.read()  # until the client goes
            else:
                made = answered(query, self._behaviour, over_udp=False)
                writer.write(len(made).to_bytes(2, "big") + made)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _http_answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK")
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def leave(self) -> None:
        """Shut down, from SIGTERM on."""
        if self.lameduck_s:
            self._close("ready")
            await asyncio.sleep(self.lameduck_s)
        for transport in self._udp:
            transport.close()
        for name in ("tcp", "health", "ready"):
            self._close(name)
        await asyncio.sleep(0)  # a datagram transport closes its socket with the next round

    def _close(self, name: str) -> None:
        for server in self._servers[name]:
            server.close()


def has_v6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
            sock.bind((HOSTS[1], 0))
    except OSError:
        return False
    return True


async def _serve(corefile: Corefile, scale: float, behaviour: Behaviour) -> None:
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    responder = Responder(corefile, scale, behaviour)
    print(json.dumps(await responder.open()), flush=True)
    await told.wait()
    await responder.leave()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corefile", required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rcode", type=int, default=NXDOMAIN)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--truncate", action="store_true")
    parser.add_argument("--mute", action="store_true")
    args = parser.parse_args()
    corefile = parse_corefile(args.corefile)
    assert isinstance(corefile, Corefile), corefile
    asyncio.run(_serve(corefile, args.scale, Behaviour(args.rcode, args.delay, args.truncate, args.mute)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
