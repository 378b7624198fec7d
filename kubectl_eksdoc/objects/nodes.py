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
from kubectl_eksdoc.model.placing import PODS
from kubectl_eksdoc.model.workloads import RebootLock

from .placement import Quantity, allocatable, amounts
from .pods import SharedTexts
from .structs import Condition, Lean, Meta, Object, Time, condition

CLUSTER_LABEL = "alpha.eksctl.io/cluster-name"


class TaintEntry(Lean):
    key: str | None = None
    value: str | None = None
    effect: str | None = None


class NodeSpec(Lean):
    unschedulable: bool | None = None
    taints: list[TaintEntry] | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")


class NodeInfo(Lean):
    kubelet_version: str | None = None
    os_image: str | None = None
    container_runtime_version: str | None = None


class NodeStatus(Lean):
    conditions: list[Condition] | None = None
    node_info: NodeInfo | None = None
    allocatable: dict[str, Quantity | None] | None = None


class NodeNotes(Lean, rename={"run": run_notes.RUN, "prior": run_notes.PRIOR, "rebooting": REBOOT_IN_PROGRESS}):
    """The annotations that are evaluated; others are never decoded."""

    run: str | None = None
    prior: str | None = None
    rebooting: str | None = None


class NodeMeta(Meta):
    annotations: NodeNotes | None = None


class NodeObject(Object):
    metadata: NodeMeta | None = None
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


def node(given: NodeObject, share: SharedTexts) -> Node:
    """Build the `Node` fact.

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta, spec, status = given.metadata or NodeMeta(), given.spec or NodeSpec(), given.status or NodeStatus()
    info, text = status.node_info or NodeInfo(), share.text
    ready = condition(status.conditions, "Ready")
    kubelet = text(info.kubelet_version)
    room = allocatable(amounts(status.allocatable or {}, "$.status.allocatable"))
    return Node(
        name=text(meta.name),
        uid=meta.uid or "",
        labels=share.labels(meta.labels),
        unschedulable=bool(spec.unschedulable),
        taints=tuple(Taint(text(t.key), text(t.value), text(t.effect)) for t in spec.taints or ()),
        ready=text(ready.status if ready else None) or "Unknown",
        kubelet=quantities.parse(kubelet),
        kubelet_text=kubelet,
        os_image=text(info.os_image),
        runtime=text(info.container_runtime_version),
        provider_id=spec.provider_id or "",
        created_at=meta.creation_timestamp,
        deletion_at=meta.deletion_timestamp,
        pods_allocatable=room.get(PODS, 0),
        allocatable={text(name): amount for name, amount in room.items()},
        annotations=_judged(meta.annotations),
        note=_note(meta.annotations) if meta.annotations is not None else None,
    )


def _judged(noted: NodeNotes | None) -> dict[str, str]:
    if noted is None or noted.rebooting is None:
        return {}
    return {REBOOT_IN_PROGRESS: noted.rebooting}


def _note(noted: NodeNotes) -> RunNote | None:
    """None if no run of this tool has changed the node; users may have written anything."""
    if not noted.run or not is_run_id(noted.run):
        return None
    try:
        prior = msgspec.json.decode(noted.prior or "", type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return RunNote(noted.run)
    protects = run_notes.PROTECTED in prior
    drains = not protects or not prior.keys().isdisjoint((run_notes.UNSCHEDULABLE, run_notes.LABELS))
    journal = prior.get(run_notes.JOURNAL)
    named = str(journal) if is_namespace(journal) else ""
    return RunNote(noted.run, named, drains, protects, prior.get(run_notes.SKIPPED) is True)


def identity_from(nodes: Iterable[Node]) -> Identity:
    """The cluster's identity according to the nodes' labels; "" for values that are missing or differ.

    Nodes without the label do not count: Fargate and Karpenter nodes have no eksctl label.
    """
    clusters, regions = set(), set()
    for each in nodes:
        clusters.add(each.labels.get(CLUSTER_LABEL, ""))
        regions.add(each.region)
    return Identity(cluster=_only(clusters), region=_only(regions))


def _only(values: set[str]) -> str:
    told = values - {""}
    return told.pop() if len(told) == 1 else ""


# kured's lock, as written on its DaemonSet: for one node, or for several if kured has a --concurrency.
#
# Source: kubereboot/kured pkg/daemonsetlock/daemonsetlock.go (LockAnnotationValue, multiLockAnnotationValue).


_SECOND_NS = 1_000_000_000


class _Lock(Lean):
    node: str = msgspec.field(default="", name="nodeID")
    created: Time | None = None
    ttl_ns: int = msgspec.field(default=0, name="TTL")


class _Locks(_Lock):
    locks: list[_Lock] | None = None


_decode = msgspec.json.Decoder(_Locks).decode


def reboot_locks(written: str | None) -> tuple[RebootLock, ...]:
    """The locks that are held, including expired ones; none if kured itself could not read the annotation."""
    if not written:
        return ()
    try:
        found = _decode(written)
    except (msgspec.MsgspecError, RecursionError):
        return ()
    return tuple(_held(found))


def _held(found: _Locks) -> Iterator[RebootLock]:
    for lock in (found, *(found.locks or ())):
        if lock.node:
            expires = lock.created is not None and lock.ttl_ns > 0
            until = lock.created + timedelta(seconds=lock.ttl_ns / _SECOND_NS) if expires and lock.created else None
            yield RebootLock(lock.node, until)
