"""A drain that is under way: everything that can be done now, of everything that was seen.

All targets are cordoned first, those that are not drained too, and a node is begun when all were seen cordoned, when
its wave has come and when the new nodes are there that it needs (`waves`). Of begun nodes a pod is asked for when its
limits have room; what a budget refuses waits for a word of that budget, nothing is polled (`actions`,
`eviction_requests`). For
pods that come to a node meanwhile a new plan is wanted (`other_drains`). A node is done when it was listed empty twice
(`observed`, `answers`). It decides, and does nothing itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf

from kubectl_eksdoc.kubernetes.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    AttachedVolumes,
    BudgetGone,
    BudgetIs,
    HookEnded,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
    PodsFound,
    RequestAnswered,
)
from kubectl_eksdoc.model.actions import Errand
from kubectl_eksdoc.model.nodes import Pod

from ..outcome import DrainTarget, PodVerdict
from ..result import DrainPlan
from .actions import Excluding, NodeActions, VolumeDetaching
from .events import Happened, RunMoment
from .eviction_requests import EvictionRequests
from .guards import RunGuards, RunHolds, WaveGate
from .limits import ILL_S, SETTLES_S, RunLimits
from .observed import LatePods, Observations, Replies
from .pod_evictions import ObservedState, PodPursuit, PodStep
from .replacements import Protecting, ReplacementTimes
from .stall_timeouts import Stopping
from .state import THE_RUN, DrainedNode, DrainRunState, NodePhase

UNSURE = (PodStep.ASKED, PodStep.ACCEPTED, PodStep.IN_DOUBT)
"""Of a pod in these it is unknown whether it goes."""

GOING = (PodStep.REPLACED, PodStep.LEAVING)
"""Of a pod in these it is known that it goes, whatever this run does."""


class Engine:
    """Mutable. Times are seconds since the run began. Give it news, ask what is to be done, and until when to wait.

    `hooks`: for which moments the user has a command (`BEFORE_WAVE`, `AFTER_WAVE`). `run`: the id that is noted on the
    nodes that it changes, "" where none is. `skipped`: targets of the run that are cordoned and not drained, beside
    those of the plan.
    """

    def __init__(
        self,
        plan: DrainPlan,
        seen: ObservedState,
        limits: RunLimits = RunLimits(),
        hooks: frozenset[str] = frozenset(),
        run: str = "",
        skipped: Sequence[DrainTarget] = (),
    ) -> None:
        self.plan = plan
        self.seen = seen
        self._board = board = DrainRunState(plan, seen, skipped)
        self._brakes = RunHolds(RunGuards(plan, seen, limits), self._tell_of_itself)
        self._asking = asking = EvictionRequests(plan, seen, limits.blocked_s)
        self._excluding = excluding = Excluding(board)
        self._protecting = Protecting(plan, board)
        detaching = VolumeDetaching(board)
        stopping = Stopping(board, plan.policy, limits.blocked_s)
        self._sights = Observations(board, asking, detaching, stopping, plan.policy.partial, run)
        times_s = limits.blocked_s, limits.failing_s
        self._replies = Replies(board, asking, excluding, detaching, self._protecting, *times_s)
        grace_s = plan.policy.grace_seconds
        self._acting = NodeActions(board, asking, excluding, detaching, stopping, self._brakes, grace_s)
        self._strangers = LatePods(board, asking, self._brakes, plan.policy.partial)
        self._waves = WaveGate(board, self._brakes, plan, hooks, limits.soak_s)
        self._ready_s = limits.ready_s
        self._drained_s: float | None = None  # when the last node came to its end
        self._settled = False  # what replaces the last pods is Ready, or not waited for any longer
        self._skipped: list[str] = []
        self._heard = 0  # so many moments `new_moments` has given

    # What goes in

    def take(self, news: News, now_s: float) -> None:
        self.seen.take(news)
        self._brakes.guards.take(news, now_s)
        self._excluding.take(news)
        self._strangers.take(news)
        board = self._board
        match news:
            case PodIs(pod, _):
                board.stir_pod(pod.uid)
                if pod.ready:
                    board.stir(self._asking.ready(pod, now_s))
            case PodGone(uid, _):
                board.stir_pod(uid)
            case BudgetIs(budget, _):
                board.stir(self._asking.moved(budget.key, now_s))
            case BudgetGone(key):
                board.stir(self._asking.moved(key, now_s))
            case NodeIs(node):
                board.stir((node.name,))
                self._protecting.see((node,))
            case NodeGone(name):
                board.stir((name,))
            case AllPods(pods, _):
                for pod, _ in pods:
                    if pod.ready:
                        self._asking.ready(pod, now_s)
                board.stir_all()
            case AllNodes(nodes):
                board.stir_all()
                self._protecting.see(nodes)
            case AllBudgets():
                self._asking.patience.told(now_s)
                board.stir_all()
            case RequestAnswered() | PodsFound() | AttachedVolumes():
                self._replies.take(news, now_s)
            case HookEnded():
                self._waves.take(news, now_s)

    def renewed(self, node: str) -> None:
        """A new node has joined in the place of `node`."""
        self._waves.renewed(node)

    def extend(self, plan: DrainPlan, now_s: float) -> None:
        """A plan made by what is seen now: its `strangers` go as it has it, or stay."""
        self._strangers.extend(plan, now_s)

    def doubt(self, uids: Iterable[str], now_s: float) -> None:
        """These may have been asked for already, by whoever began this run: they are looked at first."""
        for uid in uids:
            pursuit = self._board.pursuits.get(uid)
            if pursuit is not None and pursuit.step is PodStep.WAITING:
                self._asking.ledger.take(pursuit.eviction, now_s)
                pursuit.to(PodStep.IN_DOUBT, now_s)

    def protects(self, node: str, uid: str, surely: bool) -> None:
        """It is protected from autoscalers, or may be, by whoever began this run: it is released with the others."""
        self._protecting.stands(node, uid, surely)

    def awaits(self, pods: Iterable[Pod], now_s: float) -> None:
        """These replace pods that whoever began this run has evicted: what comes next waits for them, too."""
        self._brakes.guards.awaits(pods, now_s)

    def skip(self, node: str, why: str, now_s: float) -> None:
        """A node that should be drained, and is not by this plan."""
        self._skipped.append(node)
        self.tell(now_s, Happened.LEFT_ALONE, node, why=why)

    def leave_alone(self, node: str, why: str, now_s: float) -> None:
        """Nothing more is asked for on it; what leaves already goes. It stays cordoned, and the others go on."""
        found = self._board.nodes.get(node)
        if found is not None and not found.over:
            self._board.leave_alone(found, now_s, why)

    def finish_wave(self, why: str) -> None:
        """Begin no other wave: when the one that is under way is over, stop for this reason. "" takes that back."""
        self._waves.finish(why)

    def pause(self, why: str) -> None:
        """Ask for nothing more for now; "" lets it go on."""
        self._brakes.pause(why)

    def hold(self, why: str, now_s: float, since_s: float | None = None) -> None:
        """It will be asked for nothing for a while, and was not since `since_s`; asked again, it goes on."""
        self._brakes.hold(why, now_s, now_s if since_s is None else since_s)

    def stop(self, why: str, now_s: float) -> None:
        """Ask for nothing more. What is in flight comes to its end by itself."""
        self._brakes.stop(why, now_s)

    def wait_no_longer(self) -> None:
        """For the readiness of replacements."""
        self._ready_s = 0.0

    # What comes out

    def acts(self, now_s: float) -> list[Errand]:
        """All that is to be done now, in this order."""
        board = self._board
        if self._brakes.look(now_s, self._waves.over):
            self._asking.patience.held(self._brakes.held_for_s, now_s)
            board.stir_all()
            self._waves.released()
        self._waves.look(now_s)
        board.stir(board.timers.due(now_s))
        board.stir(self._asking.due(now_s))
        self._excluding.say_what_is_unknown(now_s)
        found: list[Errand] = []
        while board.is_stirred or board.may_begin:
            nodes = board.stirred()
            for node in nodes:
                self._sights.look(node, now_s)
            found += self._acting.acts(nodes, now_s)
            if board.may_begin:
                found += self._waves.begin(now_s)
        self._settle(now_s)
        return [*self._protecting.acts(now_s, over=self._is_at_its_end(now_s)), *found]

    def next_s(self, now_s: float) -> float:
        """When there is something to do though nothing is told; infinity where there is not."""
        parts = self._board.timers.next_s, self._asking.next_s, self._waves.next_s(), self._protecting.next_s()
        ready_s = inf
        if self._drained_s is not None and not self._settled:
            ill_s, last_s = self._waits_s(self._drained_s)
            ready_s = ill_s if now_s < ill_s < last_s else last_s
        return min(*parts, ready_s, self._brakes.next_s(now_s))

    # How it stands

    @property
    def moments(self) -> Sequence[RunMoment]:
        """All that has happened, oldest first."""
        return self._board.moments

    def new_moments(self) -> Sequence[RunMoment]:
        """What has happened since this was asked last."""
        new = self.moments[self._heard :]
        self._heard = len(self.moments)
        return new

    def tell(self, at_s: float, what: Happened, subject: str, node: str = "", why: str = "") -> None:
        """Something happened beside it."""
        self._board.tell(at_s, what, subject, node, why)

    def soaks_left_s(self, now_s: float) -> float:
        """So long it still waits between waves, as far as one knows."""
        return self._waves.soaks_left_s(now_s)

    @property
    def over(self) -> bool:
        """Whether every node has come to an end, what replaces their pods is Ready or waited for no longer, and no
        other node is kept for them any more."""
        return self._waves.over and self._settled and self._protecting.over

    @property
    def drained(self) -> bool:
        """Whether every node has come to an end."""
        return self._waves.over

    @property
    def drained_s(self) -> float | None:
        """When the last one did."""
        return self._drained_s

    @property
    def unready(self) -> tuple[Pod, ...]:
        """Replacements that are not Ready now, with a node or without."""
        return self._brakes.guards.unready

    @property
    def arrivals(self) -> Mapping[str, ReplacementTimes]:
        """When each replacement of a pod that was evicted came, one by one."""
        return self._brakes.guards.replacements.arrivals

    def needs(self, node: str) -> tuple[str, ...]:
        """The nodes in whose place new ones must have joined before it is begun."""
        found = self._board.nodes.get(node)
        return self._waves.needs(found) if found is not None else ()

    def refused_s(self, pursuit: PodPursuit, now_s: float) -> float | None:
        """For so long it has been refused, or there was no room for it; None: it is not."""
        return self._asking.patience.waited_s(pursuit, now_s)

    def _settle(self, now_s: float) -> None:
        if not self._waves.over or self._settled:
            return
        if self._drained_s is None:
            self._drained_s = now_s
        ill_s, last_s = self._waits_s(self._drained_s)
        ill = now_s >= ill_s and not self._brakes.guards.awaits_ready
        self._settled = now_s >= last_s or ill or not self.unready

    def _waits_s(self, drained_s: float) -> tuple[float, float]:
        """Until when it waits for replacements of pods that were not Ready, and of any."""
        return drained_s + ILL_S, drained_s + self._ready_s

    def _is_at_its_end(self, now_s: float) -> bool:
        """But for the nodes that are to be released."""
        return (self._waves.over and self._settled) or self._asks_for_nothing(now_s)

    @property
    def nodes(self) -> Collection[DrainedNode]:
        """Those that are drained, in the plan's order."""
        return self._board.drained

    @property
    def cordoned_only(self) -> tuple[str, ...]:
        """The targets that are not drained and were seen cordoned by this run."""
        nodes = self._board.nodes.values()
        return tuple(node.name for node in nodes if node.cordon_only and node.phase is NodePhase.CORDONED)

    @property
    def held(self) -> str:
        """Why it asks for nothing just now; "" while it may."""
        return self._brakes.held

    @property
    def is_paused(self) -> bool:
        """By somebody who wants it so."""
        return self._brakes.is_paused

    def paused_s(self, now_s: float) -> float:
        """So long it was, in all."""
        return self._brakes.paused_s(now_s)

    @property
    def pending(self) -> tuple[Pod, ...]:
        """Replacements of pods that were evicted, without a node now."""
        return self._brakes.guards.pending

    @property
    def placed(self) -> Mapping[str, int]:
        """So many replacements of pods that were evicted were scheduled onto each node, whatever became of them."""
        return Counter(self._brakes.guards.replacements.nodes.values())

    @property
    def stopped(self) -> str:
        """Why it asks for nothing more; "" while it does."""
        return self._brakes.stopped

    @property
    def evictions_per_second(self) -> float | None:
        """How fast it may ask by now: as the user allows, and less while the server complains; None without a limit."""
        return self._asking.rate

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The pods (ns/name) that were asked for and have not gone: they go whatever this run does."""
        return tuple(p.pod.key for p in self._board.pursuits.values() if p.step in (*UNSURE, *GOING))

    def is_settled(self, now_s: float) -> bool:
        """Whether it was stopped, and what it asked for is gone, or leaves for longer than anybody waits for; and no
        node is kept for it any more."""
        return self._asks_for_nothing(now_s) and self._protecting.over

    def _asks_for_nothing(self, now_s: float) -> bool:
        if not self.stopped or any(p.step in UNSURE for p in self._board.pursuits.values()):
            return False
        return now_s - self._brakes.stopped_s >= SETTLES_S or not self.in_flight

    @property
    def strangers(self) -> Mapping[str, tuple[str, ...]]:
        """Pods (UIDs) that no plan knows, by the node to which they came: a new plan is wanted, see `extend`."""
        return self._strangers.on

    @property
    def remaining(self) -> tuple[str, ...]:
        """Nodes that have not come to an end."""
        return tuple(node.name for node in self._board.drained if not node.over)

    @property
    def undone(self) -> dict[str, tuple[str, ...]]:
        """Nodes of the plan that are there and not done, each with the pods (ns/name) that are left of it."""
        ends = (NodePhase.DONE, NodePhase.LOST)
        left = {node.name: node.left for node in self._board.drained if node.phase not in ends}
        return {**{name: self._on(name) for name in self._skipped}, **left}

    def _on(self, node: str) -> tuple[str, ...]:
        """The pods (ns/name) on a node that would have to go from it, by what was planned."""
        left = (left for left in self.plan.left if left.node == node)
        return tuple(each.pod.key for each in left if each.verdict is not PodVerdict.STAY)

    def _tell_of_itself(self, at_s: float, what: Happened, why: str) -> None:
        self.tell(at_s, what, THE_RUN, why=why)
