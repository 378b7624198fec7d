"""The volumes of the pods that were evicted from a node: it is not done before they are detached from it.

An EBS volume is on one node at a time: until it is off this one its pod starts nowhere else, and a machine that is
terminated with it still attached keeps it for minutes. Volumes of pods that stay are none of a drain's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.news import Attached
from kubectl_eksdoc.core.run.board import APART_S, THE_RUN, Board, DrainedNode, Phase
from kubectl_eksdoc.core.run.moments import Happened
from kubectl_eksdoc.core.run.pursuits import Step

FORCED_S = 360.0
"""After so long the attach-detach controller takes a volume off a node by force, be it still mounted there
(ReconcilerMaxWaitForUnmountDuration, pkg/controller/volume/attachdetach/attach_detach_controller.go)."""


class Detaching:
    """Mutable. Asked of nodes that were found empty as often as they have to be."""

    def __init__(self, board: Board) -> None:
        self._board = board
        cluster = board.seen.first
        self._volumes = {claim.key: claim.volume for claim in cluster.claims if claim.volume}
        self._unread = "; ".join(read.detail for read in cluster.unread(kinds.CLAIMS))
        self._waited: dict[str, set[str]] = {}  # by node, the volumes that were to be detached when it was asked last
        self._off = False

    def begin(self, node: DrainedNode, left: Sequence[Pod], now_s: float) -> bool:
        """Whether there is something to wait for; `left` are the pods that are on it now."""
        gone = [pursuit.pod for pursuit in node.pursuits.values() if pursuit.step is Step.GONE]
        if self._unread and any(_claims(pod) for pod in gone):
            self._give_up(f"persistentvolumeclaims: {self._unread}", now_s)
        volumes = self._of(gone) - self._of(left)
        if self._off or not volumes:
            return False
        self._waited[node.name] = volumes
        node.to(Phase.DETACHING, now_s)
        return True

    def take(self, news: Attached, now_s: float) -> None:
        node = self._board.nodes[news.act.node]
        node.asked, node.looked_s = False, now_s
        self._board.stir((node.name,))
        if news.refused:
            self._give_up(news.unread, now_s)
        elif not news.unread and node.name in self._waited:
            self._waited[node.name] &= set(news.volumes)

    def look(self, node: DrainedNode, now_s: float) -> None:
        """Whether the waiting is over."""
        if node.phase is not Phase.DETACHING:
            return
        volumes = self._waited[node.name]
        if volumes and not self._off and now_s - node.since_s < FORCED_S:
            return
        if volumes and not self._off:
            why = f"still attached to it after {in_words(FORCED_S)}: {', '.join(sorted(volumes))}"
            self._board.tell(now_s, Happened.WARNED, node.name, why=why)
        self._board.end(node, Phase.DONE, now_s)
        self._board.tell(now_s, Happened.DONE, node.name)

    def is_due(self, node: DrainedNode, now_s: float) -> bool:
        """Whether it is time to ask what is attached to it."""
        return node.phase is Phase.DETACHING and not node.asked and now_s >= node.looked_s + APART_S

    def next_s(self, node: DrainedNode) -> float:
        if node.phase is not Phase.DETACHING:
            return inf
        ends_s = node.since_s + FORCED_S
        return ends_s if node.asked else min(ends_s, node.looked_s + APART_S)

    def _of(self, pods: Iterable[Pod]) -> set[str]:
        return {self._volumes[claim] for pod in pods for claim in _claims(pod) if claim in self._volumes}

    def _give_up(self, why: str, now_s: float) -> None:
        if not self._off:
            self._off = True
            said = f"nodes are done without waiting until the volumes of their pods are detached: {why}"
            self._board.tell(now_s, Happened.WARNED, THE_RUN, why=said)
        self._board.stir_all()


def _claims(pod: Pod) -> list[str]:
    return [f"{pod.namespace}/{volume.detail}" for volume in pod.volumes if volume.has_claim]
