"""The kubelets: they start pods that are bound to their node, and stop pods that are being deleted.

The duration of both is an input (`KubeletTimes`): the API does not tell it in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Protocol

from kubectl_eksdoc.kubernetes.evictions import Rejected, rejected
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.nodes import Pod

from .registry import DeleteOptions, FactSource, Registry, with_condition
from .store import NODES, PODS, Key, StoreChange, StoredItem

NEVER = float("inf")


class KubeletTimes(Protocol):
    """Seconds; `NEVER` for what does not end."""

    def start_s(self, pod: Pod) -> float:
        """From being bound to a node until Ready."""

    def stop_s(self, pod: Pod) -> float:
        """From deletion until its containers have stopped by themselves; the grace period is the maximum."""

    def run_s(self, pod: Pod) -> float:
        """For a pod that ends by itself (restartPolicy Never or OnFailure): from Ready until it has succeeded."""


def none_is(pod: Pod) -> bool:
    """False for every pod."""
    return False


def every_image(image: str) -> str:
    """Every image can be pulled."""
    return ""


Pulling = Callable[[str], str]
"""The runtime's error for an image that it cannot pull, "" for others."""


class Kubelets:
    """All kubelets, as one `Controller` whose keys are those of pods. A stuck pod does not stop even when it is killed:
    its containers hang in the kernel, or wait for storage that is gone. On a node whose Ready condition is Unknown
    nothing is done. A pod that was bound without the scheduler is refused where it does not fit."""

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
        self._ends: dict[str, float] = {}  # pod uid → when the kubelet's current action is done
        self._number = 0

    def touched(self, change: StoreChange) -> Iterable[Key]:
        if change.resource == NODES:
            back = change.before is not None and _unheard(change.before) and not _unheard(change.item)
            return self._keys_on(change.key[1]) if back else ()
        return self._keys_of(change)

    def _keys_on(self, node: str) -> Iterable[Key]:
        return [pod.key for pod in self._registry.store.list(PODS) if pod.node == node]

    def _keys_of(self, change: StoreChange) -> Iterable[Key]:
        if change.gone:
            self._ends.pop(change.item.uid, None)
            self._ends.pop(_stopping(change.item.uid), None)
            return
        item = change.item
        if item.node and (item.leaving or _starts(item) or _runs_out(item)):
            yield change.key

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.find(PODS, key)
        if item is None:
            return None
        node = self._registry.find(NODES, ("", item.node))
        if node is None or _unheard(node):
            return None  # no kubelet can act
        if item.leaving:
            return self._stop(item)
        if _starts(item):
            if refused := self._refused(item, node):
                return self._write(item, phase="Failed", reason=refused.reason, message=refused.message)
            left_s = self._left_s(item.uid, self._pace.start_s(self._facts.pod(item)))
            images = [str(each.get("image", "")) for each in _containers(item)]
            if unpulled := next(filter(None, map(self._pulling, images)), ""):
                return self._write(item, **_creating(item, node, self._registry.now, _unpulled(unpulled)))
            if left_s == NEVER:
                return self._write(item, **_creating(item, node, self._registry.now, {"reason": "ContainerCreating"}))
            if left_s > 0:
                return left_s
            self._ends.pop(item.uid, None)
            self._number += 1
            return self._write(item, **_running(item, node, self._number, self._registry.now))
        return self._run_out(item) if _runs_out(item) else None

    def _left_s(self, what: str, seconds: float) -> float:
        """Seconds until `work_key` is done, which takes `seconds` from the first call on."""
        now = self._registry.seconds
        return self._ends.setdefault(what, now + seconds) - now

    def _write(self, item: StoredItem, **status: object) -> float | None:
        """None: it need not be handled again."""
        self._registry.put(item, ("status",), {**item.status, **status}, status=True)
        return None

    def _refused(self, item: StoredItem, node: StoredItem) -> Rejected | None:
        """The scheduler has checked pods that it has bound."""
        if item.says("PodScheduled") == "True":
            return None
        here = self._registry.store.list(PODS)
        there = [self._facts.pod(each) for each in here if each.node == node.key[1]]
        return rejected(self._facts.pod(item), self._facts.node(node), there)

    def _stop(self, item: StoredItem) -> float | None:
        if self._stuck(self._facts.pod(item)):
            return None
        deadline = self._facts.pod(item).deletion_deadline
        assert deadline is not None, "it is being deleted"
        own_s = self._left_s(_stopping(item.uid), self._pace.stop_s(self._facts.pod(item)))
        left_s = min(own_s, (deadline - self._registry.time) / timedelta(seconds=1))
        if left_s > 0:
            return left_s
        self._registry.delete(item, DeleteOptions(grace_s=0, uid=item.uid))  # a finalizer may delay it
        return None

    def _run_out(self, item: StoredItem) -> float | None:
        left_s = self._left_s(item.uid, self._pace.run_s(self._facts.pod(item)))
        if left_s > 0:
            return None if left_s == NEVER else left_s
        return self._write(item, **_succeeded(item, self._registry.now))


