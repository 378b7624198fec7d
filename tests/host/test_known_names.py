"""Names that are kept for the next press of Tab."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from kubectl_eksdoc.host.cache import (
    FAILED_S,
    FRESH_S,
    LARGEST,
    LONGEST_S,
    CachedNames,
    KnownNames,
    content_of,
    known_in,
)
from kubectl_eksdoc.model.names import Name

KEY = "ab" * 20
KNOWN = CachedNames((Name("blue", "8 nodes"), Name("é ü")), asked=1000.5, seen=1000.5)
FAILED = replace(KNOWN, seen=900.0)


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    names = KnownNames(tmp_path / "eksdoc")
    assert names.of(KEY) is None
    names.keep(KEY, KNOWN)
    assert names.of(KEY) == KNOWN
    kept = tmp_path / "eksdoc" / f"{KEY}.names"
    assert kept.stat().st_mode & 0o777 == 0o600 and kept.parent.stat().st_mode & 0o777 == 0o700


def test_damage_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    names = KnownNames(tmp_path)
    for content in (b"", b"{", b"[]", b'{"version":2}', b"\xff", b"[" * 100_000, b" " * (LARGEST + 1)):
        (tmp_path / f"{KEY}.names").write_bytes(content)
        assert names.of(KEY) is None
    whole = json.loads(content_of(KNOWN))
    assert known_in(json.dumps({**whole, "version": 2}).encode()) is None
    for key in whole:
        assert known_in(json.dumps({**whole, key: {}}).encode()) is None
        assert known_in(json.dumps({name: value for name, value in whole.items() if name != key}).encode()) is None


def test_they_age() -> None:
    assert KNOWN.fresh(1000.5) and KNOWN.fresh(1000.5 + FRESH_S - 1) and not KNOWN.fresh(1000.5 + FRESH_S)
    assert not KNOWN.fresh(1000), "the clock was put back"
    assert FAILED.fresh(1000.5 + FAILED_S - 1) and not FAILED.fresh(1000.5 + FAILED_S)
    assert FAILED.usable(900 + LONGEST_S - 1) == KNOWN.names and FAILED.usable(900 + LONGEST_S) == ()
    assert CachedNames((), float("nan"), float("nan")).usable(5) == () and not CachedNames((), float("nan"), 0).fresh(5)


def test_since_when_they_are_asked_for(tmp_path: Path) -> None:
    names = KnownNames(tmp_path)
    assert names.asked_for(KEY, 1000) == math.inf
    names.begin(KEY, 1000)
    assert names.asked_for(KEY, 1005) == 5 and names.asked_for(KEY, 1100) == 100
    assert names.asked_for(KEY, 900) == math.inf, "the clock was put back"
    names.keep(KEY, CachedNames((), 1001, 1001))
    assert names.asked_for(KEY, 1005) == math.inf, "there was an answer"
    for damaged in (b"soon", b"nan", b"inf", b""):
        (tmp_path / f"{KEY}.asking").write_bytes(damaged)
        assert names.asked_for(KEY, 1005) == math.inf
