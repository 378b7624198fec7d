"""The valid part of a journal, wherever it was truncated, and the state of the run that follows from it."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.journal import (
    MAX_MESSAGE_LENGTH,
    CordonedNode,
    JournalWriter,
    missing_entries,
    replay_journals,
)
from kubectl_eksdoc.drain.run.result import ContinueRun, RunEnded, journal_events, node_summaries, restart_decision
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse, StatusCause, StatusDetails
from kubectl_eksdoc.model.actions import (
    ClusterChange,
    Cordon,
    Delete,
    Evict,
    Exclude,
    Protect,
    Release,
    Restart,
    Restore,
)
from kubectl_eksdoc.model.journal import (
    DONE,
    ROLLED_BACK,
    TERMINATED,
    IntentEntry,
    IntentOutcome,
    JournaledNode,
    JournalEntries,
    JournalEntry,
    NoteEntry,
    NoteKind,
    RunPhase,
    RunStarted,
    RunSummary,
    Verb,
)
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import NOW, a_pod

OK, REFUSED, NOT_FOUND, BROKEN = ApiStatus(201), ApiStatus(403, message="no"), ApiStatus(404), ApiStatus(500)
BUDGET = ApiStatus(429, details=StatusDetails(causes=(StatusCause("DisruptionBudget", "it needs 2"),)))


def a_beginning(scribe: JournalWriter) -> RunStarted:
    aims = (JournaledNode("old-0", "uid-0", 1), JournaledNode("old-1", "uid-1", 2))
    return scribe.run_started(
        "r1",
        NOW,
        plan="sha256:1",
        tool="1",
        user="ada",
        host="desk",
        leader="ada@desk",
        planned_nodes=aims,
        arguments=("old-0",),
    )


class Story:
    """Journal entries as a run would write them."""

    def __init__(self) -> None:
        self.scribe = JournalWriter()
        self.entries: list[JournalEntry] = [a_beginning(self.scribe)]

    def does(self, act: Cordon | Restore | Evict, *answers: ApiStatus | LostResponse, before: str = "") -> IntentEntry:
        intent = self.scribe.intent(act, NOW, before)
        self.entries.append(intent)
        self.entries += [self.scribe.result(intent, answer, NOW) for answer in answers]
        return intent

    def notes(self, what: NoteKind, subject: str = "", why: str = "") -> None:
        self.entries.append(self.scribe.note(what, NOW, subject, why))

    @property
    def journal(self) -> JournalEntries:
        return JournalEntries(tuple(self.entries))


def test_what_each_answer_leaves_behind() -> None:
    story = Story()
    granted = story.does(Evict(a_pod("a")), OK)
    gone = story.does(Evict(a_pod("b")), NOT_FOUND)
    story.does(Evict(a_pod("c")), BUDGET)
    lost = story.does(Evict(a_pod("d")), LostResponse("reset"))
    broken = story.does(Evict(a_pod("e")), BROKEN)
    unanswered = story.does(Evict(a_pod("f")))
    stands = replay_journals(story.journal)
    assert [change.intent for change in stands.granted] == [granted]
    assert [change.intent for change in stands.gone] == [gone]
    assert [change.intent for change in stands.in_doubt] == [lost, broken, unanswered]
    assert stands.dropped == () and stands.next_number == len(story.entries)
    assert stands.leader == "ada@desk" and stands.started == story.entries[0]


def test_a_doubt_ends_when_somebody_looked() -> None:
    story = Story()
    lost = story.does(Evict(a_pod("d")), LostResponse("reset"))
    story.entries.append(story.scribe.observed_result(lost, IntentOutcome.DONE, NOW, "it is leaving"))
    stands = replay_journals(story.journal)
    assert not stands.in_doubt and [change.intent for change in stands.granted] == [lost]


def test_what_is_sure_stays_and_a_contradiction_is_said() -> None:
    story = Story()
    granted = story.does(Evict(a_pod("d")), OK, LostResponse("a late answer"), BUDGET)
    stands = replay_journals(story.journal)
    assert [change.intent for change in stands.granted] == [granted]
    assert stands.dropped == ("entry 4 says refused of entry 1, which is done already",)


def test_nodes_that_may_be_cordoned_by_us() -> None:
    story = Story()
    story.does(Cordon("a", "1"), OK, before="{}")
    story.does(Cordon("b", "2"), LostResponse("reset"), before='{"x":1}')
    story.does(Cordon("c", "3"), REFUSED)
    story.does(Cordon("d", "4"), OK)
    story.does(Restore("d", "4"), OK)
    story.does(Cordon("e", "5"), OK)
    story.does(Restore("e", "5"), LostResponse("reset"))
    story.does(Cordon("f", "6"), NOT_FOUND)
    assert replay_journals(story.journal).cordoned == (
        CordonedNode("a", "1", True, "{}"),
        CordonedNode("b", "2", False, '{"x":1}'),
        CordonedNode("e", "5", True, ""),
    )


def test_a_second_cordon_does_not_hide_how_the_node_was() -> None:
    story = Story()
    story.does(Cordon("a", "1"), LostResponse("reset"), before="as it was")
    story.does(Cordon("a", "1"), OK, before="cordoned, by us")
    assert replay_journals(story.journal).cordoned == (CordonedNode("a", "1", True, "as it was"),)


def test_notes_change_where_the_run_stands() -> None:
    story = Story()
    phases = []
    for what in (
        NoteKind.PAUSED,
        NoteKind.RESUMED,
        NoteKind.ABORTED,
        NoteKind.ENDED,
        NoteKind.ADOPTED,
        NoteKind.RESUMED,
    ):
        story.notes(what, "eve@lab", "partial")
        phases.append(replay_journals(story.journal).phase)
    ended = RunPhase.ENDED
    assert phases == [RunPhase.PAUSED, RunPhase.RUNNING, RunPhase.ABORTED, ended, RunPhase.ABORTED, RunPhase.RUNNING]
    story.notes(NoteKind.LEFT_ALONE, "old-0")
    story.notes(NoteKind.NODE_DONE, "old-0")
    story.notes(NoteKind.LOST, "old-1")
    stands = replay_journals(story.journal)
    assert stands.leader == "eve@lab" and stands.ended is None
    assert stands.nodes == {"old-0": NoteKind.NODE_DONE, "old-1": NoteKind.LOST}


def a_long_story() -> Story:
    story = Story()
    for name in ("a", "b", "c"):
        story.does(Cordon(name, f"uid-{name}"), OK)
    for number, answer in enumerate((OK, BUDGET, LostResponse("x"), NOT_FOUND, OK)):
        story.does(Evict(a_pod(f"p{number}")), answer)
    story.does(Evict(a_pod("last")))
    story.notes(NoteKind.NODE_DONE, "a")
    story.notes(NoteKind.PAUSED)
    story.notes(NoteKind.RESUMED)
    return story


@pytest.mark.parametrize("seed", range(20))
def test_order_and_copies_change_nothing(seed: int) -> None:
    story = a_long_story()
    shuffled = list(story.entries) * 2
    random.Random(seed).shuffle(shuffled)
    assert replay_journals(JournalEntries(tuple(shuffled))) == replay_journals(story.journal)


def test_every_beginning_of_a_journal_stands() -> None:
    """Later entries never remove an intent."""
    entries = a_long_story().entries
    for length in range(len(entries) + 1):
        stands = replay_journals(JournalEntries(tuple(entries[:length])))
        assert stands.dropped == () and stands.next_number == length
        intents = [each for each in entries[:length] if isinstance(each, IntentEntry)]
        assert [change.intent for change in stands.changes] == intents


def test_a_gap_is_said() -> None:
    entries = a_long_story().entries
    del entries[3], entries[6:8]
    assert replay_journals(JournalEntries(tuple(entries))).dropped[:2] == (
        "entry 3 is missing",
        "entries 7 to 8 are missing",
    )


def test_the_same_number_twice_leaves_both_in_doubt() -> None:
    """Two machines wrote at once: it is unknown which of the two was answered."""
    here, there = Story(), Story()
    one, two = here.does(Evict(a_pod("one")), OK), there.does(Evict(a_pod("two")))
    stands = replay_journals(here.journal, there.journal)
    assert [change.intent for change in stands.in_doubt] == [one, two]
    assert stands.dropped == ("entry 1 is there twice with different contents: two wrote at once",)


def test_an_answer_to_nothing_and_a_second_beginning_are_said() -> None:
    story = Story()
    story.entries.append(story.scribe.result(IntentEntry(77, NOW, Verb.EVICT, "Pod", "x", "u"), OK, NOW))
    story.entries.append(a_beginning(story.scribe))
    assert replay_journals(story.journal).dropped == (
        "entry 2 begins the run a second time",
        "entry 1 answers entry 77, which is no intent",
    )


def test_copies_are_completed_from_each_other() -> None:
    story = a_long_story()
    short = JournalEntries(tuple(story.entries[:4]))
    assert missing_entries(story.journal, short) == tuple(story.entries[4:])
    assert missing_entries(short, story.journal) == ()
    assert replay_journals(short, story.journal) == replay_journals(story.journal)


def test_long_words_are_cut() -> None:
    scribe = JournalWriter()
    intent = scribe.intent(Cordon("a", "1"), NOW)
    result = scribe.result(intent, ApiStatus(403, message="x" * 10_000), NOW + timedelta(seconds=1))
    assert len(result.said) == MAX_MESSAGE_LENGTH and result.trouble == "right" and result.code == 403


def test_a_note_under_the_number_of_an_intent_takes_nothing_from_either() -> None:
    here, there = Story(), Story()
    intent = here.does(Evict(a_pod("one")), OK)
    there.notes(NoteKind.ADOPTED, "eve@lab")
    stands = replay_journals(there.journal, here.journal)
    assert [change.intent for change in stands.granted] == [intent] and stands.leader == "eve@lab"


POD: Pod = a_pod("db-0", node="old-0")
OK_ACCOUNT, NO = ApiStatus(200), ApiStatus(403, "Forbidden", "no")
RESTART = Restart("shop", "web", "uid-web", "Deployment", POD)


def journal(*done: tuple[ClusterChange, ApiStatus | LostResponse]) -> list[JournalEntry]:
    scribe = JournalWriter()
    aims = (JournaledNode("old-0", "uid-old-0"),)
    begun = scribe.run_started(
        "r1", NOW, plan="d", tool="0", user="me", host="here", leader="here", planned_nodes=aims, arguments=()
    )
    entries: list[JournalEntry] = [begun]
    for act, answer in done:
        intent = scribe.intent(act, NOW)
        entries += [intent, scribe.result(intent, answer, NOW)]
    return entries


@pytest.mark.parametrize(
    ("act", "answer", "what", "subject"),
    [
        (Cordon("old-0", "u"), OK_ACCOUNT, DrainEventKind.CORDONED, "old-0"),
        (Cordon("old-0", "u"), NO, DrainEventKind.REFUSED, "old-0"),
        (Exclude("old-0", "u"), OK_ACCOUNT, DrainEventKind.EXCLUDED, "old-0"),
        (Protect("new-0", "u"), OK_ACCOUNT, DrainEventKind.PROTECTED, "new-0"),
        (Protect("new-0", "u"), NO, DrainEventKind.WARNED, "new-0"),
        (Release("new-0", "u"), OK_ACCOUNT, DrainEventKind.UNPROTECTED, "new-0"),
        (Evict(POD), ApiStatus(201), DrainEventKind.EVICTED, POD.key),
        (Evict(POD), NO, DrainEventKind.REFUSED, POD.key),
        (Delete(POD), OK_ACCOUNT, DrainEventKind.DELETED, POD.key),
        (Delete(POD), NO, DrainEventKind.REFUSED, POD.key),
        (RESTART, OK_ACCOUNT, DrainEventKind.RESTARTED, "Deployment shop/web"),
        (RESTART, NO, DrainEventKind.REFUSED, "Deployment shop/web"),
    ],
)
def test_a_change_is_told(act: ClusterChange, answer: ApiStatus, what: DrainEventKind, subject: str) -> None:
    ((moment, _),) = journal_events(journal((act, answer)))
    assert (moment.what, moment.subject) == (what, subject)
    assert moment.why == ("no" if answer is NO else "")


def test_what_nobody_knows_is_not_told() -> None:
    assert not list(journal_events(journal((Delete(POD), LostResponse("cut")), (RESTART, LostResponse("cut")))))


def test_a_node_counts_all_that_was_asked_of_its_pods() -> None:
    done = (
        (Evict(POD), ApiStatus(201)),
        (Delete(POD), OK_ACCOUNT),
        (RESTART, OK_ACCOUNT),
        (RESTART, NO),
        (Delete(POD), LostResponse("cut")),
    )
    (node,) = node_summaries(replay_journals(JournalEntries(tuple(journal(*done)))))
    assert (node.state, node.granted, node.gone, node.refused, node.in_doubt) == ("draining", 3, 0, 1, 1)


AT = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)
BEGUN = RunStarted(0, AT, "r1", "p", "1", "ann", "here", "ann@here/1/r1/x")


ABORTED, PAUSED, ENDED = NoteKind.ABORTED, NoteKind.PAUSED, NoteKind.ENDED
TOLD = (ABORTED, "", TERMINATED)


@pytest.mark.parametrize(
    ("notes", "wanted", "expected"),
    [
        ([], "", ContinueRun()),
        ([(NoteKind.ADOPTED, "pod-2", "")], "", ContinueRun()),
        ([TOLD], "", ContinueRun()),
        ([TOLD, (ENDED, "", TERMINATED)], "", ContinueRun()),
        ([(ENDED, "", "not enough room")], "", RunEnded("not enough room")),
        ([(ENDED, "", DONE)], "", RunEnded(DONE, is_complete=True)),
        ([(ENDED, "", ROLLED_BACK)], "", RunEnded(ROLLED_BACK)),
        ([(ENDED, "", "no room"), (NoteKind.RESUMED, "", "")], "", ContinueRun()),
        ([], "paused", ContinueRun("paused", "ben@x")),
        ([(ENDED, "", TERMINATED)], "aborted", ContinueRun("aborted", "ben@x")),
        ([(PAUSED, "eve", ""), (NoteKind.RESUMED, "eve", "")], "running", ContinueRun()),
        ([(PAUSED, "eve", "")], "", ContinueRun("paused", "eve")),
        ([(ABORTED, "eve", "")], "", ContinueRun("aborted", "eve")),
    ],
)
def test_a_killed_run_goes_on_unless_somebody_or_a_guard_ended_it(notes: Any, wanted: str, expected: object) -> None:
    """Notes with subject and reason, and the requests since then."""
    entries: list[JournalEntry] = [BEGUN, *(NoteEntry(number, AT, *note) for number, note in enumerate(notes, 1))]
    found = JournalEntries(tuple(entries))
    run = RunSummary("r1", AT, RunPhase.RUNNING.value, "ann@here", AT, "", wanted, "ben@x" if wanted else "")
    assert restart_decision(run, found, replay_journals(found)) == expected
