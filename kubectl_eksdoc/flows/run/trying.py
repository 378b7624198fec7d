"""Ask the API server what it would say to the first of a plan, and change nothing.

Only to the first: each eviction of a dry run is judged as if it were the only one, so that later ones prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubectl_eksdoc.core.model.acts import Cordon, OfPod
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.core.run.answers import Next
from kubectl_eksdoc.core.run.means import act_for, meaning
from kubectl_eksdoc.flows.ports import Trial

MOST = 200
"""So many evictions are asked for at the most."""


class Refused(NamedTuple):
    """`subject`: a node, or a pod (ns/name)."""

    subject: str
    why: str


class Tried(NamedTuple):
    """`asked`: so many questions; `refused`: those of them that the server would not do."""

    asked: int
    refused: tuple[Refused, ...]


def try_first(plan: DrainPlan, trial: Trial) -> Tried:
    """All cordons and the first round, but for pods that may end by themselves first."""
    refused, asked = [], 0
    for subject, act in _first(plan):
        asked += 1
        if why := _refusal(act, trial.would(act)):
            refused.append(Refused(subject, why))
    return Tried(asked, tuple(refused))


def _first(plan: DrainPlan) -> Iterator[tuple[str, Cordon | OfPod]]:
    for target in plan.targets:
        if target.order or target.cordon_only:
            yield target.node.name, Cordon(target.node.name, target.node.uid)
    first = [eviction for eviction in plan.evictions if eviction.round == 1 and not eviction.manner.waits_s]
    for eviction in sorted(first, key=lambda each: each.position)[:MOST]:
        yield eviction.pod.key, act_for(eviction, plan.policy.grace_seconds)


def _refusal(act: Cordon | OfPod, answer: Status | Lost) -> str:
    """Empty if it would be done, or there is nothing to do any more."""
    if isinstance(answer, Lost):
        return answer.said
    if not isinstance(act, Cordon):
        reading = meaning(act, answer)
        return "" if reading.next in (Next.LEAVES, Next.GONE) else reading.said or answer.message
    return "" if 200 <= answer.code < 300 else answer.message
