"""Packed texts: the bytes are reproducible, and broken or endless data is not unpacked."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.host.documents import compress_text, decompress


@given(st.text())
def test_what_was_packed_comes_back(text: str) -> None:
    assert compress_text(text) == compress_text(text) and decompress(compress_text(text), 1 << 20) == text.encode()


def test_it_ends_where_it_must() -> None:
    assert len(decompress(gzip.compress(b"0" * 10_000), 100)) == 101


@given(st.binary(max_size=60))
def test_what_is_broken_is_said_to_be(content: bytes) -> None:
    with pytest.raises(ValueError, match="it is packed, and broken"):
        decompress(b"\x1f\x8b" + content[:5], 100)
