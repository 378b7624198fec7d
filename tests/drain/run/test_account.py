"""What a journal tells of a run afterwards: each change by its kind, and each node by what was asked of its pods."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.run.account import nodes_of, told_by
from kubectl_eksdoc.drain.run.journal import JournalWriter, replay
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.model.acts import (
    Change,
    Cordon,
    Delete,
    Evict,
    Exclude,
    Protect,
    Release,
    Restart,
)
from kubectl_eksdoc.model.journal import Entries, Entry, JournaledNode
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import NOW, a_pod

POD: Pod = a_pod("db-0", node="old-0")
OK, NO = ApiStatus(200), ApiStatus(403, "Forbidden", "no")
RESTART = Restart("shop", "web", "uid-web", "Deployment", POD)


def journal(*done: tuple[Change, ApiStatus | LostAnswer]) -> list[Entry]:
    scribe = JournalWriter()
    aims = (JournaledNode("old-0", "uid-old-0"),)
    begun = scribe.begun("r1", NOW, plan="d", tool="0", who="me", host="here", leader="here", aims=aims, asked=())
    entries: list[Entry] = [begun]
    for act, answer in done:
        intent = scribe.intent(act, NOW)
        entries += [intent, scribe.result(intent, answer, NOW)]
    return entries


@pytest.mark.parametrize(
    ("act", "answer", "what", "subject"),
    [
        (Cordon("old-0", "u"), OK, Happened.CORDONED, "old-0"),
        (Cordon("old-0", "u"), NO, Happened.REFUSED, "old-0"),
        (Exclude("old-0", "u"), OK, Happened.EXCLUDED, "old-0"),
        (Protect("new-0", "u"), OK, Happened.PROTECTED, "new-0"),
        (Protect("new-0", "u"), NO, Happened.WARNED, "new-0"),
        (Release("new-0", "u"), OK, Happened.UNPROTECTED, "new-0"),
        (Evict(POD), ApiStatus(201), Happened.EVICTED, POD.key),
        (Evict(POD), NO, Happened.REFUSED, POD.key),
        (Delete(POD), OK, Happened.DELETED, POD.key),
        (Delete(POD), NO, Happened.REFUSED, POD.key),
        (RESTART, OK, Happened.RESTARTED, "Deployment shop/web"),
        (RESTART, NO, Happened.REFUSED, "Deployment shop/web"),
    ],
)
def test_a_change_is_told(act: Change, answer: ApiStatus, what: Happened, subject: str) -> None:
    ((moment, _),) = told_by(journal((act, answer)))
    assert (moment.what, moment.subject) == (what, subject)
    assert moment.why == ("no" if answer is NO else "")


def test_what_nobody_knows_is_not_told() -> None:
    assert not list(told_by(journal((Delete(POD), LostAnswer("cut")), (RESTART, LostAnswer("cut")))))


def test_a_node_counts_all_that_was_asked_of_its_pods() -> None:
    done = (
        (Evict(POD), ApiStatus(201)),
        (Delete(POD), OK),
        (RESTART, OK),
        (RESTART, NO),
        (Delete(POD), LostAnswer("cut")),
    )
    (node,) = nodes_of(replay(Entries(tuple(journal(*done)))))
    assert (node.state, node.granted, node.gone, node.refused, node.in_doubt) == ("draining", 3, 0, 1, 1)
