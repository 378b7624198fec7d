"""Every entry comes back from its line, and whatever a line holds, those before and behind it are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.run.journal import replay
from kubectl_eksdoc.model.journal import Entry, JournalIntent, JournalNote, Note, Verb
from kubectl_eksdoc.objects.journal_lines import line, lines, read_lines
from tests.builders import NOW
from tests.examples import examples
from tests.journals import ENTRIES, JOURNALS

INTENT = JournalIntent(4, NOW, Verb.EVICT, "Pod", "web-1", "uid-1", "shop", "old-0", grace_s=0)
NOTE = Note(5, NOW, JournalNote.PAUSED)


@settings(max_examples=examples(300))
@given(JOURNALS)
def test_every_journal_comes_back(entries: list[Entry]) -> None:
    read = read_lines(lines(entries).encode("ascii"), "here")
    assert read.entries == tuple(entries) and read.dropped == ()


@settings(max_examples=examples(300))
@given(JOURNALS, st.data())
def test_every_prefix_can_be_read(entries: list[Entry], data: st.DataObject) -> None:
    text = lines(entries).encode("ascii")
    cut = data.draw(st.integers(0, len(text)))
    read = read_lines(text[:cut], "here")
    whole = text[:cut].count(b"\n")
    assert read.entries in (tuple(entries[:whole]), tuple(entries[: whole + 1]))
    assert len(read.dropped) <= 1
    assert bool(read.dropped) == (len(read.entries) == whole and not text[:cut].endswith(b"\n") and cut > 0)
    replay(read)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=examples(300))
@given(ENTRIES, st.data())
def test_a_value_of_another_form_is_dropped_or_read(entry: Entry, data: st.DataObject) -> None:
    document: dict[str, Any] = json.loads(line(entry))
    document[data.draw(st.sampled_from(sorted(document)))] = data.draw(JSONS)
    text = json.dumps(document).encode() + b"\n" + line(NOTE).encode()
    read = read_lines(text, "here")
    assert read.entries[-1] == NOTE and len(read.entries) + len(read.dropped) == 2
    replay(read)


def test_how_it_looks() -> None:
    assert line(INTENT) == (
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
        ('{"v":1,"entry":"note","number":1,"at":"2026-11-20T12:00:00+01:00","what":"paused"}', "its note has a time"),
        ('{"v":1,"entry":"note","number":-1,"at":"2026-11-20T12:00:00Z","what":"paused"}', "its note has a time"),
        (
            '{"v":1,"entry":"note","number":true,"at":"2026-11-20T12:00:00Z","what":"lost"}',
            "its note is not as this ve",
        ),
        ("é", "it is truncated, or is not a journal line"),
    ],
    ids=lambda text: text[:70],
)
def test_what_is_wrong_with_a_line_is_said(text: str, said: str) -> None:
    read = read_lines((line(INTENT) + text + "\n" + line(NOTE)).encode(), "the file")
    assert read.entries == (INTENT, NOTE)
    assert len(read.dropped) == 1 and read.dropped[0].startswith(f"the file, line 2: {said}")


def test_what_a_newer_version_adds_is_left_out() -> None:
    document = {**json.loads(line(NOTE)), "mood": "fine"}
    assert read_lines(json.dumps(document).encode(), "here").entries == (NOTE,)
