"""Give back what a run changed of nodes, and nothing else: each becomes what it was before. Pods do not move back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.drain.run.account import noted_of, to_give_back
from kubectl_eksdoc.drain.run.journal import Cordoned, JournalWriter, Protected, is_another
from kubectl_eksdoc.flows.run.running import RunEnvironment
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.news import RequestAnswered
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.acts import ReleaseNode, Restore
from kubectl_eksdoc.model.journal import ROLLED_BACK, JournalNote, RunPhase
from kubectl_eksdoc.session.ports import ClusterReader

Back = Restore | ReleaseNode

TRIES = 5
"""So often a node is asked for while its answer tells nothing, or another writer was faster."""

WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class RolledBack:
    """`released`: nodes that are not protected from autoscalers any more. `left`: nodes that could not be given back
    or released, each with the reason."""

    restored: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)


def roll_back(run: str, running: RunEnvironment, reader: ClusterReader, *, removed: bool = False) -> RolledBack:
    """Adopt the run, so that nobody goes on with it, and give its nodes back one after the other: those of its journal,
    and whatever other node carries its notes. `removed`: it has no journal any more.

    Raises:
        UsageError: there is no such run.
        ClusterError: the nodes cannot be read.
        LockLost, JournalError, Unauthorized, Forbidden: at once; what was given back stays so.
    """
    adopt = running.journal.adopt_removed if removed else running.journal.adopt
    journaled = adopt(run, running.clock.now())
    scribe = JournalWriter(journaled.next_number)
    left: dict[str, str] = {}
    cordoned, protected = to_give_back(journaled, noted_of(reader.read((kinds.NODES,)).nodes, run))
    restored = _all(map(_restore, cordoned), left, scribe, running)
    released = _all(map(_release, protected), left, scribe, running)
    running.journal.write([scribe.note(JournalNote.ENDED, running.clock.now(), why=ROLLED_BACK)])
    running.journal.tell(RunPhase.ENDED, ROLLED_BACK)
    return RolledBack(restored, released, left)


def _restore(cordoned: Cordoned) -> Restore:
    return Restore(cordoned.node, cordoned.uid, not cordoned.theirs)


def _release(protected: Protected) -> ReleaseNode:
    return ReleaseNode(protected.node, protected.uid)


def _all(acts: Iterable[Back], left: dict[str, str], scribe: JournalWriter, running: RunEnvironment) -> tuple[str, ...]:
    """The nodes that are what they were; the others go to `left`."""
    done = []
    for act in acts:
        if why := _give_back(act, scribe, running):
            left[act.node] = f"{left[act.node]}; {why}" if act.node in left else why
        else:
            done.append(act.node)
    return tuple(done)


def _give_back(act: Back, scribe: JournalWriter, running: RunEnvironment) -> str:
    """Why it is not what it was; "" if it is, or is gone."""
    answer: ApiStatus | LostAnswer = LostAnswer("no request was sent")
    for _ in range(TRIES):
        intent = scribe.intent(act, running.clock.now())
        running.journal.write([intent])
        answer = _answer_to(act, running)
        running.journal.write([scribe.result(intent, answer, running.clock.now())])
        if isinstance(answer, ApiStatus) and (answer.ok or answer.code == 404 or is_another(answer)):
            return ""
        if isinstance(answer, ApiStatus) and answer.code < 500 and answer.code not in (409, 429):
            break
    return answer.said if isinstance(answer, LostAnswer) else answer.message


def _answer_to(act: Back, running: RunEnvironment) -> ApiStatus | LostAnswer:
    running.lock.must_be_held()
    running.field.do(act)
    while True:
        for news in running.field.news(WAIT_S):
            if isinstance(news, RequestAnswered) and type(news.act) is type(act) and news.act == act:
                return news.answer
