"""Observe a cluster during any client's drain, by the cluster's own time and objects."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from kubectl_eksdoc.embedded.serving.requests import Reply, RequestHandler, ServedRequest
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange, StoreChangeKind

PODS, NODES, BUDGETS = kinds.PODS.full_name, kinds.NODES.full_name, kinds.BUDGETS.full_name
UNSCHEDULED_S = 2.0
"""A pod that has no node for longer found no room at first."""


@dataclass(frozen=True, slots=True)
class Half:
    """A partly drained node: how many of its pods are gone, and how many remain."""

    node: str
    gone: int
    left: int


class Watched:
    """Observes the cluster from its creation on. Times are seconds of the cluster's clock. Mutable.

    `cordoned_s`: when the first node was cordoned; `gone_s`: when the last evicted pod was gone; `evicted`: by UID how
    often each was marked as evicted; `unscheduled`: by ns/name, the time without a node of each pod that had none for
    longer than `UNSCHEDULED_S`; `lags_s`: from the moment a pod became Ready until its budget's status showed it.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._first = {item.uid: _node_of(item.doc) for item in plane.store.list(PODS) if _counts(item.doc)}
        self._left = dict(self._first)
        self._waiting: dict[str, tuple[str, float]] = {}  # by UID, the name and the start of the time without a node
        self._unseen: dict[tuple[str, str], float] = {}  # by budget (its app's name), since when a pod is Ready unseen
        self.cordoned_s: float | None = None
        self.gone_s = 0.0
        self.evicted: Counter[str] = Counter()
        self.unscheduled: dict[str, float] = {}
        self.lags_s: list[float] = []
        self.overdrawn: list[str] = []
        plane.store.listen(self._note)

    @property
    def took_s(self) -> float:
        """From the first cordon until the last evicted pod was gone."""
        assert self.cordoned_s is not None
        return self.gone_s - self.cordoned_s

    @property
    def lag_s(self) -> float:
        """The typical lag of the disruption controller."""
        return median(self.lags_s)

    @property
    def again(self) -> list[str]:
        """UIDs of pods that were evicted twice, or that replaced an evicted pod and were evicted."""
        return [uid for uid, times in self.evicted.items() if times > 1 or uid not in self._first]

    @property
    def pending(self) -> list[str]:
        """Pods (ns/name) without a node now."""
        return sorted(name for name, _ in self._waiting.values())

    def empty(self) -> list[str]:
        """Nodes that had pods at first and are now cordoned and empty of them."""
        return sorted(set(self._first.values()) - set(self._left.values()))

    def half(self) -> list[Half]:
        """Nodes of which some pods are gone and some are not."""
        first, left = Counter(self._first.values()), Counter(self._left.values())
        return [Half(node, first[node] - left[node], left[node]) for node in sorted(left) if left[node] < first[node]]

    def settled(self) -> None:
        """Add the pods that still have no node."""
        for name, since_s in self._waiting.values():
            self._had_none(name, since_s)

    def _note(self, change: StoreChange) -> None:
        resource, doc = change.item.resource, change.item.doc
        if resource == NODES:
            if self.cordoned_s is None and nested_field(doc, "spec", "unschedulable"):
                self.cordoned_s = self._now_s
        elif resource == BUDGETS:
            self._budget(change)
        elif resource == PODS and _counts(doc):
            self._pod(change)

    @property
    def _now_s(self) -> float:
        return self._plane.virtual_time.seconds

    def _pod(self, change: StoreChange) -> None:
        item, doc = change.item, change.item.doc
        if change.change_kind is StoreChangeKind.DELETED:
            self._waiting.pop(item.uid, None)
            if item.uid in self.evicted:
                self.gone_s = self._now_s
            self._left.pop(item.uid, None)
            return
        before = change.before.doc if change.before is not None else {}
        if _is(doc, "DisruptionTarget") and not _is(before, "DisruptionTarget"):
            self.evicted[item.uid] += 1
        if _is(doc, "Ready") and not _is(before, "Ready"):
            self._unseen.setdefault((item.key[0], str(nested_field(doc, "metadata", "labels", "app"))), self._now_s)
        if _node_of(doc):
            name, since_s = self._waiting.pop(item.uid, ("", self._now_s))
            self._had_none(name, since_s)
        else:
            self._waiting.setdefault(item.uid, ("/".join(item.key), self._now_s))

    def _had_none(self, name: str, since_s: float) -> None:
        if self._now_s - since_s > UNSCHEDULED_S:
            self.unscheduled[name] = self._now_s - since_s

    def _budget(self, change: StoreChange) -> None:
        status = change.item.doc.get("status") or {}
        before = nested_field(change.before.doc, "status") or {} if change.before is not None else {}
        if status.get("disruptionsAllowed", 0) < 0:
            self.overdrawn.append("/".join(change.item.key))
        if status.get("currentHealthy", 0) > before.get("currentHealthy", 0) and change.item.key in self._unseen:
            self.lags_s.append(self._now_s - self._unseen.pop(change.item.key))


def _is(doc: Doc, condition: str) -> bool:
    found = nested_field(doc, "status", "conditions") or ()
    return any(each["type"] == condition and each["status"] == "True" for each in found)


def _node_of(doc: Doc) -> str:
    return str(nested_field(doc, "spec", "nodeName") or "")


def _counts(doc: Doc) -> bool:
    """Whether the pod counts: pods of agents stay on their nodes."""
    return not any(each["kind"] == "DaemonSet" for each in nested_field(doc, "metadata", "ownerReferences") or ())


class Counted:
    """An API wrapper that counts evictions by response code."""

    def __init__(self, api: RequestHandler) -> None:
        self._api = api
        self.answers: Counter[int] = Counter()

    def handle(self, request: ServedRequest) -> Reply:
        reply = self._api.handle(request)
        if request.method == "POST" and request.path.endswith("/eviction") and not request.dry_run:
            self.answers[reply.status] += 1
        return reply

    @property
    def refused(self) -> int:
        return self.answers.total() - self.answers[201]

    @property
    def refused_share(self) -> float:
        return self.refused / max(1, self.answers.total())
