"""Makes the entries of a run's journal from what it does: numbers them, and says in plain words what came of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeGuard

from kubectl_eksdoc.core.model.acts import (
    Change,
    Cordon,
    Delete,
    Errand,
    Evict,
    Exclude,
    Hook,
    ListAttachments,
    ListPods,
    Look,
    OfNode,
    Protect,
    Release,
    Restart,
    Restore,
)
from kubectl_eksdoc.core.model.journal import Aim, Begun, Cause, Intent, Note, Noted, Outcome, Result, Timed, Verb
from kubectl_eksdoc.core.plan.drain.duration.estimate import Estimate
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.core.run.answers import Next, Trouble, read

LONGEST_SAID = 2000
"""Characters of a server's words that are kept: some webhooks tell whole pages."""

_VERBS: Mapping[type[OfNode], Verb] = {
    Cordon: Verb.CORDON,
    Exclude: Verb.EXCLUDE,
    Restore: Verb.RESTORE,
    Protect: Verb.PROTECT,
    Release: Verb.RELEASE,
}

_OUTCOMES = {Next.LEAVES: Outcome.DONE, Next.GONE: Outcome.GONE, Next.LOOK: Outcome.UNKNOWN}


class Scribe:
    """Mutable: counts on from `next_number` (0 for a new run, `Journaled.next_number` for one that goes on)."""

    def __init__(self, next_number: int = 0) -> None:
        self.next_number = next_number

    def begun(
        self,
        run: str,
        at: datetime,
        *,
        plan: str,
        tool: str,
        who: str,
        host: str,
        leader: str,
        aims: tuple[Aim, ...],
        asked: tuple[str, ...],
        skipped: tuple[Aim, ...] = (),
        estimate: Estimate | None = None,
        cluster: str = "",
    ) -> Begun:
        p50_s, p95_s, bound_s = _predicted(estimate) if estimate is not None else (None, None, None)
        number, predicted = self._number(), (p50_s, p95_s, bound_s)
        return Begun(number, at, run, plan, tool, who, host, leader, aims, asked, skipped, *predicted, cluster)

    def intent(self, act: Change, at: datetime, before: str = "") -> Intent:
        """`before`: how a node is before its cordon."""
        number = self._number()
        match act:
            case Evict(pod, grace_s):
                return Intent(number, at, Verb.EVICT, "Pod", pod.name, pod.uid, pod.namespace, pod.node, grace_s)
            case Restart(namespace, name, uid, kind, pod):
                return Intent(number, at, Verb.RESTART, kind, name, uid, namespace, pod.node)
            case Delete(pod):
                return Intent(number, at, Verb.DELETE, "Pod", pod.name, pod.uid, pod.namespace, pod.node)
            case _:
                return Intent(number, at, _VERBS[type(act)], "Node", act.node, act.uid, before=before)

    def result(self, of: Intent, answer: Status | Lost, at: datetime) -> Result:
        outcome, trouble = _judged(of.verb, answer)
        code = answer.code if isinstance(answer, Status) else 0
        said = answer.message if isinstance(answer, Status) else answer.said
        word = "" if trouble is Trouble.NONE else trouble.value
        return Result(self._number(), at, of.number, outcome, code, word, said[:LONGEST_SAID])

    def found(self, of: Intent, outcome: Outcome, at: datetime, said: str = "") -> Result:
        """What was seen of an intent that was in doubt."""
        return Result(self._number(), at, of.number, outcome, said=said[:LONGEST_SAID])

    def note(self, what: Noted, at: datetime, subject: str = "", why: str = "") -> Note:
        return Note(self._number(), at, what, subject, why[:LONGEST_SAID])

    def timed(self, at: datetime, took_s: float, estimate: Estimate, causes: Mapping[Cause, float]) -> Timed:
        p50_s, p95_s, bound_s = _predicted(estimate)
        rounded = tuple((cause, round(seconds, 3)) for cause, seconds in causes.items())
        return Timed(self._number(), at, round(took_s, 3), p50_s, p95_s, bound_s, rounded)

    def stopped(self, template: str, seconds: Iterable[float], at: datetime) -> Note:
        """How long pods of one template took."""
        return self.note(Noted.STOPPED, at, template, " ".join(f"{each:.1f}" for each in seconds))

    def _number(self) -> int:
        self.next_number += 1
        return self.next_number - 1


def changes_something(act: Errand) -> TypeGuard[Change]:
    """Whether an act has to be written down before it is done."""
    return not isinstance(act, (Look, ListPods, ListAttachments, Hook))


def is_another(answer: Status) -> bool:
    """Whether another node has its name by now: that one is nobody's but its own."""
    return answer.code == 409 and "UID in the precondition" in answer.message


def aims_of(plan: DrainPlan) -> tuple[Aim, ...]:
    """The nodes that a plan drains, in its order."""
    drained = sorted((target for target in plan.targets if target.order), key=lambda each: each.order)
    return tuple(Aim(target.node.name, target.node.uid, target.wave) for target in drained)


def skipped_by(plan: DrainPlan) -> tuple[Aim, ...]:
    """The nodes that a plan cordons and does not drain."""
    return tuple(Aim(target.node.name, target.node.uid) for target in plan.cordoned_only)


def _judged(verb: Verb, answer: Status | Lost) -> tuple[Outcome, Trouble]:
    if verb in (Verb.EVICT, Verb.DELETE):
        reading = read(answer)
        return _OUTCOMES.get(reading.next, Outcome.REFUSED), reading.trouble
    if isinstance(answer, Lost) or answer.code >= 500:
        return Outcome.UNKNOWN, Trouble.SERVER
    if 200 <= answer.code < 300:
        return Outcome.DONE, Trouble.NONE
    if answer.code == 404 or is_another(answer):
        return Outcome.GONE, Trouble.NONE
    return Outcome.REFUSED, _TROUBLES.get(answer.code, Trouble.REQUEST)


_TROUBLES = {401: Trouble.RIGHT, 403: Trouble.RIGHT, 409: Trouble.CONTENTION, 429: Trouble.THROTTLED}


def _predicted(estimate: Estimate) -> tuple[float, float, float | None]:
    """p50, p95 and the lower bound."""
    bound_s = round(estimate.least[0].seconds, 3) if estimate.least else None
    return round(estimate.p50_s, 3), round(estimate.p95_s, 3), bound_s
