"""Exchanges recorded from a real kube-apiserver, by name, as answers a fake can give."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "data" / "recordings" / "exchanges.jsonl.gz"


@functools.cache
def _all() -> dict[str, dict[str, Any]]:
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        return {exchange["name"]: exchange for exchange in map(json.loads, lines)}


def response(name: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body; a JSON body is printed compactly, as the server does it."""
    recorded = _all()[name]["response"]
    body = recorded["body"]
    raw = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    return recorded["status"], dict(recorded["headers"]), raw.encode()


def document(name: str) -> Any:
    return json.loads(response(name)[2])
