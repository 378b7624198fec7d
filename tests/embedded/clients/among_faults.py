"""A recorded cluster that is served with faults, and which of them somebody who reads can meet."""

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
    """Nothing is ever slept; in the end nothing must have gone wrong by our fault."""
    chosen = build_faults([parse_fault(text) for text in faults], seed)
    with serving(FaultyHandler(api, chosen.requests, lambda seconds: None, seed)) as server:
        yield server
    assert not server.errors
