"""A drain that is under way: everything that can be done now, of everything that was seen.

All targets are cordoned first, and a node is begun when all were seen cordoned, when its wave has come and when the new
nodes are there that it needs. Of begun nodes a pod is asked for when its limits have room; what a budget refuses waits
for a word of that budget, nothing is polled. A node is done when it was listed empty twice. It decides, and does
nothing itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kubectl_eksdoc.core.model.acts import Act, Cordon, Evict, ListPods, Look
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.core.rules.foreign_drains import foreign_drain
from kubectl_eksdoc.core.rules.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    Answered,
    BudgetGone,
    BudgetIs,
    Found,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
)
from kubectl_eksdoc.core.run.answers import read
from kubectl_eksdoc.core.run.asking import Asking
from kubectl_eksdoc.core.run.brakes import Brakes
from kubectl_eksdoc.core.run.guards import Guards, Limits
from kubectl_eksdoc.core.run.moments import Happened, Moment
from kubectl_eksdoc.core.run.nodes import APART_S, DrainedNode, Phase
from kubectl_eksdoc.core.run.pursuits import Pursuit, Step
from kubectl_eksdoc.core.run.seen import Seen
from kubectl_eksdoc.core.run.timers import Timers

UNSURE = (Step.ASKED, Step.ACCEPTED, Step.IN_DOUBT)
"""Of a pod in these nobody knows whether it goes."""

SETTLES_S = 120.0
"""So long a run that was stopped waits for pods that leave."""

CORDON_TRIES = 5
"""So often a cordon is refused as such, and not by chance, until the node is left alone."""

THE_RUN = "the drain"


class Engine:
    """Mutable. Times are seconds since the run began. Give it news, ask what is to be done, and until when to wait.

    `moments` is all that has happened, oldest first.
    """

    def __init__(self, plan: DrainPlan, seen: Seen, limits: Limits = Limits()) -> None:
        self.plan = plan
        self.seen = seen
        self._limits = limits
        self.moments: list[Moment] = []
        self._heard = 0  # so many of them `new_moments` has given
        self._brakes = Brakes(Guards(plan, seen, limits), self._tell_of_itself)
        self._asking = Asking(plan, seen, limits.blocked_s)
        self._nodes = _nodes_of(plan)
        self._pursuits = {uid: pursuit for node in self._nodes.values() for uid, pursuit in node.pursuits.items()}
        self._skipped: list[str] = []
        self._joined: set[str] = set()  # nodes in whose place new ones are
        self._rank = {name: place for place, name in enumerate(self._nodes)}
        self._stirred = set(self._nodes)  # nodes about which something is new
        self._timers = Timers()  # of nodes
        self._not_begun = list(self._nodes.values())
        self._may_begin = False  # whether a node may have become the next one

    @property
    def over(self) -> bool:
        return all(node.over for node in self._nodes.values())

    @property
    def undone(self) -> dict[str, tuple[str, ...]]:
        """Nodes of the plan that are there and not done, each with the pods (ns/name) that are left of it."""
        ends = (Phase.DONE, Phase.LOST)
        left = {node.name: node.left for node in self._nodes.values() if node.phase not in ends}
        return {**{name: self._on(name) for name in self._skipped}, **left}

    def tell(self, at_s: float, what: Happened, subject: str, node: str = "", why: str = "") -> None:
        """Something happened beside it."""
        self.moments.append(Moment(at_s, what, subject, node, why))

    def new_moments(self) -> Sequence[Moment]:
        """What has happened since this was asked last."""
        new = self.moments[self._heard :]
        self._heard = len(self.moments)
        return new

    def _tell_of_itself(self, at_s: float, what: Happened, why: str) -> None:
        self.tell(at_s, what, THE_RUN, why=why)

    def renewed(self, node: str) -> None:
        """A new node has joined in the place of `node`."""
        self._joined.add(node)
        self._may_begin = True

    @property
    def stopped(self) -> str:
        """Why it asks for nothing more; "" while it does."""
        return self._brakes.stopped

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The pods (ns/name) that were asked for and have not gone: they go whatever this run does."""
        return tuple(p.pod.key for p in self._pursuits.values() if p.step in (*UNSURE, Step.LEAVING))

    def is_settled(self, now_s: float) -> bool:
        """Whether it was stopped, and what it asked for is gone, or leaves for longer than anybody waits for."""
        if not self.stopped or any(p.step in UNSURE for p in self._pursuits.values()):
            return False
        return now_s - self._brakes.stopped_s >= SETTLES_S or not self.in_flight

    def pause(self, why: str) -> None:
        """Ask for nothing more for now; "" lets it go on."""
        self._brakes.pause(why)

    def stop(self, why: str, now_s: float) -> None:
        """Ask for nothing more. What is in flight comes to its end by itself."""
        self._brakes.stop(why, now_s)

    def take(self, news: News, now_s: float) -> None:
        self.seen.take(news)
        self._brakes.take(news, now_s)
        match news:
            case PodIs(pod, _):
                self._stir_pod(pod.uid)
                if pod.ready:
                    self._stirred |= self._asking.ready(pod)
            case PodGone(uid, _):
                self._stir_pod(uid)
            case BudgetIs(budget, _):
                self._stirred |= self._asking.moved(budget.key, now_s)
            case BudgetGone(key):
                self._stirred |= self._asking.moved(key, now_s)
            case NodeIs(node):
                self._stir(node.name)
            case NodeGone(name):
                self._stir(name)
            case AllPods(pods, _):
                for pod, _ in pods:
                    if pod.ready:
                        self._asking.ready(pod)
                self._stir_all()
            case AllBudgets() | AllNodes():
                self._stir_all()
            case Answered(Cordon(name, _), answer):
                self._cordon_answered(self._nodes[name], answer, now_s)
            case Answered(Evict(pod, _), answer):
                self._eviction_answered(self._pursuits[pod.uid], answer, now_s)
            case Found(Look(pod), pods):
                self._found(self._pursuits[pod.uid], next(iter(pods), None), now_s)
            case Found(ListPods(name), pods):
                self._listed(self._nodes[name], pods, now_s)

    def acts(self, now_s: float) -> list[Act]:
        """All that is to be done now, in this order."""
        if self._brakes.look(now_s):
            self._stir_all()
        self._stirred |= {*self._timers.due(now_s), *self._asking.due(now_s)}
        found: list[Act] = []
        while self._stirred or self._may_begin:
            stirred = [self._nodes[name] for name in sorted(self._stirred, key=self._rank.__getitem__)]
            self._stirred = set()
            for node in stirred:
                self._look(node, now_s)
            found += self._cordons(stirred, now_s)
            found += self._evictions(stirred, now_s)
            for node in stirred:
                found += self._reads(node, now_s)
                self._timers.set(node.name, node.next_s(now_s))
            if self._may_begin:
                self._may_begin = False
                self._begin(now_s)
        return found

    def skip(self, node: str, why: str, now_s: float) -> None:
        """A node that should be drained, and is not by this plan."""
        self._skipped.append(node)
        self.tell(now_s, Happened.LEFT_ALONE, node, why=why)

    def _on(self, node: str) -> tuple[str, ...]:
        """The pods (ns/name) on a node that would have to go from it, by what was planned."""
        left = (left for left in self.plan.left if left.node == node)
        return tuple(each.pod.key for each in left if each.verdict is not PodVerdict.STAY)

    def doubt(self, uids: Iterable[str], now_s: float) -> None:
        """These may have been asked for already, by whoever began this run: they are looked at first."""
        for uid in uids:
            pursuit = self._pursuits.get(uid)
            if pursuit is not None and pursuit.step is Step.WAITING:
                self._asking.out(pursuit, now_s)
                pursuit.to(Step.IN_DOUBT, now_s)

    def next_s(self, now_s: float) -> float:
        """When there is something to do though nothing is told; infinity where there is not."""
        return min(self._timers.next_s, self._asking.next_s, self._brakes.next_s(now_s))

    def _stir(self, name: str) -> None:
        if name in self._nodes:
            self._stirred.add(name)

    def _stir_all(self) -> None:
        self._stirred.update(self._nodes)

    def _stir_pod(self, uid: str) -> None:
        if uid in self._pursuits:
            self._stir(self._pursuits[uid].eviction.node)

    # What was seen

    def _look(self, node: DrainedNode, now_s: float) -> None:
        if not node.over:
            self._look_at_itself(node, now_s)
        for pursuit in node.pursuits.values():
            before = pursuit.step
            pursuit.look(self.seen, now_s)
            if before is Step.ACCEPTED and pursuit.step in (Step.WAITING, Step.KEPT):
                self._free(pursuit)
            self._tell(pursuit, before, now_s)
        if node.phase is Phase.GOING and node.empty:
            self._end(node, Phase.LOST, now_s)
        elif node.phase is Phase.ACTIVE and node.kept and not self.plan.policy.partial:
            self._leave_alone(node, now_s, "; ".join(f"{p.pod.key}: {p.said}" for p in node.kept))
        elif node.phase is Phase.ACTIVE and node.empty:
            node.to(Phase.EMPTY, now_s)
            node.empty_s = now_s
            self.tell(now_s, Happened.EMPTY, node.name)

    def _look_at_itself(self, node: DrainedNode, now_s: float) -> None:
        """It may be cordoned now, or in others' hands: then nobody fights for it, and its pods are waited for."""
        if node.phase is Phase.GOING:
            return
        there = self.seen.nodes.get(node.name)
        if there is None or there.uid != node.target.node.uid:
            node.to(Phase.GOING, now_s)
            self.tell(now_s, Happened.LOST, node.name, why="it is not in the cluster any more")
        elif foreign := foreign_drain(there):
            node.to(Phase.GOING, now_s)
            self.tell(now_s, Happened.ADOPTED, node.name, why=f"{foreign.who} is draining it ({foreign.sign})")
        elif node.phase is Phase.OPEN and there.unschedulable:
            node.to(Phase.CORDONED, now_s)
            self._may_begin = True
            self.tell(now_s, Happened.CORDONED, node.name)
        elif node.phase is not Phase.OPEN and not there.unschedulable:
            self._leave_alone(node, now_s, "somebody uncordoned it: it is not cordoned again without being asked")

    def _leave_alone(self, node: DrainedNode, now_s: float, why: str) -> None:
        self._end(node, Phase.LEFT_ALONE, now_s)
        self.tell(now_s, Happened.LEFT_ALONE, node.name, why=why)

    def _end(self, node: DrainedNode, phase: Phase, now_s: float) -> None:
        node.to(phase, now_s)
        self._may_begin = True

    def _tell(self, pursuit: Pursuit, before: Step, now_s: float) -> None:
        told = {Step.GONE: Happened.GONE, Step.KEPT: Happened.KEPT}
        if pursuit.step is not before and pursuit.step in told:
            self.tell(now_s, told[pursuit.step], pursuit.pod.key, pursuit.eviction.node, pursuit.said)

    # What was answered

    def _cordon_answered(self, node: DrainedNode, answer: Status | Lost, now_s: float) -> None:
        """Its success is not believed: the node is begun when it is seen unschedulable."""
        node.asked, node.since_s = False, now_s
        self._stir(node.name)
        if isinstance(answer, Status) and answer.ok:
            return
        said = answer.said if isinstance(answer, Lost) else answer.message
        node.refused = True
        self.tell(now_s, Happened.REFUSED, node.name, why=said)
        if isinstance(answer, Status) and answer.code < 500 and answer.code not in (409, 429):
            node.tries += 1
        if node.tries >= CORDON_TRIES:
            self._leave_alone(node, now_s, f"it cannot be cordoned: {said}")

    def _eviction_answered(self, pursuit: Pursuit, answer: Status | Lost, now_s: float) -> None:
        eviction, before = pursuit.eviction, pursuit.step
        reading = read(answer)
        pursuit.answered(reading, now_s)
        if pursuit.step in (Step.WAITING, Step.KEPT):
            self._free(pursuit)
            self.tell(now_s, Happened.REFUSED, pursuit.pod.key, eviction.node, reading.said)
        elif isinstance(answer, Status) and answer.ok:
            self.tell(now_s, Happened.EVICTED, pursuit.pod.key, eviction.node)
        self._tell(pursuit, before, now_s)
        self._stir(eviction.node)

    def _found(self, pursuit: Pursuit, pod: Pod | None, now_s: float) -> None:
        before = pursuit.step
        pursuit.found(pod, self.seen, now_s)
        if pursuit.step is Step.WAITING and before is not Step.WAITING:
            self._free(pursuit)
        self._tell(pursuit, before, now_s)
        self._stir(pursuit.eviction.node)

    def _free(self, pursuit: Pursuit) -> None:
        """It was not evicted after all."""
        self._stirred |= self._asking.free(pursuit)

    def _listed(self, node: DrainedNode, pods: Sequence[Pod], now_s: float) -> None:
        node.asked, node.since_s = False, now_s
        self._stir(node.name)
        if node.phase is not Phase.EMPTY:
            return
        strange = sorted(pod.key for pod in pods if node.is_strange(pod))
        node.listed = 0 if strange else node.listed + 1
        if strange and now_s - node.empty_s >= self._limits.blocked_s:
            self._leave_alone(node, now_s, f"still on it: {', '.join(strange)}")
        if node.listed == 2:
            self._end(node, Phase.DONE, now_s)
            self.tell(now_s, Happened.DONE, node.name)

    # What is to be done

    def _cordons(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[Act]:
        for node in nodes:
            if self.stopped:
                return
            if node.phase is Phase.OPEN and not node.asked and (not node.refused or now_s >= node.since_s + APART_S):
                node.asked = True
                yield Cordon(node.name, node.target.node.uid)

    def _begin(self, now_s: float) -> None:
        """Nodes are begun when all are cordoned: what is evicted must not land on the next one."""
        waiting = self._not_begun = [n for n in self._not_begun if n.phase in (Phase.OPEN, Phase.CORDONED)]
        if any(node.phase is Phase.OPEN for node in waiting):
            return
        policy = self.plan.policy
        gated = bool(policy.max_unavailable or policy.pins)
        wave = min((n.target.wave for n in self._nodes.values() if not n.over), default=0) if gated else 0
        for node in waiting:
            if (not gated or node.target.wave == wave) and self._joined.issuperset(node.target.needs):
                node.to(Phase.ACTIVE, now_s)
                self.tell(now_s, Happened.BEGUN, node.name)
                self._stir(node.name)

    def _evictions(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[Act]:
        if self._brakes.on:
            return
        waiting = [pursuit for node in nodes if node.phase is Phase.ACTIVE for pursuit in node.turn()]
        for pursuit in self._asking.chosen(waiting, now_s):
            yield Evict(pursuit.pod, self.plan.policy.grace_seconds)
        for pursuit in waiting:
            if pursuit.step is Step.WAITING:
                self._give_up(pursuit, now_s)

    def _give_up(self, pursuit: Pursuit, now_s: float) -> None:
        """Once its limits did not move for too long; its node is left alone then."""
        ends_s = self._asking.gives_up_s(pursuit)
        if now_s < ends_s:
            self._timers.set(pursuit.eviction.node, ends_s)
            return
        pursuit.keep(self._asking.why_kept(pursuit), now_s)
        self._tell(pursuit, Step.WAITING, now_s)
        self._stir(pursuit.eviction.node)

    def _reads(self, node: DrainedNode, now_s: float) -> Iterator[Act]:
        for pursuit in node.pursuits.values():
            if pursuit.step is Step.IN_DOUBT and pursuit.not_before_s <= now_s:
                pursuit.not_before_s = now_s + APART_S
                yield Look(pursuit.pod)
        if node.phase is Phase.EMPTY and not node.asked and now_s >= node.since_s + APART_S:
            node.asked = True
            yield ListPods(node.name)


def _nodes_of(plan: DrainPlan) -> dict[str, DrainedNode]:
    going: dict[str, dict[str, Pursuit]] = defaultdict(dict)
    for eviction in sorted(plan.evictions, key=lambda each: each.position):
        going[eviction.node][eviction.pod.uid] = Pursuit(eviction)
    stays: dict[str, set[str]] = defaultdict(set)
    for left in plan.left:
        stays[left.node].add(left.pod.uid)
    drained = [target for target in plan.targets if target.order]
    return {t.node.name: DrainedNode(t, going[t.node.name], frozenset(stays[t.node.name])) for t in drained}
