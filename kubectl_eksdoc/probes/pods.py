"""Short-lived probe pods: created for one owner, waited for, and removed; and the finding about remaining ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Protocol, TypeVar

from kubectl_eksdoc.errors import ClusterError, Forbidden
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.findings import CodeName, Finding, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeOwner, ProbePodStatus
from kubectl_eksdoc.ports import ProbeNamespace


def not_removed_finding(
    code: CodeName, owner: str, namespace: str, remaining: Sequence[str], not_removed: str
) -> Finding:
    """`remaining`: names of pods; `not_removed`: why their owner could not be removed, or ""."""
    return Finding.of(
        f"{code}/not-removed" if not_removed else f"{code}/not-gone",
        Subject("ConfigMap", owner, namespace),
        tuple(remaining),
        owner=owner,
        namespace=namespace,
        why=not_removed,
        count=len(remaining),
        pods=" ".join(remaining),
    )


# Manifests of short-lived probe pods, and of the ConfigMap that owns them.
#
# The pods are bound to their node by spec.nodeName, as kubectl debug does, and bypass the scheduler: a pod without room
# may preempt others where a PriorityClass is the cluster's default, and may trigger an autoscaler. The kubelet instead
# rejects a pod that does not fit (OutOfcpu, OutOfpods), and no other pod is preempted. They tolerate every taint, have
# no ServiceAccount token, and meet the pod security level "restricted", except for the host network, which "baseline"
# forbids already (Pod Security Standards, Host Namespaces).


NOBODY_UID = 65534


@frozen
class ProbePurpose:
    """The purpose of probe pods: `name` in names and labels, the label that carries its id, the namespace, and the
    longest time (the kubelet ends a pod after `deadline_s` if the tool did not remove it)."""

    name: str
    label: str
    probe_id: str
    namespace: str
    deadline_s: int

    @property
    def owner_name(self) -> str:
        return f"eksdoc-{self.name}-{self.probe_id}"

    @property
    def labels(self) -> Doc:
        name = f"eksdoc-{self.name}"
        return {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "eksdoc", self.label: self.probe_id}


def probe_owner_manifest(purpose: ProbePurpose, content: Doc) -> Doc:
    """A ConfigMap that is created first and deleted at the end: the garbage collector then deletes the pods."""
    metadata = {"name": purpose.owner_name, "namespace": purpose.namespace, "labels": purpose.labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def probe_pod_manifest(
    purpose: ProbePurpose, name: str, node: str, container: Doc, owner_uid: str = "", **spec: object
) -> Doc:
    """`owner_uid` "": the manifest is shown before the owner exists. `spec`: further fields of the pod's spec."""
    owner_reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": purpose.owner_name, "uid": owner_uid}
    owners = {"ownerReferences": [owner_reference]} if owner_uid else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": purpose.namespace, "labels": purpose.labels, **owners},
        "spec": {
            "nodeName": node,
            **spec,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": purpose.deadline_s,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": NOBODY_UID,
                "runAsGroup": NOBODY_UID,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{**container, "securityContext": _CONTAINER_SECURITY}],
        },
    }


_CONTAINER_SECURITY: Doc = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


# The state of a probe pod: its log can be read, it is still running, or it will not run.
#
# A pod that did not run has no result. Reasons as the kubelet names them: pkg/kubelet/lifecycle/predicate.go (OutOfcpu
# …, TaintToleration), pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go, pkg/kubelet/active_deadline.go
# (DeadlineExceeded).


_NO_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
_NO_START = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError")
_MAX_MESSAGE = 300

INTERRUPTED = Unknown("it was interrupted before the pod had told anything")


class ProbeStage(Enum):
    READ = "its log can be read"
    WAIT = "it is not yet over"


