"""What becomes of nodes and pods by what was answered to the acts of a run."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.drain.run.acting import VolumeDetaching
from kubectl_eksdoc.drain.run.answers import ACCEPTED, error_of, meaning
from kubectl_eksdoc.drain.run.asking import EvictionRequests
from kubectl_eksdoc.drain.run.balancers import Excluding
from kubectl_eksdoc.drain.run.board import DrainedNode, DrainRunState, NodePhase
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.drain.run.patience import alarm, said_of
from kubectl_eksdoc.drain.run.pursuits import PodPursuit, PodStep
from kubectl_eksdoc.drain.run.replacements import Protecting
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.news import AttachedVolumes, PodsFound, RequestAnswered
from kubectl_eksdoc.model.acts import (
    Cordon,
    Delete,
    Evict,
    Exclude,
    ListPods,
    Look,
    OfPod,
    Protect,
    Release,
    Restart,
)
from kubectl_eksdoc.model.pods import Pod
from kubectl_eksdoc.model.quantities import in_words

LOOK_S = 90.0
"""A look that fails takes a minute of tries, and the pause behind it."""

CORDON_TRIES = 5
"""So often a cordon is refused as such, and not by chance, until the node is left alone."""

PATIENT = 2
"""So many times as long as errors may stop the whole drain they are borne of one node's cordon."""


