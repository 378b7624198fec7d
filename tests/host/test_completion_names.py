"""Names cached for the next press of Tab."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from kubectl_eksdoc.host.cache import (
    FRESH_AGE_S,
    MAX_AGE_S,
    MAX_NAMES_BYTES,
    RETRY_S,
    CachedNames,
    NameCache,
    decode_names,
    encode_names,
)
from kubectl_eksdoc.model.names import CompletionName

KEY = "ab" * 20
KNOWN = CachedNames((CompletionName("blue", "8 nodes"), CompletionName("é ü")), requested_at=1000.5, received_at=1000.5)
FAILED = replace(KNOWN, received_at=900.0)


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    names = NameCache(tmp_path / "eksdoc")
    assert names.read(KEY) is None
    names.write(KEY, KNOWN)
    assert names.read(KEY) == KNOWN
    kept = tmp_path / "eksdoc" / f"{KEY}.names"
    assert kept.stat().st_mode & 0o777 == 0o600 and kept.parent.stat().st_mode & 0o777 == 0o700


def test_damage_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    names = NameCache(tmp_path)
    for content in (b"", b"{", b"[]", b'{"version":2}', b"\xff", b"[" * 100_000, b" " * (MAX_NAMES_BYTES + 1)):
        (tmp_path / f"{KEY}.names").write_bytes(content)
        assert names.read(KEY) is None
    whole = json.loads(encode_names(KNOWN))
    assert decode_names(json.dumps({**whole, "version": 2}).encode()) is None
    for key in whole:
        assert decode_names(json.dumps({**whole, key: {}}).encode()) is None
        assert decode_names(json.dumps({name: value for name, value in whole.items() if name != key}).encode()) is None


def test_they_age() -> None:
    assert (
        KNOWN.is_fresh(1000.5) and KNOWN.is_fresh(1000.5 + FRESH_AGE_S - 1) and not KNOWN.is_fresh(1000.5 + FRESH_AGE_S)
    )
    assert not KNOWN.is_fresh(1000), "the clock was put back"
    assert FAILED.is_fresh(1000.5 + RETRY_S - 1) and not FAILED.is_fresh(1000.5 + RETRY_S)
    assert FAILED.usable_names(900 + MAX_AGE_S - 1) == KNOWN.names and FAILED.usable_names(900 + MAX_AGE_S) == ()
    assert CachedNames((), float("nan"), float("nan")).usable_names(5) == () and not CachedNames(
        (), float("nan"), 0
    ).is_fresh(5)


def test_since_when_they_are_asked_for(tmp_path: Path) -> None:
    names = NameCache(tmp_path)
    assert names.pending_s(KEY, 1000) == math.inf
    names.mark_requested(KEY, 1000)
    assert names.pending_s(KEY, 1005) == 5 and names.pending_s(KEY, 1100) == 100
    assert names.pending_s(KEY, 900) == math.inf, "the clock was put back"
    names.write(KEY, CachedNames((), 1001, 1001))
    assert names.pending_s(KEY, 1005) == math.inf, "there was an answer"
    for damaged in (b"soon", b"nan", b"inf", b""):
        (tmp_path / f"{KEY}.asking").write_bytes(damaged)
        assert names.pending_s(KEY, 1005) == math.inf
