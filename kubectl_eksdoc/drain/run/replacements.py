"""Replacements of evicted pods: which pods they are, and onto which nodes they were scheduled. Also the protection of
nodes from autoscalers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.drain_filters import foreign_drain
from kubectl_eksdoc.kubernetes.replacement import comes_back_to_its_node
from kubectl_eksdoc.model.actions import Protect, Release
from kubectl_eksdoc.model.nodes import PROTECTIONS, Node, NodeOwner, Pod

from ..outcome import Eviction
from ..result import DrainPlan
from .answers import made_for
from .events import Happened
from .pod_evictions import ObservedState
from .stall_timeouts import (
    AGAIN_S,
    TRIES,
    TryResult,
    came_of,
    may_be_done,
    said_of,
)
from .state import DrainRunState


class ReplacementTimes(NamedTuple):
    """When a replacement was first observed, with a node, and Ready, in seconds since the run started; `owner`: its
    owner's UID."""

    owner: str
    since_s: float
    scheduled_s: float | None = None
    ready_s: float | None = None


class Replacements:
    """Mutable. `nodes`: the node of each replacement by UID, including replacements that are gone. `arrivals` likewise,
    in the order in which they were observed."""

    def __init__(self, evictions: Iterable[Eviction], seen: ObservedState) -> None:
        self.nodes: dict[str, str] = {}
        self.arrivals: dict[str, ReplacementTimes] = {}
        self._owners: set[str] = set()  # UIDs of owners whose pods are replaced
        self._restarted: set[tuple[str, str]] = set()  # namespace and name of workloads that create new ReplicaSets
        self.were_unready: Counter[str] = Counter()  # by owner: number of evicted pods that were not Ready
        self._known = {pod.uid for pod in seen.pods()}
        self.expect(evictions)

    def expect(self, evictions: Iterable[Eviction]) -> None:
        """Add evictions: new pods of their owners are replacements from now on."""
        for each in evictions:
            if each.pod.owner is not None:
                self._owners.add(each.pod.owner.uid)
                self.were_unready[each.pod.owner.uid] += not each.pod.ready
            if each.manner.restarts is not None:
                self._restarted.add((each.pod.namespace, each.manner.restarts.name))

    def __contains__(self, pod: Pod) -> bool:
        """Whether it replaces an evicted pod: it has the same owner, or belongs to a new ReplicaSet of a restarted
        workload."""
        if pod.uid in self._known or pod.owner is None:
            return False
        return pod.owner.uid in self._owners or (pod.namespace, made_for(pod.owner)) in self._restarted

    def see(self, pod: Pod, now_s: float) -> bool:
        """Record a pod if it is a replacement: its node, and its times. Returns whether it is one."""
        if pod not in self or pod.owner is None:
            return False
        if pod.node:
            self.nodes[pod.uid] = pod.node
        known = self.arrivals.get(pod.uid) or ReplacementTimes(pod.owner.uid, now_s)
        if known.scheduled_s is None and pod.node:
            known = known._replace(scheduled_s=now_s)
        if known.ready_s is None and pod.ready:
            known = known._replace(ready_s=now_s)
        self.arrivals[pod.uid] = known
        return True


# Protection of nodes from autoscalers while a run needs them.
#
# The Cluster Autoscaler and Karpenter remove nodes that are empty or hardly used; new nodes of a drain are empty until
# the pods are scheduled onto them. Sources: kubernetes/autoscaler cluster-autoscaler/FAQ.md ("How can I prevent Cluster
# Autoscaler from scaling down a particular node?"), karpenter.sh/docs/concepts/disruption (node-level controls).


JOINED = "it joined meanwhile, and evicted pods must be scheduled onto it"
EMPTY = (
    "it was empty when the run began: an autoscaler would remove it first, and evicted pods must be scheduled onto it"
)

_NEVER_REMOVED = (NodeOwner.FARGATE, NodeOwner.HYBRID)
"""A Fargate node exists as long as its pod; a hybrid node is a machine of the user."""


def why_protected(node: Node, known: bool, empty: bool) -> str:
    """Return why no autoscaler may remove this node, which is not a target; "" if one may. `existed`: it existed when
    the run started; `was_empty`: it was empty then."""
    if node.unschedulable or node.deletion_at is not None or foreign_drain(node) or node.owner in _NEVER_REMOVED:
        return ""
    if not known:
        return JOINED
    return EMPTY if empty else ""


class _Step(Enum):
    WANTED = "wanted"
    HELD = "held"
    RELEASING = "releasing"
    OVER = "over"


class _Protection:
    """Mutable. `may_be_protected`: this run may have protected it; `pending`: a request is in flight."""

    __slots__ = ("asked", "may_stand", "node", "not_before_s", "step", "tries", "uid", "why")

    def __init__(self, node: str, uid: str, why: str) -> None:
        self.node = node
        self.uid = uid
        self.why = why
        self.asked = self.may_stand = False
        self.to(_Step.WANTED)

    @property
    def over(self) -> bool:
        """Whether the node has no protection of this run, and will get none without a new request."""
        return self.step is _Step.OVER or (self.step is _Step.WANTED and not self.asked and not self.may_stand)

    def to(self, step: _Step) -> None:
        self.step = step
        self.tries, self.not_before_s = 0, 0.0

    def failed(self, now_s: float) -> bool:
        """Count a failed attempt; return whether there were too many."""
        self.tries, self.not_before_s = self.tries + 1, now_s + AGAIN_S
        return self.tries >= TRIES


