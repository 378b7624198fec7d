"""A static API server in its own process: generated pods in pages, everything else empty.

Prints its port on the first line and serves until its standard input is closed. Pages are put together
once, so that what is measured is the client.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from bench import cluster

_VERSION = {"major": "1", "minor": "33", "gitVersion": "v1.33.1", "platform": "linux/amd64"}
_VERBS = ["get", "list", "watch"]
_PODS = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": _VERBS}
_FIXED = {
    "/version": _VERSION,
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [_PODS]},
}


class Pages:
    """Answers to list requests for the pods."""

    def __init__(self, count: int, seed: int) -> None:
        self._pods = list(cluster.pods(count, seed))

    @lru_cache(maxsize=256)  # noqa: B019 - lives as long as the process
    def page(self, limit: int, start: int) -> bytes:
        end = start + limit if limit else len(self._pods)
        metadata: dict[str, object] = {"resourceVersion": "2000000"}
        if end < len(self._pods):
            metadata |= {"continue": str(end), "remainingItemCount": len(self._pods) - end}
        head = f'{{"kind":"PodList","apiVersion":"v1","metadata":{json.dumps(metadata)},"items":['
        return head.encode() + b",".join(self._pods[start:end]) + b"]}\n"


class Handler(BaseHTTPRequestHandler):
    """GET only; connections stay open as an API server keeps them."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    pages: Pages

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == "/api/v1/pods":
            body = self.pages.page(int(query.get("limit", 0)), int(query.get("continue", 0)))
        else:
            body = json.dumps(_FIXED.get(url.path, {"kind": "List", "apiVersion": "v1", "items": []})).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    Handler.pages = Pages(asked.pods, asked.seed)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
