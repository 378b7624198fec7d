"""Builders of facts with healthy defaults: a test sets only the fields that it is about.

    a_pod(name="web-1", owner="ReplicaSet/web", ready=False)
    a_budget(selector={"app": "web"}, max_unavailable=1, expected=3)
    a_cluster(nodes=[a_node("old-0")], pods=[...])

UIDs follow from kind, namespace and name, so that facts that name each other are consistent by default:
`a_pod(owner="ReplicaSet/web")` is owned by `a_workload("ReplicaSet/web")` of the same namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus, IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster, Identity, NodeClass, Source
from kubectl_eksdoc.model.kinds import KindRead, ReadState, Resource
from kubectl_eksdoc.model.nodes import MANAGED_GROUP, ControllerOwner, Node, Pod, Toleration, Volume, VolumeKind
from kubectl_eksdoc.model.quantities import parse_version
from kubectl_eksdoc.model.selectors import Selector, from_parts, parse
from kubectl_eksdoc.model.workloads import Job, Workload

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=timezone.utc)
"""The moment at which everything a test builds was observed."""

TOLERATES_ALL = Toleration(operator="Exists")
TOLERATES_CORDON = Toleration(key="node.kubernetes.io/unschedulable", operator="Exists", effect="NoSchedule")

_GROUPS = {"Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "Job": "batch"}


def ago(seconds: float) -> datetime:
    """The moment that many seconds before NOW; negative is the future."""
    return NOW - timedelta(seconds=seconds)


def uid_of(kind: str, namespace: str, name: str) -> str:
    return f"uid-{kind.lower()}-{namespace}-{name}" if namespace else f"uid-{kind.lower()}-{name}"


def an_owner(text: str, namespace: str = "default", group: str | None = None) -> ControllerOwner:
    """`text` is ``Kind/name``; the group is guessed for the built-in kinds."""
    kind, name = text.split("/", 1)
    return ControllerOwner(kind, name, uid_of(kind, namespace, name), _GROUPS.get(kind, "") if group is None else group)


def an_emptydir(name: str = "scratch", medium: str = "") -> Volume:
    return Volume(name, VolumeKind.EMPTY_DIR, medium)


def a_hostpath(path: str = "/var/data", name: str = "host") -> Volume:
    return Volume(name, VolumeKind.HOST_PATH, path)


def a_claimed(claim: str, name: str = "data") -> Volume:
    return Volume(name, VolumeKind.CLAIM, claim)


def a_pod(
    name: str = "web-1",
    namespace: str = "default",
    *,
    owner: str | ControllerOwner | None = "ReplicaSet/web",
    labels: Mapping[str, str] | None = None,
    node: str = "old-0",
    phase: str = "Running",
    ready: bool | None = None,
    **more: Any,
) -> Pod:
    """A Running, Ready pod on old-0 labelled app=<name of its owner>; `owner=None` is a bare pod.

    `ready` is True by default while the phase is Running; `more` are other fields of Pod.
    """
    ref = an_owner(owner, namespace) if isinstance(owner, str) else owner
    if labels is None:
        labels = {"app": ref.name if ref else name}
    fields: dict[str, Any] = {"uid": uid_of("Pod", namespace, name), "created_at": ago(3600)} | more
    return Pod(
        namespace=namespace,
        name=name,
        labels=dict(labels),
        node=node,
        phase=phase,
        ready=phase == "Running" if ready is None else ready,
        owner=ref,
        **fields,
    )


def pods(count: int, app: str = "web", **more: Any) -> tuple[Pod, ...]:
    """`count` pods app-0, app-1 … of one ReplicaSet; `more` goes to each."""
    more.setdefault("owner", f"ReplicaSet/{app}")
    return tuple(a_pod(f"{app}-{i}", **more) for i in range(count))


def a_node(name: str = "old-0", *, group: str = "blue", version: str = "v1.32.3-eks-473151a", **more: Any) -> Node:
    """A Ready, schedulable node of managed node group blue (`group=""`: of none)."""
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": "eu-west-1a",
        "topology.kubernetes.io/region": "eu-west-1",
        "node.kubernetes.io/instance-type": "m6i.xlarge",
    }
    if group:
        labels |= {MANAGED_GROUP: group, "eks.amazonaws.com/capacityType": "ON_DEMAND"}
    labels |= more.pop("labels", {})
    fields: dict[str, Any] = {
        "uid": uid_of("Node", "", name),
        "kubelet": parse_version(version),
        "kubelet_text": version,
        "os_image": "Amazon Linux 2023.7.20250609",
        "provider_id": f"aws:///eu-west-1a/i-{name}",
        "created_at": ago(90 * 24 * 3600),
        "pods_allocatable": 58,
    } | more
    return Node(name=name, labels=labels, **fields)


ROOM = {"cpu": 10_000_000, "memory": 1 << 50, "ephemeral-storage": 1 << 50, "pods": 10_000}
"""Allocatable of a node that has room for everything."""


def a_roomy_node(name: str = "roomy") -> Node:
    """A node of group green on which all evicted pods find a place."""
    return a_node(name, group="green", allocatable=ROOM)


def an_amount(value: int | str | IntOrPercent | None) -> IntOrPercent | None:
    """``1`` or ``"30%"`` as a budget's spec has it."""
    if value is None or isinstance(value, IntOrPercent):
        return value
    if isinstance(value, str):
        return IntOrPercent(int(value.removesuffix("%")), value.endswith("%"))
    return IntOrPercent(value)


