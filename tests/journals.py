"""Hypothesis strategies for the entries of a journal: with any text, any time, and in any order."""

from __future__ import annotations

from datetime import datetime, timezone

from hypothesis import strategies as st

from kubectl_eksdoc.model.journal import (
    IntentEntry,
    IntentOutcome,
    JournaledNode,
    JournalEntry,
    NoteEntry,
    NoteKind,
    ResultEntry,
    RunStarted,
    Verb,
)

TEXTS = st.text(st.characters(), max_size=20)  # half characters, too: servers' words come as JSON
NUMBERS = st.integers(0, 10**12)
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2999, 12, 31), timezones=st.just(timezone.utc))  # noqa: DTZ001
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)

AIMS = st.builds(JournaledNode, NAMES, NAMES, st.integers(0, 99))
BEGINNINGS = st.builds(
    RunStarted,
    NUMBERS,
    TIMES,
    *([TEXTS] * 6),
    st.lists(AIMS, max_size=4).map(tuple),
    st.lists(TEXTS, max_size=4).map(tuple),
)
GRACES = st.none() | st.integers(0, 10**6)
INTENTS = st.builds(
    IntentEntry, NUMBERS, TIMES, st.sampled_from(Verb), NAMES, NAMES, NAMES, NAMES, NAMES, GRACES, TEXTS
)
RESULTS = st.builds(
    ResultEntry, NUMBERS, TIMES, NUMBERS, st.sampled_from(IntentOutcome), st.integers(0, 599), NAMES, TEXTS
)
NOTES = st.builds(NoteEntry, NUMBERS, TIMES, st.sampled_from(NoteKind), TEXTS, TEXTS)
ENTRIES: st.SearchStrategy[JournalEntry] = st.one_of(BEGINNINGS, INTENTS, RESULTS, NOTES)
JOURNALS = st.lists(ENTRIES, max_size=8)