def _unheard(node: StoredItem) -> bool:
    return node.says("Ready") == "Unknown"


def _stopping(uid: str) -> str:
    return f"stop {uid}"


def _starts(pod: StoredItem) -> bool:
    """Whether no container was started yet: started pods of a dump stay as they are there."""
    return pod.phase == "Pending" and not pod.status.get("containerStatuses")


def _runs_out(pod: StoredItem) -> bool:
    return pod.phase == "Running" and pod.spec.get("restartPolicy") in ("Never", "OnFailure")


def _unpulled(said: str) -> Doc:
    """The state after the first tries (pkg/kubelet/images/image_manager.go)."""
    return {"reason": "ImagePullBackOff", "message": f"Back-off pulling image: {said}"}


def _creating(pod: StoredItem, node: StoredItem, now: str, waiting: Doc) -> Doc:
    """The status while its images are pulled (pkg/kubelet/kubelet_pods.go, status/generate.go)."""
    names = [each["name"] for each in _containers(pod)]
    unready = {"reason": "ContainersNotReady", "message": f"containers with unready status: [{' '.join(names)}]"}
    conditions = _conditions(
        pod.conditions, ("PodReadyToStartContainers", "Initialized"), {"status": "True", **_UNPROBED}, now
    )
    conditions = _conditions(conditions, ("Ready", "ContainersReady"), {"status": "False", **_UNPROBED, **unready}, now)
    waits = {"ready": False, "started": False, "imageID": "", "state": {"waiting": waiting}}
    containers = [{**_started(each, now), **waits} for each in _containers(pod)]
    started = {"phase": "Pending", "conditions": conditions, "startTime": now, "containerStatuses": containers}
    return started | _host(node)


_UNPROBED = {"lastProbeTime": None}


def _conditions(held: list[Doc], kinds: Iterable[str], new: Doc, now: str) -> list[Doc]:
    """`conditions` with `condition` for each of these types."""
    for each in kinds:
        held = with_condition(held, {"type": each, **new}, now)
    return held


def _running(pod: StoredItem, node: StoredItem, number: int, now: str) -> Doc:
    kinds = ("Initialized", "PodReadyToStartContainers", "ContainersReady", "Ready")
    conditions = _conditions(pod.conditions, kinds, {"status": "True", **_UNPROBED}, now)
    address = f"10.{64 + number // 65536 % 64}.{number // 256 % 256}.{number % 256}"
    made: Doc = {"phase": "Running", "conditions": conditions, "podIP": address, "podIPs": [{"ip": address}]}
    containers = [_started(each, now) for each in _containers(pod)]
    return made | {"startTime": now, "containerStatuses": containers} | _host(node)


def _host(node: StoredItem) -> Doc:
    addresses = node.status.get("addresses") or ()
    hosts = [each["address"] for each in addresses if each.get("type") == "InternalIP"]
    return {"hostIP": hosts[0], "hostIPs": [{"ip": hosts[0]}]} if hosts else {}


def _succeeded(pod: StoredItem, now: str) -> Doc:
    conditions = _conditions(
        pod.conditions, ("ContainersReady", "Ready"), {"status": "False", "reason": "PodCompleted"}, now
    )
    ended = [
        {**each, "ready": False, "started": False, "state": {"terminated": _terminated(each, now)}}
        for each in pod.status.get("containerStatuses") or ()
    ]
    return {"phase": "Succeeded", "conditions": conditions, "containerStatuses": ended}


def _containers(pod: StoredItem) -> list[Doc]:
    return pod.spec.get("containers") or []


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
