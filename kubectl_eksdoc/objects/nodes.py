"""Decoder of nodes, of the cluster's identity from their labels, and of kured's reboot locks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

import msgspec

from kubectl_eksdoc.model import journal as run_notes
from kubectl_eksdoc.model import quantities
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.model.journal import is_namespace, is_run_id
from kubectl_eksdoc.model.nodes import REBOOT_IN_PROGRESS, Node, RunNote, Taint
from kubectl_eksdoc.model.placement import PODS
from kubectl_eksdoc.model.workloads import RebootLock

from .placement import Quantity, allocatable, parse_amounts
from .pods import SharedValues
from .structs import Condition, LeanStruct, ObjectMeta, ObjectStruct, Time, find_condition

CLUSTER_LABEL = "alpha.eksctl.io/cluster-name"


class TaintEntry(LeanStruct):
    key: str | None = None
    value: str | None = None
    effect: str | None = None


class NodeSpec(LeanStruct):
    unschedulable: bool | None = None
    taints: list[TaintEntry] | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")


class NodeInfo(LeanStruct):
    kubelet_version: str | None = None
    os_image: str | None = None
    container_runtime_version: str | None = None


class NodeStatus(LeanStruct):
    conditions: list[Condition] | None = None
    node_info: NodeInfo | None = None
    allocatable: dict[str, Quantity | None] | None = None


class NodeAnnotations(
    LeanStruct,
    rename={"run": run_notes.RUN_ANNOTATION, "prior": run_notes.PRIOR_ANNOTATION, "rebooting": REBOOT_IN_PROGRESS},
):
    """The annotations that are evaluated; others are never decoded."""

    run: str | None = None
    prior: str | None = None
    rebooting: str | None = None


class NodeMeta(ObjectMeta):
    annotations: NodeAnnotations | None = None


class NodeObject(ObjectStruct):
    metadata: NodeMeta | None = None
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


def node(struct: NodeObject, share: SharedValues) -> Node:
    """Build the `Node` fact.

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta, spec, status = struct.metadata or NodeMeta(), struct.spec or NodeSpec(), struct.status or NodeStatus()
    info, text = status.node_info or NodeInfo(), share.text
    ready = find_condition(status.conditions, "Ready")
    kubelet = text(info.kubelet_version)
    amounts_by_name = allocatable(parse_amounts(status.allocatable or {}, "$.status.allocatable"))
    return Node(
        name=text(meta.name),
        uid=meta.uid or "",
        labels=share.labels(meta.labels),
        unschedulable=bool(spec.unschedulable),
        taints=tuple(Taint(text(t.key), text(t.value), text(t.effect)) for t in spec.taints or ()),
        ready=text(ready.status if ready else None) or "Unknown",
        kubelet=quantities.parse_version(kubelet),
        kubelet_text=kubelet,
        os_image=text(info.os_image),
        runtime=text(info.container_runtime_version),
        provider_id=spec.provider_id or "",
        created_at=meta.creation_timestamp,
        deletion_at=meta.deletion_timestamp,
        pods_allocatable=amounts_by_name.get(PODS, 0),
        allocatable={text(name): amount for name, amount in amounts_by_name.items()},
        annotations=_evaluated_annotations(meta.annotations),
        note=_run_note(meta.annotations) if meta.annotations is not None else None,
    )


def _evaluated_annotations(annotations: NodeAnnotations | None) -> dict[str, str]:
    if annotations is None or annotations.rebooting is None:
        return {}
    return {REBOOT_IN_PROGRESS: annotations.rebooting}


def _run_note(annotations: NodeAnnotations) -> RunNote | None:
    """None if no run of this tool has changed the node; users may have written anything."""
    if not annotations.run or not is_run_id(annotations.run):
        return None
    try:
        prior = msgspec.json.decode(annotations.prior or "", type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return RunNote(annotations.run)
    protects = run_notes.PROTECTED_KEY in prior
    drains = not protects or not prior.keys().isdisjoint((run_notes.UNSCHEDULABLE_KEY, run_notes.LABELS_KEY))
    journal = prior.get(run_notes.JOURNAL_KEY)
    journal_namespace = str(journal) if is_namespace(journal) else ""
    return RunNote(annotations.run, journal_namespace, drains, protects, prior.get(run_notes.SKIPPED_KEY) is True)


def identity_from(nodes: Iterable[Node]) -> Identity:
    """The cluster's identity according to the nodes' labels; "" for values that are missing or differ.

    Nodes without the label do not count: Fargate and Karpenter nodes have no eksctl label.
    """
    clusters, regions = set(), set()
    for each in nodes:
        clusters.add(each.labels.get(CLUSTER_LABEL, ""))
        regions.add(each.region)
    return Identity(cluster=_single_value(clusters), region=_single_value(regions))


def _single_value(values: set[str]) -> str:
    known = values - {""}
    return known.pop() if len(known) == 1 else ""


# kured's lock, as written on its DaemonSet: for one node, or for several if kured has a --concurrency.
#
# Source: kubereboot/kured pkg/daemonsetlock/daemonsetlock.go (LockAnnotationValue, multiLockAnnotationValue).


_SECOND_NS = 1_000_000_000


class _Lock(LeanStruct):
    node: str = msgspec.field(default="", name="nodeID")
    created: Time | None = None
    ttl_ns: int = msgspec.field(default=0, name="TTL")


class _Locks(_Lock):
    locks: list[_Lock] | None = None


_decode = msgspec.json.Decoder(_Locks).decode


def reboot_locks(annotation: str | None) -> tuple[RebootLock, ...]:
    """The locks that are held, including expired ones; none if kured itself could not read the annotation."""
    if not annotation:
        return ()
    try:
        locks = _decode(annotation)
    except (msgspec.MsgspecError, RecursionError):
        return ()
    return tuple(_held_locks(locks))


def _held_locks(locks: _Locks) -> Iterator[RebootLock]:
    for lock in (locks, *(locks.locks or ())):
        if lock.node:
            expires = lock.created is not None and lock.ttl_ns > 0
            until = lock.created + timedelta(seconds=lock.ttl_ns / _SECOND_NS) if expires and lock.created else None
            yield RebootLock(lock.node, until)
