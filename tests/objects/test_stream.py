"""The splitter finds the same items for any chunk boundaries, and reports an error at the same byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.report.events import event_line
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.journal import replay_journals
from kubectl_eksdoc.drain.run.replay import from_events
from kubectl_eksdoc.model.journal import IntentEntry, JournalEntry, NoteEntry, NoteKind, RunEvent, Verb
from kubectl_eksdoc.objects.journal_lines import entry_line, entry_lines, read_events, read_journal
from kubectl_eksdoc.objects.stream import InvalidStream, ListHeader, ListStream, StreamError, StreamItem
from tests.any_json import anything
from tests.builders import NOW
from tests.examples import examples
from tests.journals import ENTRIES, JOURNALS

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
    """The standard library's view of the Lists in `data`."""
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
        except InvalidStream as error:
            assert error.trouble in (
                StreamError.CUT,
                StreamError.EMPTY,
                StreamError.ENCODING,
                StreamError.MALFORMED,
            )
            # Only an incomplete number or character may be reported as malformed.
            if error.trouble is StreamError.MALFORMED:
                assert part[-1:] in b"-.eE+"
        else:
            assert (items, headers) == plain(part)


JSON = anything(st.floats(allow_nan=False, allow_infinity=False))
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
    """A value over many chunks is scanned a few times, not once for each chunk."""
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

    with pytest.raises(InvalidStream) as caught:
        split(endless(), largest=50_000)
    assert caught.value.trouble is StreamError.TOO_LARGE


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


# Lines of a journal and of a run's events are read back; an invalid line does not affect other lines.

INTENT = IntentEntry(4, NOW, Verb.EVICT, "Pod", "web-1", "uid-1", "shop", "old-0", grace_s=0)
NOTE = NoteEntry(5, NOW, NoteKind.PAUSED)


@settings(max_examples=examples(300))
@given(JOURNALS)
def test_every_journal_comes_back(entries: list[JournalEntry]) -> None:
    read = read_journal(entry_lines(entries).encode("ascii"), "here")
    assert read.entries == tuple(entries) and read.dropped == ()


@settings(max_examples=examples(300))
@given(JOURNALS, st.data())
def test_every_prefix_can_be_read(entries: list[JournalEntry], data: st.DataObject) -> None:
    text = entry_lines(entries).encode("ascii")
    cut = data.draw(st.integers(0, len(text)))
    read = read_journal(text[:cut], "here")
    whole = text[:cut].count(b"\n")
    assert read.entries in (tuple(entries[:whole]), tuple(entries[: whole + 1]))
    assert len(read.dropped) <= 1
    assert bool(read.dropped) == (len(read.entries) == whole and not text[:cut].endswith(b"\n") and cut > 0)
    replay_journals(read)


JSONS = anything(st.floats())


@settings(max_examples=examples(300))
@given(ENTRIES, st.data())
def test_a_value_of_another_form_is_dropped_or_read(entry: JournalEntry, data: st.DataObject) -> None:
    document: dict[str, Any] = json.loads(entry_line(entry))
    document[data.draw(st.sampled_from(sorted(document)))] = data.draw(JSONS)
    text = json.dumps(document).encode() + b"\n" + entry_line(NOTE).encode()
    read = read_journal(text, "here")
    assert read.entries[-1] == NOTE and len(read.entries) + len(read.dropped) == 2
    replay_journals(read)


def test_how_it_looks() -> None:
    assert entry_line(INTENT) == (
        '{"v":1,"entry":"intent","number":4,"at":"2026-11-20T12:00:00Z","verb":"evict","kind":"Pod","name":"web-1",'
        '"uid":"uid-1","namespace":"shop","node":"old-0","grace_s":0}\n'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"v":2,"entry":"note"}', "its format is 2, and this version reads only 1"),
        ('{"v":1,"entry":"omen"}', 'an entry "omen" is not known to this version'),
        ("[1]", "it is JSON, but no entry"),
        ('{"v":1,"entry":"no', "it is truncated, or is not a journal line"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"v":1,"entry":"note","number":1,"at":"2026-11-20T12:00:00","what":"paused"}', "its note has a time that is"),
        ('{"v":1,"entry":"note","number":-1,"at":"2026-11-20T12:00:00Z","what":"paused"}', "its note has a time"),
        (
            '{"v":1,"entry":"note","number":true,"at":"2026-11-20T12:00:00Z","what":"lost"}',
            "its note is not as this ve",
        ),
    ],
    ids=lambda text: text[:70],
)
def test_what_is_wrong_with_a_line_is_said(text: str, said: str) -> None:
    read = read_journal((entry_line(INTENT) + text + "\n" + entry_line(NOTE)).encode(), "the file")
    assert read.entries == (INTENT, NOTE)
    assert len(read.dropped) == 1 and read.dropped[0].startswith(f"the file, line 2: {said}")


