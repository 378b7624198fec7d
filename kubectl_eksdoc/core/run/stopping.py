"""Pods that stop for longer than their grace period, or do not begin to on a node that somebody else empties: they are
not waited for for ever.

A finalizer that nobody takes away, or a kubelet that does not answer, keeps a pod's object for good. What its budget
counts for it stays counted, here as on the server.
"""

from __future__ import annotations

from math import inf

from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.core.rules.foreign_drains import foreign_drain
from kubectl_eksdoc.core.run.board import Board
from kubectl_eksdoc.core.run.moments import Happened
from kubectl_eksdoc.core.run.nodes import DrainedNode, Phase
from kubectl_eksdoc.core.run.pursuits import Pursuit, Step

LATE_S = 60.0
"""So long after its grace period a pod that is still there counts as late: a kubelet needs seconds."""


class Stopping:
    """Mutable by its parts. `blocked_s`: so long after it was told that a pod is late it is given up."""

    def __init__(self, board: Board, policy: DrainPolicy, blocked_s: float) -> None:
        self._board = board
        self._policy = policy
        self._blocked_s = blocked_s

    def look(self, node: DrainedNode, now_s: float) -> None:
        if node.over:
            return
        for pursuit in node.pursuits.values():
            pod = self._board.seen.pod(pursuit.pod.uid) if pursuit.step is Step.LEAVING else None
            if pod is not None:
                self._look_at(pursuit, pod, now_s)

    def next_s(self, node: DrainedNode, now_s: float) -> float:
        """When a pod of it is late, or too late, or it is abandoned; infinity where none can be."""
        if node.over:
            return inf
        if (ends_s := self._abandoned_s(node)) != inf:
            return ends_s
        leaving = (p for p in node.pursuits.values() if p.step is Step.LEAVING)
        times = (p.ends_s + LATE_S + (self._blocked_s if p.late else 0.0) for p in leaving)
        return min((each for each in times if each > now_s), default=inf)

    def is_abandoned(self, node: DrainedNode, now_s: float) -> bool:
        """Whether somebody else should empty it, and none of its pods has begun to go for too long."""
        return now_s >= self._abandoned_s(node)

    def _abandoned_s(self, node: DrainedNode) -> float:
        steps = {pursuit.step for pursuit in node.pursuits.values()}
        if node.phase is not Phase.GOING or node.empty or Step.LEAVING in steps:
            return inf
        gone_s = (pursuit.since_s for pursuit in node.pursuits.values() if pursuit.step is Step.GONE)
        return max([node.since_s, *gone_s]) + self._blocked_s

    def why_abandoned(self, node: DrainedNode) -> str:
        there = self._board.seen.nodes.get(node.name)
        foreign = foreign_drain(there) if there is not None else None
        who = "it is not in the cluster any more" if there is None else "whoever was draining it is not any more"
        who = foreign.said if foreign is not None else who
        return f"{who}, and none of its pods has gone for {in_words(self._blocked_s)}"

    def _look_at(self, pursuit: Pursuit, pod: Pod, now_s: float) -> None:
        if pursuit.ends_s == inf:
            pursuit.ends_s = self._ends_s(pursuit, pod)
        if now_s >= pursuit.ends_s + LATE_S:
            pursuit.said = _holder(pod)
            if not pursuit.late:
                pursuit.late = True
                why = why_late(pursuit, now_s)
                self._board.tell(now_s, Happened.WARNED, pod.key, pursuit.eviction.node, why)
        if now_s >= pursuit.ends_s + LATE_S + self._blocked_s:
            pursuit.said = why_late(pursuit, now_s)
            pursuit.keep(pursuit.said, now_s)
            self._board.tell_pod(pursuit, Step.LEAVING, now_s)

    def _ends_s(self, pursuit: Pursuit, pod: Pod) -> float:
        """When its grace period is over: by what it is given, and by its deadline where somebody gave it more."""
        ends_s = pursuit.since_s + self._policy.grace_of(pod)
        if pod.deletion_deadline is not None:
            ends_s = max(ends_s, (pod.deletion_deadline - self._board.seen.first.observed_at).total_seconds())
        return ends_s


def why_late(pursuit: Pursuit, now_s: float) -> str:
    """Of a pod that is late, as a clause."""
    so_long = f"has been stopping for {in_words(now_s - pursuit.since_s)}"
    return f"{so_long}, {in_words(now_s - pursuit.ends_s)} longer than its grace period: {pursuit.said}"


def is_stuck(node: DrainedNode) -> bool:
    """Whether somebody else empties it, and one of its pods was given up: nobody waits for it any more."""
    return node.phase is Phase.GOING and any(pursuit.late for pursuit in node.kept)


def _holder(pod: Pod) -> str:
    if not pod.finalizers:
        return "its kubelet holds it"
    several = len(pod.finalizers) > 1
    return f"the finalizer{'s' if several else ''} {', '.join(pod.finalizers)} {'hold' if several else 'holds'} it"
