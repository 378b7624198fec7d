"""Serve a recorded cluster with faults, and list the faults that a reading client can meet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kubectl_eksdoc.embedded.faults import ALL_FAULTS, build_faults, parse_fault
from kubectl_eksdoc.embedded.serving.faults import FaultyHandler
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import RequestHandler

MET = tuple(named.name for named in ALL_FAULTS if named.is_request_fault)

OF_READING = frozenset(
    ("throttled", "server-error", "unavailable", "server-timeout", "list-expired", "forbidden")
    + ("slow", "unanswered", "reset", "answer-lost", "cut-short")
)
"""The others are of writes, evictions and watches."""


@contextlib.contextmanager
def served(api: RequestHandler, *faults: str, seed: int = 0) -> Iterator[SimulatedApiServer]:
    """No call sleeps; at the end the test fails if the server itself had an error."""
    chosen = build_faults([parse_fault(text) for text in faults], seed)
    with serving(FaultyHandler(api, chosen.requests, lambda seconds: None, seed)) as server:
        yield server
    assert not server.errors
