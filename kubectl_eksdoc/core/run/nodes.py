"""One node that is drained, or only cordoned: where it stands, and the pods of it that have to go."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from math import inf

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.outcome import Target
from kubectl_eksdoc.core.rules.replacement import comes_back_to_its_node
from kubectl_eksdoc.core.run.pursuits import BELIEVED_S, Pursuit, Step

APART_S = 5.0
"""A node is listed so long after its last pod has gone, and again after that: one may have been on its way to it."""


class Phase(Enum):
    """The last three are ends."""

    OPEN = "open"  # not cordoned yet
    CORDONED = "cordoned"  # the end of one that is only cordoned
    ACTIVE = "active"
    EMPTY = "empty"  # seen empty, not listed twice yet
    DETACHING = "detaching"  # listed empty twice, with volumes of its pods still attached
    GOING = "going"  # somebody else empties it, or it is not in the cluster any more: its pods are waited for
    DONE = "done"
    LEFT_ALONE = "left-alone"
    LOST = "lost"


ENDS = frozenset((Phase.DONE, Phase.LEFT_ALONE, Phase.LOST))


class DrainedNode:
    """Mutable. `pursuits` by UID, in the plan's order; `stays`: UIDs of the pods that the plan leaves on it; `held`:
    pods (ns/name) that came later and cannot go.

    `since_s`: when it came to its phase, or was listed or cordoned last; `empty_s`: when all that was asked for had
    gone; `listed`: so often it was found empty, `unlisted`: so often in a row nobody could list what is on it;
    `answered`: its cordon was, and is asked for again after a time, `tries`: so often it was refused as such,
    `failing_s`: since when only with errors of the server, `unseen_s`: since when without being seen
    cordoned; `asked`: a cordon or a list is under way; `looked_s`: when its attached volumes were listed last.
    """

    def __init__(self, target: Target, pursuits: dict[str, Pursuit], stays: frozenset[str]) -> None:
        self.target = target
        self.pursuits = pursuits
        self.stays = stays
        self.held: tuple[str, ...] = ()
        self.phase = Phase.OPEN
        self.since_s = 0.0
        self.empty_s = 0.0
        self.looked_s = -inf
        self.listed = 0
        self.unlisted = 0
        self.answered = False
        self.tries = 0
        self.failing_s: float | None = None
        self.unseen_s: float | None = None
        self.asked = False

    @property
    def name(self) -> str:
        return self.target.node.name

    @property
    def cordon_only(self) -> bool:
        """Whether nothing is evicted from it."""
        return self.target.cordon_only

    @property
    def over(self) -> bool:
        return self.phase in ENDS or (self.cordon_only and self.phase is Phase.CORDONED)

    @property
    def empty(self) -> bool:
        return all(pursuit.over for pursuit in self.pursuits.values())

    @property
    def kept(self) -> list[Pursuit]:
        return [pursuit for pursuit in self.pursuits.values() if pursuit.step is Step.KEPT]

    @property
    def left(self) -> tuple[str, ...]:
        """The pods (ns/name) that have not gone."""
        return (*(p.pod.key for p in self.pursuits.values() if p.step is not Step.GONE), *self.held)

    def to(self, phase: Phase, now_s: float) -> None:
        self.phase, self.since_s = phase, now_s
        if phase is Phase.ACTIVE:
            for pursuit in self.pursuits.values():
                pursuit.begin(now_s)

    def turn(self) -> Iterator[Pursuit]:
        """The pods that may be asked for: those waiting of the first tier of which not all are gone."""
        left = [p for p in self.pursuits.values() if not p.over]
        tier = min((p.eviction.tier for p in left), default=0)
        return (p for p in left if p.eviction.tier == tier and p.step is Step.WAITING)

    def is_strange(self, pod: Pod) -> bool:
        """Whether a pod should not be on this node once it is empty: one that came, or one that has not gone yet."""
        if pod.mirror or comes_back_to_its_node(pod):
            return False
        return pod.deleting or not (pod.uid in self.stays or pod.finished)

    def is_unknown(self, pod: Pod) -> bool:
        """Whether a pod on this node is none of the plan's, and would have to be: it came later."""
        return self.is_strange(pod) and not pod.deleting and pod.uid not in self.pursuits

    def next_s(self, now_s: float) -> float:
        """When there is something to do for it though nothing is told; infinity where there is not."""
        if self.over:
            return inf
        times = [self.since_s + APART_S] if self.phase in (Phase.OPEN, Phase.EMPTY) else []
        if self.phase is Phase.ACTIVE:
            for pursuit in self.pursuits.values():
                if pursuit.step is Step.ACCEPTED:
                    times.append(pursuit.since_s + BELIEVED_S)
                elif pursuit.step is Step.REPLACED:
                    times.append(pursuit.since_s + pursuit.replaced_s)
                elif pursuit.step in (Step.WAITING, Step.IN_DOUBT):
                    times.append(pursuit.not_before_s)
        return min((each for each in times if each > now_s), default=inf)
