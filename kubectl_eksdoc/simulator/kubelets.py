"""The kubelets: they start pods that are bound to their node, and stop pods that are being deleted.

The duration of both is an input (`KubeletTimes`): the API does not tell it in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Protocol

from kubectl_eksdoc.kubernetes.evictions import KubeletRejection, kubelet_rejection
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.nodes import Pod

from .registry import DeleteOptions, FactSource, Registry, with_condition
from .store import NODES, PODS, ObjectKey, StoreChange, StoredItem

NEVER = float("inf")


class KubeletTimes(Protocol):
    """Seconds; `NEVER` for what does not end."""

    def start_s(self, pod: Pod) -> float:
        """From being bound to a node until Ready."""

    def stop_s(self, pod: Pod) -> float:
        """From deletion until its containers have stopped by themselves; the grace period is the maximum."""

    def run_s(self, pod: Pod) -> float:
        """For a pod that ends by itself (restartPolicy Never or OnFailure): from Ready until it has succeeded."""


def no_pod(pod: Pod) -> bool:
    """False for every pod."""
    return False


def pull_every_image(image: str) -> str:
    """Every image can be pulled."""
    return ""


ImagePull = Callable[[str], str]
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
        kubelet_times: KubeletTimes,
        is_stuck: Callable[[Pod], bool] = no_pod,
        image_pull: ImagePull = pull_every_image,
    ) -> None:
        self._registry = registry
        self._image_pull = image_pull
        self._facts = facts
        self._kubelet_times = kubelet_times
        self._is_stuck = is_stuck
        self._done_at: dict[str, float] = {}  # pod uid → when the kubelet's current action is done
        self._pod_number = 0

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == NODES:
            is_back = change.before is not None and _is_unreachable(change.before) and not _is_unreachable(change.item)
            return self._keys_on(change.key[1]) if is_back else ()
        return self._keys_of(change)

    def _keys_on(self, node: str) -> Iterable[ObjectKey]:
        return [pod.key for pod in self._registry.store.list(PODS) if pod.node == node]

    def _keys_of(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.is_deletion:
            self._done_at.pop(change.item.uid, None)
            self._done_at.pop(_stop_key(change.item.uid), None)
            return
        item = change.item
        if item.node and (item.deleting or _is_unstarted(item) or _runs_to_completion(item)):
            yield change.key

    def reconcile(self, key: ObjectKey) -> float | None:
        item = self._registry.find(PODS, key)
        if item is None:
            return None
        node = self._registry.find(NODES, ("", item.node))
        if node is None or _is_unreachable(node):
            return None  # no kubelet can act
        if item.deleting:
            return self._stop_pod(item)
        if _is_unstarted(item):
            if refusal := self._admission_refusal(item, node):
                return self._write_status(item, phase="Failed", reason=refusal.reason, message=refusal.message)
            remaining_s = self._remaining_s(item.uid, self._kubelet_times.start_s(self._facts.pod(item)))
            images = [str(each.get("image", "")) for each in _containers(item)]
            if pull_error := next(filter(None, map(self._image_pull, images)), ""):
                return self._write_status(
                    item, **_creating_status(item, node, self._registry.timestamp, _pull_back_off(pull_error))
                )
            if remaining_s == NEVER:
                return self._write_status(
                    item, **_creating_status(item, node, self._registry.timestamp, {"reason": "ContainerCreating"})
                )
            if remaining_s > 0:
                return remaining_s
            self._done_at.pop(item.uid, None)
            self._pod_number += 1
            return self._write_status(item, **_running_status(item, node, self._pod_number, self._registry.timestamp))
        return self._complete_pod(item) if _runs_to_completion(item) else None

    def _remaining_s(self, work_key: str, seconds: float) -> float:
        """Seconds until `work_key` is done, which takes `seconds` from the first call on."""
        now = self._registry.seconds
        return self._done_at.setdefault(work_key, now + seconds) - now

    def _write_status(self, item: StoredItem, **status: object) -> float | None:
        """None: it need not be handled again."""
        self._registry.set_value(item, ("status",), {**item.status, **status}, status=True)
        return None

    def _admission_refusal(self, item: StoredItem, node: StoredItem) -> KubeletRejection | None:
        """The scheduler has checked pods that it has bound."""
        if item.condition_status("PodScheduled") == "True":
            return None
        all_pods = self._registry.store.list(PODS)
        pods_on_node = [self._facts.pod(each) for each in all_pods if each.node == node.key[1]]
        return kubelet_rejection(self._facts.pod(item), self._facts.node(node), pods_on_node)

    def _stop_pod(self, item: StoredItem) -> float | None:
        if self._is_stuck(self._facts.pod(item)):
            return None
        deadline = self._facts.pod(item).deletion_deadline
        assert deadline is not None, "it is being deleted"
        stop_time_s = self._remaining_s(_stop_key(item.uid), self._kubelet_times.stop_s(self._facts.pod(item)))
        remaining_s = min(stop_time_s, (deadline - self._registry.current_time) / timedelta(seconds=1))
        if remaining_s > 0:
            return remaining_s
        self._registry.delete(item, DeleteOptions(grace_s=0, uid=item.uid))  # a finalizer may delay it
        return None

    def _complete_pod(self, item: StoredItem) -> float | None:
        remaining_s = self._remaining_s(item.uid, self._kubelet_times.run_s(self._facts.pod(item)))
        if remaining_s > 0:
            return None if remaining_s == NEVER else remaining_s
        return self._write_status(item, **_succeeded_status(item, self._registry.timestamp))


def _is_unreachable(node: StoredItem) -> bool:
    return node.condition_status("Ready") == "Unknown"


def _stop_key(uid: str) -> str:
    return f"stop {uid}"


def _is_unstarted(pod: StoredItem) -> bool:
    """Whether no container was started yet: started pods of a dump stay as they are there."""
    return pod.phase == "Pending" and not pod.status.get("containerStatuses")


def _runs_to_completion(pod: StoredItem) -> bool:
    return pod.phase == "Running" and pod.spec.get("restartPolicy") in ("Never", "OnFailure")


def _pull_back_off(message: str) -> Doc:
    """The state after the first tries (pkg/kubelet/images/image_manager.go)."""
    return {"reason": "ImagePullBackOff", "message": f"Back-off pulling image: {message}"}


def _creating_status(pod: StoredItem, node: StoredItem, now: str, waiting: Doc) -> Doc:
    """The status while its images are pulled (pkg/kubelet/kubelet_pods.go, status/generate.go)."""
    names = [each["name"] for each in _containers(pod)]
    not_ready_fields = {
        "reason": "ContainersNotReady",
        "message": f"containers with unready status: [{' '.join(names)}]",
    }
    conditions = _with_conditions(
        pod.conditions, ("PodReadyToStartContainers", "Initialized"), {"status": "True", **_NOT_PROBED}, now
    )
    conditions = _with_conditions(
        conditions, ("Ready", "ContainersReady"), {"status": "False", **_NOT_PROBED, **not_ready_fields}, now
    )
    waiting_fields = {"ready": False, "started": False, "imageID": "", "state": {"waiting": waiting}}
    containers = [{**_running_container(each, now), **waiting_fields} for each in _containers(pod)]
    status = {"phase": "Pending", "conditions": conditions, "startTime": now, "containerStatuses": containers}
    return status | _host_addresses(node)


_NOT_PROBED = {"lastProbeTime": None}


def _with_conditions(conditions: list[Doc], types: Iterable[str], condition: Doc, now: str) -> list[Doc]:
    """`conditions` with `condition` for each of these types."""
    for condition_type in types:
        conditions = with_condition(conditions, {"type": condition_type, **condition}, now)
    return conditions


def _running_status(pod: StoredItem, node: StoredItem, number: int, now: str) -> Doc:
    types = ("Initialized", "PodReadyToStartContainers", "ContainersReady", "Ready")
    conditions = _with_conditions(pod.conditions, types, {"status": "True", **_NOT_PROBED}, now)
    address = f"10.{64 + number // 65536 % 64}.{number // 256 % 256}.{number % 256}"
    status: Doc = {"phase": "Running", "conditions": conditions, "podIP": address, "podIPs": [{"ip": address}]}
    containers = [_running_container(each, now) for each in _containers(pod)]
    return status | {"startTime": now, "containerStatuses": containers} | _host_addresses(node)


def _host_addresses(node: StoredItem) -> Doc:
    addresses = node.status.get("addresses") or ()
    host_ips = [each["address"] for each in addresses if each.get("type") == "InternalIP"]
    return {"hostIP": host_ips[0], "hostIPs": [{"ip": host_ips[0]}]} if host_ips else {}


def _succeeded_status(pod: StoredItem, now: str) -> Doc:
    conditions = _with_conditions(
        pod.conditions, ("ContainersReady", "Ready"), {"status": "False", "reason": "PodCompleted"}, now
    )
    container_statuses = [
        {**each, "ready": False, "started": False, "state": {"terminated": _terminated_state(each, now)}}
        for each in pod.status.get("containerStatuses") or ()
    ]
    return {"phase": "Succeeded", "conditions": conditions, "containerStatuses": container_statuses}


def _containers(pod: StoredItem) -> list[Doc]:
    return pod.spec.get("containers") or []


def _running_container(container: Doc, now: str) -> Doc:
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


def _terminated_state(status: Doc, now: str) -> Doc:
    started_at = nested_field(status, "state", "running", "startedAt") or now
    return {"exitCode": 0, "reason": "Completed", "startedAt": started_at, "finishedAt": now}