def test_what_a_newer_version_adds_is_left_out() -> None:
    document = {**json.loads(entry_line(NOTE)), "mood": "fine"}
    assert read_journal(json.dumps(document).encode(), "here").entries == (NOTE,)


LINE = event_line(DrainEvent(2.5, DrainEventKind.EVICTED, "shop/a", "old-0"), "r1", NOW)
END: dict[str, Any] = {
    "apiVersion": "eksdoc.io/v1alpha1",
    "kind": "DrainRun",
    "run": "r1",
    "outcome": "done",
    "endedSeconds": 3.5,
    "plan": {"evictions": 1, "estimate": None},
    "nodes": [{"name": "old-0", "wave": None}],
}

MOMENTS = st.builds(
    DrainEvent,
    st.floats(0, 10**6),
    st.sampled_from(DrainEventKind),
    st.text(min_size=1, max_size=8),
    st.text(max_size=8),
    st.text(max_size=8),
)
TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2999, 1, 1), timezones=st.just(timezone.utc))  # noqa: DTZ001


@given(MOMENTS, TIMES)
def test_every_event_comes_back(moment: DrainEvent, at: datetime) -> None:
    read = read_events(event_line(moment, "r1", at).encode(), "here")
    at_s = round(moment.at_s, 3)
    told = RunEvent("r1", at.replace(microsecond=0), at_s, moment.what.value, moment.subject, moment.node, moment.why)
    assert read.events == (told,) and not read.dropped


FINITE_JSONS = anything(st.floats(allow_nan=False))


@settings(max_examples=examples(300))
@given(
    st.sampled_from([json.loads(LINE), END]), st.dictionaries(st.sampled_from([*json.loads(LINE), *END]), FINITE_JSONS)
)
def test_whatever_a_field_holds(document: dict[str, Any], changed: dict[str, Any]) -> None:
    text = f"{LINE}{json.dumps({**document, **changed})}\n".encode()
    read = read_events(text, "here")
    assert len(read.events) + len(read.dropped) == 2
    recording = from_events(read)
    assert recording is not None and recording.length_s >= 2.5


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"at": "2026-11-20T08:51:00"}, "its time has no zone"),
        ({"at": "9999-01-01T00:00:00Z"}, "the year 9999 is none of a run"),
        ({"seconds": -1}, "-1 are no seconds of a run"),
        ({"seconds": 1e300}, "1e+300 are no seconds of a run"),
        ({"apiVersion": "eksdoc.io/v2"}, "it is no DrainRunEvent of eksdoc.io/v1alpha1"),
    ],
)
def test_what_is_wrong_with_an_event_is_said(changed: dict[str, Any], why: str) -> None:
    read = read_events(json.dumps({**json.loads(LINE), **changed}).encode(), "run.jsonl")
    assert not read.events and len(read.dropped) == 1
    assert read.dropped[0].startswith(f"run.jsonl, line 1: {why}")


def test_a_line_that_was_cut_off_and_one_that_is_too_deep() -> None:
    read = read_events(LINE.encode() + LINE.encode()[:50] + b"\n" + b"[" * 100_000, "here")
    assert len(read.events) == 1
    assert [said.split(": ")[1] for said in read.dropped] == [
        "it is truncated, or is not JSON",
        "it is nested too deeply",
    ]


def test_the_end_of_a_run() -> None:
    (end,) = read_events(json.dumps(END).encode(), "here").events
    assert (end.run, end.nodes, end.evictions, end.p50_s) == ("r1", (("old-0", 0),), 1, None)  # type: ignore[union-attr]


@settings(max_examples=examples(300))
@given(st.lists(st.binary(max_size=40) | ENTRIES.map(lambda each: entry_line(each).encode()), max_size=6))
def test_garbage_between_takes_no_entry_with_it(parts: list[bytes]) -> None:
    ours = [part for part in parts if part.startswith(b'{"v":1,') and part.endswith(b"}\n")]
    read = read_journal(b"\n".join(parts), "here")
    expected = [each for part in ours for each in read_journal(part, "there").entries]
    assert [each for each in read.entries if each in expected] == expected
    replay_journals(read)