def probe_stage(state: ProbePodStatus | None) -> ProbeStage | Unknown:
    """None: the pod is no longer in the cluster."""
    if state is None:
        return Unknown("the pod was deleted before it reported anything")
    if state.exit_code is not None and state.phase != "Failed":
        return ProbeStage.READ
    if state.phase == "Failed":
        if state.reason.startswith("OutOf"):
            return _unknown("the node has no room for it", state.reason, state.message)
        if state.reason:
            return _unknown("the kubelet refused or ended it", state.reason, state.message)
        if state.exit_reason in _NO_START:
            return _unknown("its container cannot be started", state.exit_reason, state.message)
        return ProbeStage.READ if state.exit_code is not None else _unknown("it failed", state.reason, state.message)
    if state.waiting in _NO_IMAGE:
        return _unknown("its image cannot be pulled", state.waiting, state.waiting_message)
    if state.waiting in _NO_START:
        return _unknown("its container cannot be started", state.waiting, state.waiting_message)
    return ProbeStage.WAIT


def timeout_reason(state: ProbePodStatus | None, waited_s: float) -> Unknown:
    """Why the pod has no result after the requested wait."""
    wait_text = f"after {waited_s:.0f} s"
    if state is None:
        return Unknown(f"nothing was heard of it {wait_text}")
    if state.waiting:
        return _unknown(f"its container has not started {wait_text}", state.waiting, state.waiting_message)
    if state.phase == "Pending":
        return _unknown(f"the kubelet has not begun with it {wait_text}", state.reason, state.message)
    return _unknown(f"it has not ended {wait_text}", state.reason, state.message)


def _unknown(problem: str, reason: str, message: str) -> Unknown:
    short_message = " ".join(message.split())[:_MAX_MESSAGE]
    return Unknown(
        f"{problem} ({': '.join(filter(None, (reason, short_message)))})" if reason or short_message else problem
    )


# The owner of a pod, as far as the pod itself names it.


def owner_of(pod: Pod) -> Subject:
    """The Deployment instead of its ReplicaSet for a pod of a Deployment; the pod itself if it has no owner."""
    if pod.deployment:
        return Subject("Deployment", pod.deployment, pod.namespace)
    if pod.owner is None:
        return Subject("Pod", pod.name, pod.namespace)
    return Subject(pod.owner.kind, pod.owner.name, pod.namespace)


POLL_INTERVAL_S = 1.0


REMOVAL_TIMEOUT_S = 30.0
"""How long to wait for the garbage collector at the end."""


T = TypeVar("T")


class ProbeClock(Protocol):
    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> object: ...


@frozen
class CleanupResult:
    """The result of removing `owner`: names of pods that still exist (`left`), and why it is
    `not_removed`, or ""."""

    owner: str
    left: tuple[str, ...] = ()
    not_removed: str = ""


def run_with_owner(
    probe_namespace: ProbeNamespace,
    probe: str,
    manifest: Doc,
    stale: Iterable[ProbeOwner],
    clock: ProbeClock,
    report: Callable[[str], object],
    body: Callable[[ProbeOwner], T],
) -> tuple[T, CleanupResult]:
    """Create an owner for `probe` from `manifest`, and return what `body` returns with it. `stale` owners are removed
    before.

    Raises:
        Forbidden, ClusterError: the owner cannot be created; nothing remains.
        any error of `body`: everything is removed anyway, or `report` is called with what remains.
    """
    metadata = manifest["metadata"]
    name, namespace = str(metadata["name"]), str(metadata["namespace"])
    for stale_owner in stale:
        refusal = probe_namespace.remove(stale_owner)
        if refusal is not None:
            report(remaining_pods_text(stale_owner.name, namespace, (), refusal.why))
    owner = ProbeOwner(probe, name, "")
    try:
        owner = _create_owner(probe_namespace, manifest, namespace)
        result = body(owner)
    except BaseException:
        cleanup = remove_owner(owner, probe_namespace, clock)
        if cleanup.not_removed or cleanup.left:
            report(remaining_pods_text(name, namespace, cleanup.left, cleanup.not_removed))
        raise
    return result, remove_owner(owner, probe_namespace, clock)


