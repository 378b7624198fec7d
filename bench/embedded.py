"""The simulated cluster: loading one, ten thousand evictions in virtual time, a list of many pods over HTTP.

Prints what each took as one line of JSON; a process of its own for each, so that none warms up another.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.cli.main import reduce_gc
from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.embedded.serving.requests import ADMIN, TokenUsers
from kubectl_eksdoc.kubernetes.evictions import EvictionRequest
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.control_plane import workload_controllers

NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)
SOON_S = 30.0


class Pace:
    """Pods start within 20 s and stop within 5 s."""

    def start_s(self, pod: Pod) -> float:
        return 20.0

    def stop_s(self, pod: Pod) -> float:
        return 5.0

    def run_s(self, pod: Pod) -> float:
        return float("inf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("load", "evict", "list"))
    parser.add_argument("archive")
    parser.add_argument("--count", type=int, default=10_000)
    asked = parser.parse_args()
    reduce_gc()
    said = {"load": _load, "evict": _evict, "list": _list}[asked.what](asked.archive, asked.count)
    print(json.dumps(said))


def _docs(archive: str) -> Iterator[dict[str, Any]]:
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.name.endswith(".json") else None
            if file is not None:
                yield from json.load(file)["items"]


def _load(archive: str, count: int) -> dict[str, float]:
    """From the archive until all controllers run."""
    before = time.perf_counter()
    plane = load_documents(_docs(archive), NOW).plane
    plane.start(Pace(), workload_controllers)
    return {"seconds": time.perf_counter() - before, "pods": plane.store.count("pods")}


def _evict(archive: str, count: int) -> dict[str, float]:
    """Evict every pod that its budget allows, again and again, until there were so many evictions."""
    plane = load_documents(_docs(archive), NOW).plane
    plane.start(Pace(), workload_controllers)
    plane.run_until_idle(60)
    before, granted, refused = time.perf_counter(), 0, 0
    while granted < count:
        for name in [item.key for item in plane.store.list("pods") if _may_go(item.doc)]:
            answer = plane.evictions.evict(EvictionRequest(name[1], name[1], name[0]))
            granted, refused = granted + answer.ok, refused + (not answer.ok)
            if granted == count:
                break
        plane.virtual_time.run_until(plane.virtual_time.seconds + SOON_S)
    seconds = time.perf_counter() - before
    return {"seconds": seconds, "refused": refused, "virtual_s": plane.virtual_time.seconds}


def _may_go(doc: dict[str, Any]) -> bool:
    meta = doc["metadata"]
    owners = meta.get("ownerReferences") or ()
    running = doc["status"].get("phase") == "Running" and "deletionTimestamp" not in meta
    return running and not any(owner["kind"] == "DaemonSet" for owner in owners)


def _list(archive: str, count: int) -> dict[str, float]:
    """One list of so many pods from our server, and the same bytes from a server that only sends them; each the second
    time, because the first list is encoded."""
    plane = load_documents(_many(archive, count), NOW).plane
    with serving(Api(plane, ApiSetup(TokenUsers({"t": ADMIN})))) as server:
        url = f"{server.url('t')}/api/v1/pods"
        _fetched(url)
        ours, body = _fetched(url)
    with _static(body) as url:
        _fetched(url)
        static, again = _fetched(url)
    assert again == body
    return {"seconds": ours, "static": static, "pods": len(json.loads(body)["items"]), "bytes": len(body)}


def _many(archive: str, count: int) -> Iterator[dict[str, Any]]:
    docs = list(_docs(archive))
    pods = [doc for doc in docs if doc["kind"] == "Pod"]
    yield from (doc for doc in docs if doc["kind"] != "Pod")
    for i in range(count):
        made = deepcopy(pods[i % len(pods)])
        made["metadata"]["name"] += f"-{i}"
        yield made


def _fetched(url: str) -> tuple[float, bytes]:
    before = time.perf_counter()
    with urllib.request.urlopen(url) as answer:
        body: bytes = answer.read()
    return time.perf_counter() - before, body


@contextlib.contextmanager
def _static(body: bytes) -> Iterator[str]:
    """A server that answers everything with `body`."""
    from kubectl_eksdoc.embedded.serving.requests import Reply, ServedRequest

    class Fixed:
        def handle(self, request: ServedRequest) -> Reply:
            return Reply(200, body)

    with serving(Fixed()) as server:
        yield server.url()


if __name__ == "__main__":
    main()