class Protecting:
    """Mutable. Protects the nodes it observes and releases them when the run is over; a refusal stops nothing."""

    def __init__(self, plan: DrainPlan, board: DrainRunState) -> None:
        self._board = board
        self._targets = {target.node.uid for target in plan.targets}
        self._targets |= {node.target.node.uid for node in board.nodes.values()}
        used = {pod.node for pod in board.seen.pods() if _holds(pod)}
        self._empty = {node.uid: node.name not in used for node in board.seen.nodes.values()}  # by UID, of all nodes
        self._nodes: dict[str, _Protection] = {}  # by UID
        self._refused = False
        self.see(board.seen.nodes.values())

    @property
    def over(self) -> bool:
        """Whether no node is protected by this run, as far as this run can change that."""
        return all(each.over for each in self._nodes.values())

    def see(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node.uid not in self._targets and node.uid not in self._nodes:
                why = why_protected(node, node.uid in self._empty, self._empty.get(node.uid, False))
                if why:
                    self._nodes[node.uid] = _Protection(node.name, node.uid, why)

    def stands(self, node: str, uid: str, surely: bool) -> None:
        """Record that the earlier process protected this node, or may have."""
        protection = self._nodes.setdefault(uid, _Protection(node, uid, "it was when the run was left"))
        protection.may_stand = True
        if surely:
            protection.to(_Step.HELD)

    def acts(self, now_s: float, over: bool) -> Iterator[Protect | Release]:
        """Yield the due requests. `run_ended`: the run has ended except for the releases."""
        for each in self._nodes.values():
            if over and each.step in (_Step.WANTED, _Step.HELD) and not each.asked:
                each.to(_Step.RELEASING if each.may_stand else _Step.OVER)
            if each.asked or now_s < each.not_before_s:
                continue
            if each.step is _Step.WANTED and not self._refused:
                each.asked = True
                yield Protect(each.node, each.uid)
            elif each.step is _Step.RELEASING:
                each.asked = True
                yield Release(each.node, each.uid)

    def next_s(self) -> float:
        """When a request is repeated; infinity if none is."""
        steps = (_Step.RELEASING,) if self._refused else (_Step.WANTED, _Step.RELEASING)
        waiting = (each for each in self._nodes.values() if each.step in steps and not each.asked)
        return min((each.not_before_s for each in waiting), default=inf)

    def answered(self, act: Protect | Release, answer: ApiStatus | LostAnswer, now_s: float) -> None:
        each = self._nodes[act.uid]
        each.asked = False
        if isinstance(act, Protect):
            came = came_of(answer)
            each.may_stand = each.may_stand or came is TryResult.DONE or may_be_done(answer)
            if came is TryResult.DONE:
                each.to(_Step.HELD)
                self._board.tell(now_s, Happened.PROTECTED, each.node, why=each.why)
            elif came is TryResult.GONE:
                each.to(_Step.OVER)
            elif came is TryResult.REFUSED or each.failed(now_s):
                each.to(_Step.HELD if each.may_stand else _Step.OVER)
                self._warn_unprotected(each, came, said_of(answer), now_s)
        else:
            self._released(each, answer, now_s)

    def _warn_unprotected(self, each: _Protection, came: TryResult, said: str, now_s: float) -> None:
        """Warn that a node is not protected; about missing permissions once for all nodes."""
        if came is not TryResult.FORBIDDEN:
            self._board.tell(now_s, Happened.WARNED, each.node, why=f"an autoscaler may remove it meanwhile: {said}")
        elif not self._refused:
            self._refused = True
            self._board.tell(now_s, Happened.WARNED, why=f"new nodes are not protected from autoscalers: {said}")

    def _released(self, each: _Protection, answer: ApiStatus | LostAnswer, now_s: float) -> None:
        came = came_of(answer)
        if came is TryResult.DONE:
            self._board.tell(now_s, Happened.UNPROTECTED, each.node)
        if came in (TryResult.DONE, TryResult.GONE):
            each.to(_Step.OVER)
        elif came is TryResult.REFUSED or each.failed(now_s):
            each.to(_Step.OVER)
            remedy = f"kubectl annotate node {each.node} {' '.join(f'{key}-' for key in PROTECTIONS)}"
            why = f"it stays protected from autoscalers: {said_of(answer)}; to end that: {remedy}"
            self._board.tell(now_s, Happened.WARNED, each.node, why=why)


def _holds(pod: Pod) -> bool:
    """Whether the pod makes its node non-empty for an autoscaler; DaemonSet pods and static pods do not."""
    return not (pod.mirror or pod.finished or comes_back_to_its_node(pod))
