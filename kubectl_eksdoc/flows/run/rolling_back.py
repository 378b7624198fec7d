"""Give back what a run cordoned, and nothing else: each node becomes what it was before. Pods do not move back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.acts import Restore
from kubectl_eksdoc.core.model.journal import ROLLED_BACK, Noted, Phase
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.core.rules.news import Answered
from kubectl_eksdoc.core.run.journal import Cordoned
from kubectl_eksdoc.core.run.scribe import Scribe
from kubectl_eksdoc.flows.run.running import Running

TRIES = 5
"""So often a node is asked for while its answer tells nothing, or another writer was faster."""

WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class RolledBack:
    """`left`: nodes that could not be given back, each with the reason."""

    restored: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)


def roll_back(run: str, running: Running) -> RolledBack:
    """Adopt the run, so that nobody goes on with it, and give its nodes back one after the other.

    Raises:
        UsageError: there is no such run.
        LockLost, JournalError, Unauthorized, Forbidden: at once; what was given back stays so.
    """
    journaled = running.journal.adopt(run, running.clock.now())
    scribe = Scribe(journaled.next_number)
    restored, left = [], {}
    for cordoned in journaled.cordoned:
        why = _give_back(cordoned, scribe, running)
        if why:
            left[cordoned.node] = why
        else:
            restored.append(cordoned.node)
    running.journal.write([scribe.note(Noted.ENDED, running.clock.now(), why=ROLLED_BACK)])
    running.journal.tell(Phase.ENDED, ROLLED_BACK)
    return RolledBack(tuple(restored), left)


def _give_back(cordoned: Cordoned, scribe: Scribe, running: Running) -> str:
    """Why it is not what it was; "" if it is, or is gone."""
    act = Restore(cordoned.node, cordoned.uid)
    answer: Status | Lost = Lost("nobody was asked")
    for _ in range(TRIES):
        intent = scribe.intent(act, running.clock.now())
        running.journal.write([intent])
        answer = _answer_to(act, running)
        running.journal.write([scribe.result(intent, answer, running.clock.now())])
        if isinstance(answer, Status) and (answer.ok or answer.code == 404 or _is_another(answer)):
            return ""
        if isinstance(answer, Status) and answer.code < 500 and answer.code not in (409, 429):
            break
    return answer.said if isinstance(answer, Lost) else answer.message


def _is_another(answer: Status) -> bool:
    """Another node has its name by now: that one is nobody's but its own."""
    return answer.code == 409 and "UID in the precondition" in answer.message


def _answer_to(act: Restore, running: Running) -> Status | Lost:
    running.lock.must_be_held()
    running.field.do(act)
    while True:
        for news in running.field.news(WAIT_S):
            if isinstance(news, Answered) and news.act == act:
                return news.answer
