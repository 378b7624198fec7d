"""Findings that somebody has decided to live with until a day: as they are written down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

ANY = "*"


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings of `code` about subjects whose kind, namespace and name match these globs. `until`: the last day (UTC)
    on which it holds; `where` it stands, as in ``accepted.yaml, entry 2``."""

    code: str
    reason: str
    until: date
    kind: str = ANY
    namespace: str = ANY
    name: str = ANY
    where: str = ""