def a_selector(value: Selector | Mapping[str, str] | str) -> Selector:
    """A Selector from matchLabels or from the text of ``-l``."""
    if isinstance(value, Selector):
        return value
    return parse(value) if isinstance(value, str) else from_parts(value)


def a_budget(
    name: str = "web",
    namespace: str = "default",
    *,
    selector: Selector | Mapping[str, str] | str | None = None,
    min_available: int | str | IntOrPercent | None = None,
    max_unavailable: int | str | IntOrPercent | None = None,
    allowed: int = 1,
    expected: int = 3,
    current: int | None = None,
    desired: int | None = None,
    **more: Any,
) -> Budget:
    """A budget in sync over app=<name>: all `expected` pods healthy, `allowed` may go.

    Without either rule it is maxUnavailable 1. `allowed`, `current`, `desired`, `expected` are its status.
    """
    if min_available is None and max_unavailable is None:
        max_unavailable = 1
    current = expected if current is None else current
    fields: dict[str, Any] = {
        "uid": uid_of("PodDisruptionBudget", namespace, name),
        "generation": 1,
        "observed_generation": 1,
        "condition_status": "True" if allowed else "False",
        "condition_reason": "SufficientPods" if allowed else "InsufficientPods",
    } | more
    return Budget(
        namespace=namespace,
        name=name,
        selector=a_selector({"app": name} if selector is None else selector),
        status=BudgetStatus(allowed, current, max(0, current - allowed) if desired is None else desired, expected),
        min_available=an_amount(min_available),
        max_unavailable=an_amount(max_unavailable),
        **fields,
    )


def a_workload(
    text: str = "ReplicaSet/web",
    namespace: str = "default",
    *,
    replicas: int = 3,
    owner: str | None = None,
    **more: Any,
) -> Workload:
    """`text` and `owner` are ``Kind/name``; the owner is in the same namespace."""
    kind, name = text.split("/", 1)
    fields: dict[str, Any] = {"uid": uid_of(kind, namespace, name), "template_labels": {"app": name}} | more
    ref = an_owner(owner, namespace) if owner else None
    return Workload(kind=kind, namespace=namespace, name=name, replicas=replicas, owner=ref, **fields)


def a_job(name: str = "etl", namespace: str = "default", **more: Any) -> Job:
    fields: dict[str, Any] = {"uid": uid_of("Job", namespace, name), "active": 1} | more
    return Job(namespace=namespace, name=name, **fields)


def a_cluster(
    *, unread: Iterable[Resource | KindRead] = (), source: Source = Source.SNAPSHOT, **facts: Iterable[Any]
) -> Cluster:
    """A cluster in which every kind was read, except those of `unread` (a Resource is forbidden)."""
    missing = {
        read.resource: read
        for read in (
            u if isinstance(u, KindRead) else KindRead(u, ReadState.FORBIDDEN, detail="forbidden") for u in unread
        )
    }
    reads = tuple(missing.get(r, KindRead(r, ReadState.READ)) for r in kinds.ALL)
    identity = Identity("prod", "prod", "123456789012", "eu-west-1", "v1.33.1-eks-1b3e656", "0c7f1f1e-system")
    cluster = Cluster(identity, source, NOW, reads)
    held: dict[str, Any] = {name: tuple(values) for name, values in facts.items()}
    return replace(cluster, **held)


def with_classes(cluster: Cluster, *classes: NodeClass) -> Cluster:
    """`cluster` with its EC2NodeClasses read, which no plan of a drain reads."""
    read = KindRead(kinds.NODE_CLASSES, ReadState.READ, len(classes))
    return replace(cluster, node_classes=classes, reads=(*cluster.reads, read))
