"""An instance metadata service like EC2's, for one network namespace: run as a separate program, not imported.

``python stand_in.py TOKENS HOP_LIMIT ENDPOINT`` serves on both addresses until its standard input ends; it prints
"ready" when it does. As with EC2, the hop limit is the TTL of the answer that carries the token, and of nothing else:
every PUT has a connection of its own (the server closes it), whose TTL is lowered when the answer is ready. So the
handshake before it has the usual TTL, as does the answer to any GET; only the end of that connection is lost with it.
"""

from __future__ import annotations

import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

V4, V6, PORT = "169.254.169.254", "fd00:ec2::254", 80
INSTANCE, TOKEN = "i-0123456789abcdef0", "AQAEAExampleToken=="
TTL = "X-aws-ec2-metadata-token-ttl-seconds"


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "EC2ws", ""
    tokens, hop_limit, enabled = "optional", 1, True

    def do_PUT(self) -> None:
        if not self.enabled or self.headers.get("X-Forwarded-For") is not None:
            self._answer(403)
        elif self.path != "/latest/api/token":
            self._answer(403)  # as aws-beam/aws_credentials #47 saw it
        elif not (self.headers.get(TTL) or "").isdecimal():
            self._answer(400)
        else:
            self._limit_hops()
            self._answer(200, TOKEN)

    def do_GET(self) -> None:
        given = self.headers.get("X-aws-ec2-metadata-token")
        if not self.enabled:
            self._answer(403)
        elif (given is None and self.tokens == "required") or given not in (None, TOKEN):
            self._answer(401)
        elif self.path != "/latest/meta-data/instance-id":
            self._answer(404)
        else:
            self._answer(200, INSTANCE)

    def _limit_hops(self) -> None:
        if self.connection.family == socket.AF_INET6:
            self.connection.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, self.hop_limit)
        else:
            self.connection.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, self.hop_limit)

    def _answer(self, code: int, body: str = "") -> None:
        self.close_connection = True
        self.send_response(code)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True


class ServerV6(Server):
    address_family = socket.AF_INET6


def main(tokens: str, hop_limit: str, endpoint: str) -> None:
    Service.tokens, Service.hop_limit, Service.enabled = tokens, int(hop_limit), endpoint == "enabled"
    for server in (Server((V4, PORT), Service), ServerV6((V6, PORT), Service)):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
