"""Replacement of an evicted pod: when its controller creates a new pod, and whether it can return to the same node.

Sources: pkg/controller/controller_utils.go (IsPodActive), pkg/controller/statefulset, pkg/controller/job,
pkg/controller/daemon/util/daemonset_util.go, pkg/scheduler/framework/plugins/nodeunschedulable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from kubectl_eksdoc.amazon.addon_needs import KNOWN_SOFTWARE, SoftwareRole
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.kinds import KindRead
from kubectl_eksdoc.model.network import Webhook
from kubectl_eksdoc.model.nodes import FINISHED_PHASES, UNSCHEDULABLE_TAINT, ControllerOwner, Pod, Toleration
from kubectl_eksdoc.model.selectors import Labels, from_parts
from kubectl_eksdoc.model.workloads import Workload


class Replacement(str, Enum):
    """When the replacement of an evicted pod is created."""

    SURGE = "first"  # by a rollout with maxSurge: the new pod is Ready before the old one stops
    AT_ONCE = "at-once"  # at the eviction: old and new pod overlap, both need room
    AFTER_GONE = "after-gone"  # it has the same name, so only when the old object is gone
    JOB = "job"  # a new pod starts over after the Job's back-off, if backoffLimit allows; the work is lost
    SAME_NODE = "same-node"  # a DaemonSet pod: it ignores the cordon
    NEVER = "never"  # no controller creates it again
    UNKNOWN = "unknown"  # an unknown controller


_BY_OWNER = {
    "ReplicaSet": ("apps", Replacement.AT_ONCE),
    "ReplicationController": ("", Replacement.AT_ONCE),
    "StatefulSet": ("apps", Replacement.AFTER_GONE),
    "Job": ("batch", Replacement.JOB),
    "DaemonSet": ("apps", Replacement.SAME_NODE),
}
"""By kind of the owner: its API group, and the replacement."""
_REPLACED_WHEN_FINISHED = (Replacement.AT_ONCE, Replacement.JOB)


def replacement_by_owner(owner: ControllerOwner | None) -> Replacement:
    """How this kind of controller replaces an evicted pod."""
    if owner is None:
        return Replacement.NEVER
    known = _BY_OWNER.get(owner.kind)
    return known[1] if known is not None and known[0] == owner.group else Replacement.UNKNOWN


def replacement(pod: Pod) -> Replacement:
    """The replacement after `pod` is evicted.

    The static pod behind a mirror pod keeps running. ReplicaSets and Jobs have already dealt with a finished pod; a
    StatefulSet needs its name and replaces it after the eviction.
    """
    if pod.annotations and pod.is_mirror:
        return Replacement.NEVER
    owner_replacement = replacement_by_owner(pod.owner)
    return (
        Replacement.NEVER
        if pod.phase in FINISHED_PHASES and owner_replacement in _REPLACED_WHEN_FINISHED
        else owner_replacement
    )


def returns_as_daemon_set_pod(pod: Pod) -> bool:
    """Whether it is a DaemonSet pod, also a finished one. It is called for every pod, and few are; so it is written for
    speed."""
    owner = pod.owner
    return owner is not None and owner.kind == "DaemonSet" and replacement(pod) is Replacement.SAME_NODE


def cordon_toleration(tolerations: Sequence[Toleration]) -> Toleration | None:
    """The toleration with which the scheduler ignores that a node is unschedulable, None without one."""
    for toleration in tolerations:
        if toleration.tolerates(UNSCHEDULABLE_TAINT, "", "NoSchedule"):
            return toleration
    return None


def same_node_reason(pod: Pod, workload: Workload | None) -> str:
    """Why the pod's replacement can be scheduled onto the same cordoned node, or "" if it cannot.

    `workload` is the pod's own controller (for a ReplicaSet's pod the ReplicaSet): its template decides. Without it the
    pod's own tolerations are used, which include those that admission added.
    """
    if replacement(pod) is Replacement.NEVER:
        return ""
    if replacement(pod) is Replacement.SAME_NODE:
        return "its DaemonSet tolerates the cordon"
    if workload is not None and workload.pinned_to and workload.pinned_to == pod.node:
        return f"its template sets spec.nodeName {workload.pinned_to}, so the scheduler is not asked"
    toleration = cordon_toleration(pod.tolerations if workload is None else workload.template_tolerations)
    if toleration is None:
        return ""
    if not toleration.key:
        return "it tolerates every taint, the cordon included"
    return f"it tolerates {UNSCHEDULABLE_TAINT}"


# Pods that replacements depend on while a drain runs.
#
# If the only backend is evicted, some of these stop all replacements in the cluster: no pod can be created (a webhook
# that fails closed), no volume attaches, no name resolves. Others are available again in time. knowledge/software.json
# has the severity of each, with its reason.


_ROLE_BY_LABEL = {
    label: each.replacements_need
    for each in KNOWN_SOFTWARE
    if each.replacements_need
    for _, label in (*each.labels, *each.controller_labels)
}
"""Value of one of `_NAME_LABELS` on a pod → its role. The values are those of the projects' own charts."""

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server sets on every namespace, with its name."""

_NAME_LABELS = ("app.kubernetes.io/name", "k8s-app", "app")


@frozen
class RequiredBackends:
    """`pods` provide `what` and are Ready; `why` says what stops without them, `severity` how severe that is."""

    what: str
    why: str
    pods: tuple[Pod, ...]
    severity: Severity = Severity.CRITICAL


def blocks_pod_creation(webhook: Webhook) -> bool:
    """Whether the webhook must answer before a pod can be created or evicted."""
    return webhook.fails_closed and any(
        ("*" in rule.operations or "CREATE" in rule.operations)
        and ("" in rule.groups or "*" in rule.groups)
        and any(r in ("*", "*/*", "pods", "pods/*", "pods/eviction", "*/eviction") for r in rule.resources)
        for rule in webhook.rules
    )


def is_called_for(webhook: Webhook, pod: Pod, namespaces: Mapping[str, Labels] | None) -> bool:
    """Whether the webhook's selectors match a pod like `pod`.

    `namespaces` are labels by name; if it is None, or lacks the pod's namespace, the namespace counts as selected.
    """
    if not webhook.object_selector.matches(pod.labels):
        return False
    labels = namespaces.get(pod.namespace) if namespaces is not None else None
    if labels is None:
        return True
    return webhook.namespace_selector.matches({NAMESPACE_NAME: pod.namespace, **labels})


def required_backends(cluster: Cluster) -> tuple[RequiredBackends, ...]:
    """The backends that replacements depend on, among the Ready pods of this cluster, sorted by name."""
    ready = [p for p in cluster.pods if p.ready and p.node and p.deletion_deadline is None]
    backends = [*_controller_backends(ready), *_webhook_backends(cluster, ready)]
    return tuple(sorted((b for b in backends if b.pods), key=lambda b: b.what))


def _controller_backends(ready: Iterable[Pod]) -> Iterable[RequiredBackends]:
    pods_by_role: dict[SoftwareRole, list[Pod]] = defaultdict(list)
    roles: dict[int, SoftwareRole | None] = {}  # replicas share their labels
    for pod in ready:
        labels_id = id(pod.labels)
        if labels_id not in roles:
            known = (_ROLE_BY_LABEL.get(pod.labels.get(label, "")) for label in _NAME_LABELS)
            roles[labels_id] = next(filter(None, known), None)
        role = roles[labels_id]
        # A DaemonSet has a pod on every node: a drain removes none of them.
        if role and not pod.is_daemon_set_pod:
            pods_by_role[role].append(pod)
    for role, pods in pods_by_role.items():
        yield RequiredBackends(role.what, role.effect, tuple(pods), role.severity)


def _webhook_backends(cluster: Cluster, ready: Iterable[Pod]) -> Iterable[RequiredBackends]:
    if not cluster.webhooks:
        return
    services = {s.key: s for s in cluster.services}
    endpoints = _ready_pod_uids(cluster)
    by_namespace: dict[str, list[Pod]] = defaultdict(list)
    for pod in ready:
        by_namespace[pod.namespace].append(pod)
    not_read = cluster.not_read(kinds.NAMESPACES)
    namespaces = None if not_read else {n.name: n.labels for n in cluster.namespaces}
    for webhook in cluster.webhooks:
        service = services.get(webhook.service_key)
        if service is None or not service.selector or not blocks_pod_creation(webhook):
            continue
        if not any(is_called_for(webhook, pod, namespaces) for pod in cluster.pods):
            continue
        endpoint_uids = endpoints.get(service.key)
        selector = from_parts(service.selector)
        pods = tuple(
            p
            for p in by_namespace[service.namespace]
            if (selector.matches(p.labels) if endpoint_uids is None else p.uid in endpoint_uids)
        )
        yield RequiredBackends(
            f"webhook {webhook.name}",
            f"{webhook.configuration_kind} {webhook.configuration} fails closed: without it no pod it is called for "
            "can be created",
            pods,
        )


def _ready_pod_uids(cluster: Cluster) -> dict[str, set[str]]:
    """UIDs of the pods that the API server reaches through each Service, for the Services with EndpointSlices; the
    caller uses the selector of a Service without any."""
    ready: dict[str, set[str]] = defaultdict(set)
    for endpoint_slice in cluster.endpoint_slices:
        uids = ready[f"{endpoint_slice.namespace}/{endpoint_slice.service}"]
        uids.update(e.pod_uid for e in endpoint_slice.endpoints if e.ready and e.pod_uid)
    return ready


# The desired replicas of a pod's controller: the base of a budget's percentage.
#
# The order of the finders and what each of them accepts follow the disruption controller
# (pkg/controller/disruption/disruption.go: finders, getPodReplicaSet, getPodDeployment and others, getScaleController).


_APPS = ("apps", "extensions")

# Kinds that the API server serves without a scale subresource, as the controller's error names them.
_WITHOUT_SCALE = {
    ("batch", "Job"): "jobs.batch",
    ("batch", "CronJob"): "cronjobs.batch",
    ("apps", "DaemonSet"): "daemonsets.apps",
    ("", "Node"): "nodes",
    ("", "Pod"): "pods",
}
_WITH_SCALE = frozenset({("apps", "ReplicaSet"), ("apps", "Deployment"), ("apps", "StatefulSet")}) | {
    ("", "ReplicationController")
}


@frozen
class ScaledController:
    """A controller and its desired replicas. `uid`: a Deployment counts once for all its ReplicaSets."""

    uid: str
    replicas: int
    kind: str = ""
    name: str = ""


@frozen
class NoScale:
    """The controller gets this error, and fails to sync the budget."""

    error: str


@frozen
class ScaleNotRead:
    """The facts do not include the scale: `missing` is the resource that was not read, or a kind that is never read."""

    missing: str
    reason: str


ScaleResult = ScaledController | NoScale | ScaleNotRead


@frozen
class ScaleIndex:
    """An index of workloads by owner reference. Create it with `ScaleIndex.of`.

    `unread` maps a kind to the reason why its objects are not completely known. With `complete`, `workloads` contains
    every workload: an owner that is not among them does not exist, or has no scale.
    """

    by_name: Mapping[tuple[str, str, str], Workload]
    unread: Mapping[str, KindRead]
    complete: bool = False

    @classmethod
    def of(
        cls, workloads: Iterable[Workload], unread: Iterable[KindRead] = (), *, complete: bool = False
    ) -> ScaleIndex:
        return cls(
            {(w.kind, w.namespace, w.name): w for w in workloads},
            {read.resource.kind: read for read in unread},
            complete,
        )

    def find(self, owner: ControllerOwner, namespace: str) -> ScaleResult | None:
        """The scale behind a controllerRef; None if the controller finds no such object."""
        for finder in (self.replication_controller, self.deployment, self.replica_set, self.stateful_set):
            result = finder(owner, namespace)
            if result is not None:
                return result
        return self.not_read_reason(owner, namespace) or self.scale_subresource(owner, namespace)

    def replication_controller(self, owner: ControllerOwner, namespace: str) -> ScaledController | None:
        return _scale(self._workload(owner, namespace, "ReplicationController", ("",)))

    def deployment(self, owner: ControllerOwner, namespace: str) -> ScaledController | None:
        """For a pod of a ReplicaSet: the Deployment that owns the ReplicaSet."""
        replica_set = self._workload(owner, namespace, "ReplicaSet", _APPS)
        if replica_set is None or replica_set.owner is None:
            return None
        return _scale(self._workload(replica_set.owner, namespace, "Deployment", _APPS))

    def replica_set(self, owner: ControllerOwner, namespace: str) -> ScaledController | None:
        """A ReplicaSet that is not owned by a Deployment; the API group of the owner is not checked."""
        replica_set = self._workload(owner, namespace, "ReplicaSet", _APPS)
        if replica_set is None or (replica_set.owner is not None and replica_set.owner.kind == "Deployment"):
            return None
        return _scale(replica_set)

    def stateful_set(self, owner: ControllerOwner, namespace: str) -> ScaledController | None:
        return _scale(self._workload(owner, namespace, "StatefulSet", ("apps",)))

    def scale_subresource(self, owner: ControllerOwner, namespace: str) -> ScaleResult | None:
        """The answer to GET …/scale of the owner, as far as the facts include it."""
        error = _WITHOUT_SCALE.get((owner.group, owner.kind))
        if error is not None:
            return NoScale(f"{error} does not implement the scale subresource")
        workload = self.by_name.get((owner.kind, namespace, owner.name))
        if workload is not None and workload.uid == owner.uid:
            return _scale(workload)
        if (owner.group, owner.kind) in _WITH_SCALE:
            return None
        if self.complete:
            return NoScale(f'no matches for kind "{owner.kind}" in group "{owner.group}"')
        return ScaleNotRead(_resource_of(owner), f"the scale of {owner.kind} {owner.name} is not among the facts")

    def not_read_reason(self, owner: ControllerOwner, namespace: str) -> ScaleNotRead | None:
        """Set if a kind that decides about this owner was not read."""
        if (owner.group, owner.kind) not in _WITH_SCALE:
            return None
        workload = self.by_name.get((owner.kind, namespace, owner.name))
        if workload is None:
            return self._kind_not_read(owner.kind)
        if workload.uid == owner.uid and workload.owner is not None and workload.owner.kind == "Deployment":
            return self._kind_not_read("Deployment")
        return None

    def _kind_not_read(self, kind: str) -> ScaleNotRead | None:
        read = self.unread.get(kind)
        if read is None:
            return None
        return ScaleNotRead(read.resource.full_name, f"{read.resource.plural} were not read ({read.state.value})")

    def _workload(self, owner: ControllerOwner, namespace: str, kind: str, groups: tuple[str, ...]) -> Workload | None:
        """The object that the reference means; another object of the same name (by UID) does not count."""
        if owner.kind != kind or owner.group not in groups:
            return None
        workload = self.by_name.get((kind, namespace, owner.name))
        return workload if workload is not None and workload.uid == owner.uid else None


def _scale(workload: Workload | None) -> ScaledController | None:
    if workload is None:
        return None
    return ScaledController(workload.uid, workload.replicas, workload.kind, workload.name)


def _resource_of(owner: ControllerOwner) -> str:
    return f"{owner.kind}.{owner.group}" if owner.group else owner.kind
