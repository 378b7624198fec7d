"""Writers who take a run from each other: whoever adopted it last can write, nobody else, and nothing is lost."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.errors import LockLost
from kubectl_eksdoc.kube.cluster_journal import ClusterJournal
from kubectl_eksdoc.kube.runs import ConfigMaps, read_run
from kubectl_eksdoc.model.journal import Entry, JournalNote, Note, RunStarted
from tests.builders import NOW
from tests.examples import examples
from tests.fakes.sender import Hands
from tests.kube.spaces import SPACE, World, an_api, directly, no_fence


def beginning() -> RunStarted:
    return RunStarted(0, NOW, "r1", "d", "1", "ada", "desk", "nobody")


def a_note(number: int, who: str) -> Note:
    return Note(number, NOW, JournalNote.PAUSED, who, "x" * 50)


STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(("append", "append", "adopt")), st.integers(1, 4)))


@settings(max_examples=examples(150))
@given(steps=STEPS)
def test_only_who_adopted_last_can_write(steps: list[tuple[int, str, int]]) -> None:
    maps = ConfigMaps(directly(an_api()), SPACE, Hands().clock())
    writers = [ClusterJournal(maps, f"w{i}", no_fence, 400) for i in range(3)]
    writers[0].begin(beginning())
    for writer in writers[1:]:
        writer.open("r1")  # and they do not know better ever after
    leader, number = 0, 1
    expected: list[Entry] = [beginning()]
    for who, what, count in steps:
        entries = [a_note(number + i, f"w{who}") for i in range(count)]
        if what == "adopt":
            writers[who].open("r1")
            writers[who].adopt(f"w{who}", entries)
            leader = who
        elif who == leader:
            writers[who].append(entries)
        else:
            with pytest.raises(LockLost):
                writers[who].append(entries)
            continue
        expected += entries
        number += count
    stored = read_run(maps, "r1")
    assert list(stored.entries.entries) == expected and stored.entries.dropped == ()


def test_four_at_once_lose_nothing(space: World) -> None:
    """Each adopts the run again whenever it was taken from it, as nobody should: what was confirmed is there, once."""
    space.journal("begin").begin(beginning())
    confirmed: dict[str, list[Entry]] = {f"w{i}": [] for i in range(4)}
    lost: list[str] = []

    def write(name: str, first: int) -> None:
        journal = space.journal(name, 1500)
        number, opened = first, False
        while len(confirmed[name]) < 25:
            entries: list[Entry] = [a_note(number, name)]
            number += 1
            try:
                if opened:
                    journal.append(entries)
                else:
                    journal.open("r1")
                    journal.adopt(name, entries)
            except LockLost:
                lost.append(name)
                opened = False
                continue
            opened = True
            confirmed[name] += entries

    threads = [threading.Thread(target=write, args=(name, 1000 * i)) for i, name in enumerate(confirmed, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = read_run(space.sound, "r1")
    assert stored.entries.dropped == () and lost, "they were in each other's way"
    for name, entries in confirmed.items():
        ours = [each for each in stored.entries.entries if isinstance(each, Note) and each.subject == name]
        assert [each for each in ours if each in entries] == entries, name
        assert len(ours) == len(set(ours))
