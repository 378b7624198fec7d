"""The kubelets: they start pods that are bound to their node, and stop those that are being deleted.

How long both take is given (`KubeletTimes`): nothing in the API tells it before it happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Protocol

from kubectl_eksdoc.kubernetes.evictions import Rejected, rejected
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.registry import PODS, DeleteOptions, FactSource, Registry, condition, with_condition
from kubectl_eksdoc.simulator.store import Key, StoreChange, StoreChangeKind, StoredItem

NODES = kinds.NODES.full_name

NEVER = float("inf")

_WAITING = {"ready": False, "started": False, "imageID": "", "state": {"waiting": {"reason": "ContainerCreating"}}}


class KubeletTimes(Protocol):
    """Seconds. `NEVER` for what does not come to its end."""

    def start_s(self, pod: Pod) -> float:
        """From being bound to a node until Ready."""

    def stop_s(self, pod: Pod) -> float:
        """From deletion until its containers have stopped by themselves; the grace period is the longest it can be."""

    def run_s(self, pod: Pod) -> float:
        """Of a pod that ends by itself (restartPolicy Never or OnFailure): from Ready until it has succeeded."""


def none_is(pod: Pod) -> bool:
    """Of no pod."""
    return False


def every_image(image: str) -> str:
    """Can be pulled."""
    return ""


Pulling = Callable[[str], str]
"""What the runtime says of an image that it cannot pull, "" of one that it can."""


class Kubelets:
    """All of them, as one `Controller` whose keys are pods'. A `stuck` pod does not stop when it is killed, either: its
    containers hang in the kernel, or wait for storage that is gone. On a node of whose kubelet nobody has heard (its
    Ready is Unknown) nothing is done either. A pod that was bound past the scheduler is refused where it does not fit.
    """

    resources = (NODES, PODS)

    def __init__(
        self,
        registry: Registry,
        facts: FactSource,
        pace: KubeletTimes,
        stuck: Callable[[Pod], bool] = none_is,
        pulling: Pulling = every_image,
    ) -> None:
        self._registry = registry
        self._pulling = pulling
        self._facts = facts
        self._pace = pace
        self._stuck = stuck
        self._ends: dict[str, float] = {}  # by uid, when what the kubelet does with it now is done
        self._number = 0

    def touched(self, change: StoreChange) -> Iterable[Key]:
        if change.item.resource == NODES:
            back = change.before is not None and _unheard(change.before.doc) and not _unheard(change.item.doc)
            return self._keys_on(change.item.key[1]) if back else ()
        return self._keys_of(change)

    def _keys_on(self, node: str) -> Iterable[Key]:
        return [pod.key for pod in self._registry.store.list(PODS) if at(pod.doc, "spec", "nodeName") == node]

    def _keys_of(self, change: StoreChange) -> Iterable[Key]:
        if change.what is StoreChangeKind.DELETED:
            self._ends.pop(change.item.uid, None)
            self._ends.pop(_stopping(change.item.uid), None)
            return
        doc = change.item.doc
        if at(doc, "spec", "nodeName") and (change.item.leaving or _starts(doc) or _runs_out(doc)):
            yield change.item.key

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(PODS, key)
        if item is None:
            return None
        node = self._registry.store.get(NODES, ("", str(at(item.doc, "spec", "nodeName"))))
        if node is None or _unheard(node.doc):
            return None  # nobody is there to do it
        if item.leaving:
            return self._stop(item)
        if _starts(item.doc):
            return self._start(item, node)
        return self._run_out(item) if _runs_out(item.doc) else None

    def _left_s(self, what: str, seconds: float) -> float:
        """Seconds until `what`, which takes so many from when it is asked about first, is done."""
        now = self._registry.agenda.seconds
        return self._ends.setdefault(what, now + seconds) - now

    def _start(self, item: StoredItem, node: StoredItem) -> float | None:
        if refused := self._refused(item, node):
            self._registry.update(item, _rejected(item.doc, refused), status=True)
            return None
        left_s = self._left_s(item.uid, self._pace.start_s(self._facts.pod(item)))
        if unpulled := [said for each in _containers(item.doc) if (said := self._pulling(str(each.get("image", ""))))]:
            status = _creating(item.doc, node.doc, self._registry.now)
            self._registry.update(item, _unpulled(status, unpulled[0]), status=True)
            return None
        if left_s == NEVER:
            self._registry.update(item, _creating(item.doc, node.doc, self._registry.now), status=True)
            return None
        if left_s > 0:
            return left_s
        self._ends.pop(item.uid, None)
        self._number += 1
        self._registry.update(item, _running(item.doc, node.doc, self._number, self._registry.now), status=True)
        return None

    def _refused(self, item: StoredItem, node: StoredItem) -> Rejected | None:
        """The scheduler has looked already at what it has bound."""
        if (condition(item.doc, "PodScheduled") or {}).get("status") == "True":
            return None
        here = self._registry.store.list(PODS)
        there = [self._facts.pod(each) for each in here if at(each.doc, "spec", "nodeName") == node.key[1]]
        return rejected(self._facts.pod(item), self._facts.node(node), there)

    def _stop(self, item: StoredItem) -> float | None:
        if self._stuck(self._facts.pod(item)):
            return None
        deadline = self._facts.pod(item).deletion_deadline
        assert deadline is not None, "it is being deleted"
        own_s = self._left_s(_stopping(item.uid), self._pace.stop_s(self._facts.pod(item)))
        left_s = min(own_s, (deadline - self._registry.agenda.now) / timedelta(seconds=1))
        if left_s > 0:
            return left_s
        if not self._registry.delete(item, DeleteOptions(grace_s=0, uid=item.uid)).gone:
            return None  # a finalizer holds it
        return None

    def _run_out(self, item: StoredItem) -> float | None:
        left_s = self._left_s(item.uid, self._pace.run_s(self._facts.pod(item)))
        if left_s > 0:
            return None if left_s == NEVER else left_s
        self._registry.update(item, _succeeded(item.doc, self._registry.now), status=True)
        return None


def _unheard(node: Doc) -> bool:
    return (condition(node, "Ready") or {}).get("status") == "Unknown"


def _stopping(uid: str) -> str:
    return f"stop {uid}"


def _starts(doc: Doc) -> bool:
    """Whether nothing of it was started yet: what a dump shows as started stays as it is there."""
    return at(doc, "status", "phase") in (None, "", "Pending") and not at(doc, "status", "containerStatuses")


def _runs_out(doc: Doc) -> bool:
    return at(doc, "status", "phase") == "Running" and at(doc, "spec", "restartPolicy") in ("Never", "OnFailure")


def _rejected(doc: Doc, refused: Rejected) -> Doc:
    status = {**(doc.get("status") or {}), "phase": "Failed", "reason": refused.reason, "message": refused.message}
    return with_value(doc, ("status",), status)


def _unpulled(doc: Doc, said: str) -> Doc:
    """After the first tries (pkg/kubelet/images/image_manager.go)."""
    text = f"Back-off pulling image: {said}"
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": text}}
    held = at(doc, "status", "containerStatuses") or ()
    return with_value(doc, ("status", "containerStatuses"), [{**each, "state": waiting} for each in held])


def _creating(doc: Doc, node: Doc, now: str) -> Doc:
    """As while its images are pulled (pkg/kubelet/kubelet_pods.go, status/generate.go)."""
    names = [each["name"] for each in _containers(doc)]
    unready = {"reason": "ContainersNotReady", "message": f"containers with unready status: [{' '.join(names)}]"}
    status = dict(doc.get("status") or {})
    conditions = status.get("conditions") or []
    for each in ("PodReadyToStartContainers", "Initialized"):
        conditions = with_condition(conditions, {"type": each, "status": "True", "lastProbeTime": None}, now)
    for each in ("Ready", "ContainersReady"):
        made = {"type": each, "status": "False", "lastProbeTime": None, **unready}
        conditions = with_condition(conditions, made, now)
    containers = [{**_started(each, now), **_WAITING} for each in _containers(doc)]
    status |= {"phase": "Pending", "conditions": conditions, "startTime": now, "containerStatuses": containers}
    return with_value(doc, ("status",), {**status, **_host(node)})


def _running(doc: Doc, node: Doc, number: int, now: str) -> Doc:
    status = dict(doc.get("status") or {})
    conditions = status.get("conditions") or []
    for each in ("Initialized", "PodReadyToStartContainers", "ContainersReady", "Ready"):
        conditions = with_condition(conditions, {"type": each, "status": "True", "lastProbeTime": None}, now)
    address = f"10.{64 + number // 65536 % 64}.{number // 256 % 256}.{number % 256}"
    status |= {"phase": "Running", "conditions": conditions, "podIP": address, "podIPs": [{"ip": address}]}
    status |= {"startTime": now, "containerStatuses": [_started(each, now) for each in _containers(doc)]}
    return with_value(doc, ("status",), {**status, **_host(node)})


def _host(node: Doc) -> Doc:
    addresses = at(node, "status", "addresses") or ()
    hosts = [each["address"] for each in addresses if each.get("type") == "InternalIP"]
    return {"hostIP": hosts[0], "hostIPs": [{"ip": hosts[0]}]} if hosts else {}


def _succeeded(doc: Doc, now: str) -> Doc:
    status = dict(doc["status"])
    conditions = status.get("conditions") or []
    for each in ("ContainersReady", "Ready"):
        made = {"type": each, "status": "False", "reason": "PodCompleted"}
        conditions = with_condition(conditions, made, now)
    ended = [
        {**each, "ready": False, "started": False, "state": {"terminated": _terminated(each, now)}}
        for each in status.get("containerStatuses") or ()
    ]
    return with_value(
        doc, ("status",), {**status, "phase": "Succeeded", "conditions": conditions, "containerStatuses": ended}
    )


def _containers(doc: Doc) -> list[Doc]:
    return list(at(doc, "spec", "containers") or ())


def _started(container: Doc, now: str) -> Doc:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": f"{container.get('image', '')}@sha256:{'0' * 64}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "lastState": {},
        "state": {"running": {"startedAt": now}},
    }


def _terminated(status: Doc, now: str) -> Doc:
    since = at(status, "state", "running", "startedAt") or now
    return {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": now}