class Replies:
    """Mutable by its parts. `blocked_s`: so long pods that should not be on an empty node are waited for, and a cordon
    of which nothing comes; `failing_s`: so long a server that only answers with errors is asked."""

    def __init__(
        self,
        board: DrainRunState,
        asking: EvictionRequests,
        excluding: Excluding,
        detaching: VolumeDetaching,
        protecting: Protecting,
        blocked_s: float,
        failing_s: float,
    ) -> None:
        self._board = board
        self._asking = asking
        self._excluding = excluding
        self._detaching = detaching
        self._protecting = protecting
        self._blocked_s = blocked_s
        self._failing_s = failing_s

    def take(self, news: RequestAnswered | PodsFound | AttachedVolumes, now_s: float) -> None:
        board = self._board
        match news:
            case RequestAnswered(Cordon(name), answer):
                self._cordon(board.nodes[name], answer, now_s)
            case RequestAnswered(Evict() | Restart() | Delete() as act, answer):
                self._pod(board.pursuits[act.pod.uid], act, answer, now_s)
            case PodsFound(Look(pod), pods):
                self._found(board.pursuits[pod.uid], next(iter(pods), None), now_s)
            case RequestAnswered(Look(pod), answer):
                self._not_found(board.pursuits[pod.uid], said_of(answer), now_s)
            case RequestAnswered(ListPods(name), answer):
                self._not_listed(board.nodes[name], said_of(answer), now_s)
            case PodsFound(ListPods(name), pods):
                self._listed(board.nodes[name], pods, now_s)
            case RequestAnswered(Exclude() as act, answer):
                self._excluding.answered(act, answer, now_s)
            case RequestAnswered(Protect() | Release() as act, answer):
                self._protecting.answered(act, answer, now_s)
            case AttachedVolumes():
                self._detaching.take(news, now_s)

    def _cordon(self, node: DrainedNode, answer: ApiStatus | LostAnswer, now_s: float) -> None:
        """Its success is not believed: the node is begun when it is seen unschedulable."""
        node.asked, node.answered, node.since_s = False, True, now_s
        self._board.stir((node.name,))
        node.unseen_s = now_s if node.unseen_s is None else node.unseen_s
        if isinstance(answer, ApiStatus) and answer.ok:
            if now_s - node.unseen_s >= self._blocked_s:
                so_long = in_words(self._blocked_s)
                self._board.leave_alone(node, now_s, f"its cordon is accepted, and not seen on it for {so_long}")
            return
        said = said_of(answer)
        self._board.tell(now_s, Happened.REFUSED, node.name, why=said)
        if self._is_hopeless(node, answer, now_s):
            self._board.leave_alone(node, now_s, f"it cannot be cordoned: {said}")

    def _is_hopeless(self, node: DrainedNode, answer: ApiStatus | LostAnswer, now_s: float) -> bool:
        """Whether this answer to its cordon was one too many. Errors of the server, where others have them too, stop
        the whole drain before they are too many for one node."""
        if error_of(answer):
            node.failing_s = now_s if node.failing_s is None else node.failing_s
            return now_s - node.failing_s >= PATIENT * self._failing_s
        node.failing_s = None
        if isinstance(answer, ApiStatus) and answer.code not in (409, 429):
            node.tries += 1
        return node.tries >= CORDON_TRIES or (node.unseen_s is not None and now_s - node.unseen_s >= self._blocked_s)

    def _pod(self, pursuit: PodPursuit, act: OfPod, answer: ApiStatus | LostAnswer, now_s: float) -> None:
        eviction, before = pursuit.eviction, pursuit.step
        reading = meaning(act, answer)
        pursuit.answered(reading, now_s)
        self._asking.answered(reading, now_s)
        if pursuit.step in (PodStep.WAITING, PodStep.KEPT):
            self._board.stir(self._asking.free(pursuit))
            self._asking.refused(pursuit, now_s)
            self._board.tell(now_s, Happened.REFUSED, pursuit.pod.key, eviction.node, pursuit.said or reading.said)
        elif isinstance(answer, ApiStatus) and answer.ok:
            self._asking.goes(pursuit, now_s)
            self._board.tell(now_s, ACCEPTED[eviction.manner.means], pursuit.pod.key, eviction.node)
        if not (pursuit.over or pursuit.alarmed) and (why := alarm(pursuit, now_s, self._blocked_s)):
            pursuit.alarmed = True
            self._board.tell(now_s, Happened.WARNED, pursuit.pod.key, eviction.node, why)
        self._board.tell_pod(pursuit, before, now_s)
        self._board.stir((eviction.node,))

    def _found(self, pursuit: PodPursuit, pod: Pod | None, now_s: float) -> None:
        before = pursuit.step
        pursuit.found(pod, self._board.seen, now_s)
        if pursuit.step is PodStep.WAITING and before is not PodStep.WAITING:
            self._board.stir(self._asking.free(pursuit))
            self._asking.refused(pursuit, now_s)
        self._board.tell_pod(pursuit, before, now_s)
        self._board.stir((pursuit.eviction.node,))

    def _not_found(self, pursuit: PodPursuit, said: str, now_s: float) -> None:
        """It is looked at again, and is nobody's to wait for when that fails for too long."""
        before = pursuit.step
        pursuit.not_found(said, self._looks, now_s)
        if pursuit.step is PodStep.KEPT:
            self._board.stir(self._asking.free(pursuit))
        self._board.tell_pod(pursuit, before, now_s)
        self._board.stir((pursuit.eviction.node,))

    def _not_listed(self, node: DrainedNode, said: str, now_s: float) -> None:
        node.asked, node.since_s = False, now_s
        node.unlisted += 1
        self._board.stir((node.name,))
        if node.phase is NodePhase.EMPTY and node.unlisted >= self._looks:
            self._board.leave_alone(node, now_s, f"which pods are on it cannot be listed: {said}")

    @property
    def _looks(self) -> int:
        """So many that failed are too many: each takes a minute."""
        return max(2, int(self._blocked_s / LOOK_S))

    def _listed(self, node: DrainedNode, pods: Sequence[Pod], now_s: float) -> None:
        node.asked, node.since_s, node.unlisted = False, now_s, 0
        self._board.stir((node.name,))
        if node.phase is not NodePhase.EMPTY:
            return
        strange = sorted(pod.key for pod in pods if node.is_strange(pod))
        node.listed = 0 if strange else node.listed + 1
        if strange and now_s - node.empty_s >= self._blocked_s:
            node.held += tuple(strange)
            self._board.leave_alone(node, now_s, f"still on it: {', '.join(strange)}")
        if node.listed == 2 and not self._detaching.begin(node, pods, now_s):
            self._board.end(node, NodePhase.DONE, now_s)
            self._board.tell(now_s, Happened.DONE, node.name)