def remaining_pods_text(owner: str, namespace: str, remaining: Sequence[str], not_removed: str) -> str:
    """What remains, and the command that removes it."""
    command = f"kubectl delete configmap {owner} -n {namespace}"
    if not_removed:
        return f"ConfigMap {owner} and its pods could not be removed ({not_removed}): {command}"
    return f"{len(remaining)} pods of ConfigMap {owner}, which is deleted, have not gone yet: {', '.join(remaining)}"


def _create_owner(probe_namespace: ProbeNamespace, manifest: Doc, namespace: str) -> ProbeOwner:
    response = probe_namespace.create_owner(manifest)
    if isinstance(response, ProbeOwner):
        return response
    if response.missing:
        raise Forbidden(response.why, "", response.missing)
    raise ClusterError(f"nothing can be made in namespace {namespace}: {response.why}")


def remove_owner(owner: ProbeOwner, probe_namespace: ProbeNamespace, clock: ProbeClock) -> CleanupResult:
    """Remove the owner, and wait until the garbage collector has deleted its pods."""
    try:
        refusal = probe_namespace.remove(owner)
        if refusal is not None:
            return CleanupResult(owner.name, (), refusal.why)
        started_s = clock.monotonic()
        while True:
            states = probe_namespace.pod_states(owner.probe)
            if isinstance(states, Unknown) and states.missing:
                return CleanupResult(owner.name)
            remaining = () if isinstance(states, Unknown) else tuple(sorted(states))
            if not remaining and not isinstance(states, Unknown):
                return CleanupResult(owner.name)
            if clock.monotonic() - started_s >= REMOVAL_TIMEOUT_S:
                return CleanupResult(owner.name, remaining)
            clock.sleep(POLL_INTERVAL_S)
    except ClusterError as error:
        return CleanupResult(owner.name, (), error.message)


_APPEARANCE_TIMEOUT_S = 5.0
"""Until then, a pod whose creation has an unknown result may still appear."""


def wait_for_pods(
    pods: Mapping[str, Doc],
    probe: str,
    wait_s: float,
    probe_namespace: ProbeNamespace,
    clock: ProbeClock,
    interrupts: Callable[[], int],
    outcome_of: Callable[[str, ProbePodStatus | None], T | Unknown | None],
) -> dict[str, T | Unknown]:
    """For each of `pods`, which are created, the result of `outcome_of` (None: wait longer), or why there is none."""
    outcomes: dict[str, T | Unknown] = {}
    for name, manifest in pods.items():
        if interrupts():
            break
        refusal = probe_namespace.create_pod(manifest)
        if isinstance(refusal, ProbeFailure) and not refusal.is_uncertain:
            outcomes[name] = Unknown(f"the pod was refused: {refusal.why}", refusal.missing)
    started_s, waited_s, states = clock.monotonic(), 0.0, dict[str, ProbePodStatus]()
    while (missing := [name for name in pods if name not in outcomes]) and not interrupts():
        response = probe_namespace.pod_states(probe)
        waited_s = clock.monotonic() - started_s
        if not isinstance(response, Unknown):
            states = dict(response)
            for name in missing:
                if name in states or waited_s >= _APPEARANCE_TIMEOUT_S:
                    outcome = outcome_of(name, states.get(name))
                    outcomes |= {} if outcome is None else {name: outcome}
        elif response.missing:
            return outcomes | dict.fromkeys(missing, response)
        if outcomes.keys() >= pods.keys() or waited_s >= wait_s:
            break
        clock.sleep(POLL_INTERVAL_S)
    return outcomes | {
        name: INTERRUPTED if interrupts() else timeout_reason(states.get(name), clock.monotonic() - started_s)
        for name in pods
        if name not in outcomes
    }
