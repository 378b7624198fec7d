"""The splitter finds the same items wherever the chunks end, and says what is wrong at the same byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.objects.stream import BadStream, ListHeader, ListStream, StreamItem, StreamTrouble
from tests.examples import examples

TRICKY = [
    b'{"items":[{"a":"}],{\\"","b":[1.5e-7,-0,12],"c":true},{},{"kind":"Pod","apiVersion":"v1"}],"kind":"List"}',
    b'{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"c","remainingItemCount":7},"items":[{"n":1},{"n":2}]}',
    b' {"n":-12.5E+3 ,"items" : [ {"a" : "\\u00e4\\ud83d\\ude00" } , {"b":null}\n]\n}\r\n\t{"items":null}{"items":[]}',
    '{"items":[{"metadata":{"name":"ä€😀"}}],"y":false}'.encode(),
]


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def split(chunks: Iterator[bytes], largest: int = 1 << 20) -> tuple[list[Any], list[ListHeader]]:
    """The items, decoded by the standard library, and the headers."""
    items, headers = [], []
    for each in ListStream(chunks, largest):
        if isinstance(each, StreamItem):
            items.append((len(headers), json.loads(bytes(each.raw)), each.kind))
        else:
            headers.append(each)
    return items, headers


def plain(data: bytes) -> tuple[list[Any], list[ListHeader]]:
    """What the standard library sees in the Lists of `data`."""
    text, decoder, items, headers = data.decode(), json.JSONDecoder(), [], []
    while text := text.strip():
        listed, end = decoder.raw_decode(text)
        text = text[end:]
        meta = listed.get("metadata", {})
        own = listed.get("kind", "") in ("", "List") or list(listed).index("kind") > list(listed).index("items")
        for item in listed["items"] or []:
            items.append((len(headers), item, item.get("kind", "") if own else ""))
        kind, version = listed.get("kind", ""), listed.get("apiVersion", "")
        count = len(listed["items"] or [])
        headers.append(ListHeader(kind, version, meta.get("continue", ""), meta.get("remainingItemCount"), count))
    return items, headers


@pytest.mark.parametrize("data", TRICKY)
def test_every_chunk_size(data: bytes) -> None:
    expected = plain(data)
    for size in range(1, len(data) + 1):
        assert split(pieces(data, size)) == expected


@pytest.mark.parametrize("data", TRICKY)
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_every_truncation_is_cut_or_ends_between_lists(data: bytes, size: int) -> None:
    for end in range(1, len(data.rstrip())):
        part = data[:end]
        try:
            items, headers = split(pieces(part, size))
        except BadStream as error:
            assert error.trouble in (
                StreamTrouble.CUT,
                StreamTrouble.EMPTY,
                StreamTrouble.ENCODING,
                StreamTrouble.MALFORMED,
            )
            # What is no complete number or character yet may be called malformed, nothing else.
            if error.trouble is StreamTrouble.MALFORMED:
                assert part[-1:] in b"-.eE+"
        else:
            assert (items, headers) == plain(part)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ITEMS = st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=5)


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@settings(max_examples=examples(150))
@given(
    items=ITEMS.filter(_encodable),
    indent=st.sampled_from([None, 0, 1, 4]),
    spaced=st.booleans(),
    escaped=st.booleans(),
    size=st.integers(1, 200),
)
def test_any_items_in_any_formatting(
    items: list[dict[str, Any]], indent: int | None, spaced: bool, escaped: bool, size: int
) -> None:
    separators = (" , ", " : ") if spaced else (",", ":")
    listed = {"kind": "PodList", "apiVersion": "v1", "items": items}
    data = json.dumps(listed, indent=indent, separators=separators, ensure_ascii=escaped).encode()
    found, headers = split(pieces(data, size))
    assert [item for _, item, _ in found] == items
    assert headers == [ListHeader("PodList", "v1", items=len(items))]


def test_work_is_linear_in_the_size_of_one_item() -> None:
    """A value over many chunks is looked at a few times, not once per chunk."""
    asked = 0

    def chunks() -> Iterator[bytes]:
        nonlocal asked
        yield b'{"items":[{"a":"'
        for _ in range(64):
            asked += 1
            yield b"x" * 4096
        yield b'"}]}'

    looked = 0

    class Counting(ListStream):
        def _size(self, rest: memoryview) -> int | None:
            nonlocal looked
            looked += len(rest)
            return super()._size(rest)

    found = [each for each in Counting(chunks()) if isinstance(each, ListHeader)]
    assert found[0].items == 1
    assert asked == 64
    assert looked < 5 * 64 * 4096


def test_a_value_that_is_too_large_is_refused_before_it_is_held() -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"items":[{"a":"'
        while True:
            yield b"x" * 1000

    with pytest.raises(BadStream) as caught:
        split(endless(), largest=50_000)
    assert caught.value.trouble is StreamTrouble.TOO_LARGE


@pytest.mark.parametrize(
    ("item", "kind", "version"),
    [
        (b'{"apiVersion":"v1","kind":"Pod"}', "Pod", "v1"),
        (b'{"metadata":{"kind":"X"},"kind":"Pod","apiVersion":"v1"}', "Pod", "v1"),
        (b'{"kind":"P\\u006fd","apiVersion":"v1"}', "Pod", "v1"),
        (b'{"kind":null,"apiVersion":null}', "", ""),
        (b'{"a":{"kind":"Pod","apiVersion":"v1"}}', "", ""),
    ],
)
def test_the_kind_of_an_item_wherever_it_stands(item: bytes, kind: str, version: str) -> None:
    found = [e for e in ListStream([b'{"items":[' + item + b"]}"]) if isinstance(e, StreamItem)]
    assert [(e.kind, e.api_version) for e in found] == [(kind, version)]
