"""Where every node and pod of a run stands, what has happened to them, and which of them are to be looked at again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kubectl_eksdoc.core.plan.drain.outcome import Target
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.run.moments import Happened, Moment
from kubectl_eksdoc.core.run.nodes import DrainedNode, Phase
from kubectl_eksdoc.core.run.pursuits import Pursuit, Step
from kubectl_eksdoc.core.run.seen import Seen
from kubectl_eksdoc.core.run.timers import Timers

THE_RUN = "the drain"


class Board:
    """Mutable: what the parts of an engine have in common; it decides nothing. `nodes` by name, in the plan's order,
    those behind them that are only cordoned, the targets `skipped` when the run began among these;
    `pursuits` by UID; `timers` of nodes; `may_begin`: whether a node may have become the next one."""

    def __init__(self, plan: DrainPlan, seen: Seen, skipped: Iterable[Target] = ()) -> None:
        self.seen = seen
        self.nodes = _nodes_of(plan, skipped)
        self.pursuits = {uid: pursuit for node in self.nodes.values() for uid, pursuit in node.pursuits.items()}
        self.timers = Timers()
        self.may_begin = False
        self.moments: list[Moment] = []
        self._rank = {name: place for place, name in enumerate(self.nodes)}
        self._stirred = set(self.nodes)

    @property
    def drained(self) -> list[DrainedNode]:
        """Without those that are only cordoned."""
        return [node for node in self.nodes.values() if not node.cordon_only]

    # What is new

    @property
    def is_stirred(self) -> bool:
        return bool(self._stirred)

    def stir(self, names: Iterable[str]) -> None:
        """Something is new about these nodes; others than the run's are none of its business."""
        self._stirred.update(name for name in names if name in self.nodes)

    def stir_all(self) -> None:
        self._stirred.update(self.nodes)

    def stir_pod(self, uid: str) -> None:
        if uid in self.pursuits:
            self.stir((self.pursuits[uid].eviction.node,))

    def stirred(self) -> list[DrainedNode]:
        """The nodes about which something is new, in the plan's order; they are forgotten."""
        found = [self.nodes[name] for name in sorted(self._stirred, key=self._rank.__getitem__)]
        self._stirred = set()
        return found

    # What has happened

    def tell(self, at_s: float, what: Happened, subject: str = THE_RUN, node: str = "", why: str = "") -> None:
        self.moments.append(Moment(at_s, what, subject, node, why))

    def tell_pod(self, pursuit: Pursuit, before: Step, now_s: float) -> None:
        """If it has come to an end since it was at `before`."""
        told = {Step.GONE: Happened.GONE, Step.KEPT: Happened.KEPT}
        if pursuit.step is not before and pursuit.step in told:
            what = Happened.FINISHED if pursuit.finished else told[pursuit.step]
            self.tell(now_s, what, pursuit.pod.key, pursuit.eviction.node, pursuit.said)

    def end(self, node: DrainedNode, phase: Phase, now_s: float) -> None:
        node.to(phase, now_s)
        self.may_begin = True

    def leave_alone(self, node: DrainedNode, now_s: float, why: str) -> None:
        self.end(node, Phase.LEFT_ALONE, now_s)
        self.tell(now_s, Happened.LEFT_ALONE, node.name, why=why)


def _nodes_of(plan: DrainPlan, skipped: Iterable[Target]) -> dict[str, DrainedNode]:
    going: dict[str, dict[str, Pursuit]] = defaultdict(dict)
    for eviction in sorted(plan.evictions, key=lambda each: each.position):
        going[eviction.node][eviction.pod.uid] = Pursuit(eviction)
    stays: dict[str, set[str]] = defaultdict(set)
    for left in plan.left:
        stays[left.node].add(left.pod.uid)
    targets = (*(target for target in plan.targets if target.order), *plan.cordoned_only, *skipped)
    return {t.node.name: DrainedNode(t, going[t.node.name], frozenset(stays[t.node.name])) for t in targets}
