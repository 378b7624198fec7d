"""Decoder of pods, by far the most numerous objects: its speed decides how long a read takes."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from kubectl_eksdoc.kubernetes.evictions import pre_stop_s
from kubectl_eksdoc.model import nodes
from kubectl_eksdoc.model.nodes import POD_ENI, BranchInterface, ControllerOwner, Toleration, requests_branch_interface
from kubectl_eksdoc.model.selectors import NOTHING, Labels, Selector

from .placement import PlacementDecoder, PlacingSpec
from .pod_details import AwsAccessDecoder, HostFilesDecoder, HostPath, build_branch
from .structs import (
    NO_RAW,
    Condition,
    InternedTexts,
    LabelSelector,
    LeanStruct,
    ObjectMeta,
    ObjectStruct,
    OwnerRef,
    RawCache,
    RawError,
    build_selector,
    fast_constructor,
    with_path,
)

# Shared values that many objects repeat: names, label sets, owners, tolerations, placements.


class TolerationEntry(LeanStruct):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class SharedValues(InternedTexts):
    """The caches of one observation."""

    __slots__ = (
        "calls",
        "hosting",
        "labels",
        "owner",
        "placing",
        "pre_stop",
        "selector",
        "template_labels",
        "template_tolerations",
        "tolerations",
    )

    def __init__(self) -> None:
        super().__init__()
        self.placing = PlacementDecoder(self)
        self.calls = AwsAccessDecoder(self)
        self.hosting = HostFilesDecoder(self)
        form: object = dict[str, str] | None
        self.labels: RawCache[dict[str, str], Labels] = RawCache("$.metadata.labels", form, self._labels, {})
        self.owner: RawCache[list[OwnerRef], ControllerOwner | None] = RawCache(
            "$.metadata.ownerReferences", list[OwnerRef] | None, self._owner, None
        )
        entries: object = list[TolerationEntry] | None
        self.tolerations: RawCache[list[TolerationEntry], tuple[Toleration, ...]] = RawCache(
            "$.spec.tolerations", entries, self._tolerations, ()
        )
        self.pre_stop: RawCache[dict[str, Any], int] = RawCache(
            "$.spec.containers[...].lifecycle",
            dict[str, Any] | None,
            lambda given: pre_stop_s(given.get("preStop")) or 0,
            0,
        )
        self.selector: RawCache[LabelSelector, Selector] = RawCache(
            "$.spec.selector", LabelSelector | None, build_selector, NOTHING
        )
        template = "$.spec.template"
        self.template_labels: RawCache[dict[str, str], Labels] = RawCache(
            f"{template}.metadata.labels", form, self._labels, {}
        )
        self.template_tolerations: RawCache[list[TolerationEntry], tuple[Toleration, ...]] = RawCache(
            f"{template}.spec.tolerations", entries, self._tolerations, ()
        )

    def _labels(self, labels: dict[str, str]) -> Labels:
        text = self.text
        return {text(k): text(v) for k, v in labels.items()}

    def _owner(self, references: list[OwnerRef]) -> ControllerOwner | None:
        """The controller; there is at most one (metav1.GetControllerOf)."""
        text = self.text
        for ref in references:
            if ref.controller:
                group = (ref.api_version or "").rpartition("/")[0]
                return ControllerOwner(text(ref.kind), text(ref.name), text(ref.uid), text(group))
        return None

    def _tolerations(self, entries: list[TolerationEntry]) -> tuple[Toleration, ...]:
        text = self.text
        return tuple(
            Toleration(text(e.key), text(e.operator) or "Equal", text(e.value), text(e.effect)) for e in entries
        )


class _EvaluatedAnnotations(LeanStruct):
    """The annotations that are evaluated (`model.nodes.JUDGED_ANNOTATIONS`), and the one of a branch interface; other
    annotations are never decoded."""

    mirror: str | None = msgspec.field(default=None, name=nodes.MIRROR_ANNOTATION)
    do_not_disrupt: str | None = msgspec.field(default=None, name=nodes.DO_NOT_DISRUPT)
    do_not_evict: str | None = msgspec.field(default=None, name=nodes.DO_NOT_EVICT)
    safe_to_evict: str | None = msgspec.field(default=None, name=nodes.SAFE_TO_EVICT)
    pod_eni: str | None = msgspec.field(default=None, name=POD_ENI)


_NO_EVALUATED_ANNOTATIONS = _EvaluatedAnnotations()


class PodMeta(ObjectMeta):
    annotations: _EvaluatedAnnotations | None = None
    finalizers: list[str] | None = None


class EmptyDir(LeanStruct):
    medium: str | None = None
    size_limit: str | int | float | None = None


class ClaimSource(LeanStruct):
    claim_name: str | None = None


class EbsSource(LeanStruct):
    volume_id: str | None = msgspec.field(default=None, name="volumeID")


class Ephemeral(LeanStruct):
    """Only its presence counts: the claim is called ``<pod>-<volume>``."""


class GitRepo(LeanStruct):
    """Only its presence counts."""


class _VolumeEntry(LeanStruct):
    name: str | None = None
    empty_dir: EmptyDir | None = None
    host_path: HostPath | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Ephemeral | None = None
    aws_elastic_block_store: EbsSource | None = None
    git_repo: GitRepo | None = None


class _Gate(LeanStruct):
    condition_type: str | None = None


class PodSpec(PlacingSpec):
    volumes: list[_VolumeEntry] | None = None
    termination_grace_period_seconds: int | None = None
    node_name: str | None = None
    tolerations: msgspec.Raw = NO_RAW
    priority: int | None = None
    preemption_policy: str | None = None
    host_network: bool | None = None
    service_account_name: str | None = None
    readiness_gates: list[_Gate] | None = None
    security_context: msgspec.Raw = NO_RAW


class PodStatus(LeanStruct):
    """Container statuses stay raw: they are decoded only if the pod is not Ready."""

    phase: str | None = None
    pod_ip: str | None = msgspec.field(default=None, name="podIP")
    conditions: list[Condition] | None = None
    init_container_statuses: msgspec.Raw = NO_RAW
    container_statuses: msgspec.Raw = NO_RAW


class PodObject(ObjectStruct):
    metadata: PodMeta | None = None
    spec: PodSpec | None = None
    status: PodStatus | None = None


class _Stopped(LeanStruct):
    reason: str | None = None


class ContainerState(LeanStruct):
    waiting: _Stopped | None = None
    terminated: _Stopped | None = None


class ContainerStatus(LeanStruct):
    state: ContainerState | None = None


_make_pod = fast_constructor(nodes.Pod)
_NO_META, _NO_SPEC, _NO_STATUS = PodMeta(), PodSpec(), PodStatus()
_NO_ANNOTATIONS: dict[str, str] = {}
_containers = msgspec.json.Decoder(list[ContainerStatus] | None)
# Searched in the raw text, because decoding all container statuses would double the cost of a pod. In a message the
# quotes are escaped, so they do not match.
_RESTART_COUNT = re.compile(rb'"restartCount":\s*[1-9]')
_SECURITY_FIELD = re.compile(rb'"(appArmorProfile|seLinuxOptions)":\s*\{')
_NORMAL_INIT_REASONS = ("", "PodInitializing", "Completed")
"""Reasons of a waiting or terminated init container that are no problem."""


def pod(struct: PodObject, share: SharedValues) -> nodes.Pod:
    """Build the `Pod` fact.

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta = struct.metadata or _NO_META
    spec = struct.spec or _NO_SPEC
    status = struct.status or _NO_STATUS
    text = share.text
    name = meta.name or ""
    ready = False
    scheduled_at = ready_at = None
    conditions = status.conditions
    if conditions:
        for condition in conditions:
            since = condition.last_transition_time
            if condition.type == "Ready":
                ready = condition.status == "True"
                ready_at = since if ready else None
            elif condition.type == "PodScheduled" and condition.status == "True":
                scheduled_at = since
    grace = spec.termination_grace_period_seconds
    placement = share.placing(spec)
    return _make_pod(
        text(meta.namespace),
        name,
        meta.uid or "",
        share.labels(meta.labels),
        text(spec.node_name),
        text(status.phase),
        ready,
        share.owner(meta.owner_references),
        _annotations(meta.annotations, share) if meta.annotations != _NO_EVALUATED_ANNOTATIONS else _NO_ANNOTATIONS,
        meta.creation_timestamp,
        meta.deletion_timestamp,
        30 if grace is None else grace,
        spec.priority or 0,
        share.tolerations(spec.tolerations),
        _volumes(spec.volumes, name, share) if spec.volumes else (),
        tuple(text(g.condition_type) for g in spec.readiness_gates) if spec.readiness_gates else (),
        share.texts(meta.finalizers),
        "" if ready else text(_not_ready_reason(status)),
        scheduled_at,
        ready_at,
        _RESTART_COUNT.search(status.container_statuses) is not None,
        placement,
        spec.preemption_policy != "Never",
        _branch_interface(meta, spec, status) if requests_branch_interface(placement.requests) else None,
        share.calls(spec.host_network, spec.service_account_name, spec.containers or ()),
        _release_note_fields(spec),
        max([share.pre_stop(each.lifecycle) for each in spec.containers or ()], default=0),
    )


def _release_note_fields(spec: PodSpec) -> tuple[str, ...]:
    """In the order of `nodes.RELEASE_NOTE_FIELDS`."""
    field_names = {match.group(1).decode() for match in _SECURITY_FIELD.finditer(spec.security_context)}
    for each in (*(spec.containers or ()), *(spec.init_containers or ())):
        if each.security_context is not NO_RAW:
            field_names.update(match.group(1).decode() for match in _SECURITY_FIELD.finditer(each.security_context))
    if any(volume.git_repo is not None for volume in spec.volumes or ()):
        field_names.add("gitRepo")
    return tuple(name for name in nodes.RELEASE_NOTE_FIELDS if name in field_names) if field_names else ()


def _branch_interface(meta: PodMeta, spec: PodSpec, status: PodStatus) -> BranchInterface:
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    annotation = meta.annotations.pod_eni if meta.annotations else None
    return build_branch(status.pod_ip or "", annotation, containers)


def _annotations(annotations: _EvaluatedAnnotations | None, share: SharedValues) -> dict[str, str]:
    if annotations is None:
        return _NO_ANNOTATIONS
    pairs = zip(annotations.__struct_encode_fields__, msgspec.structs.astuple(annotations), strict=True)
    return {key: share.text(value) for key, value in pairs if value is not None and key != POD_ENI}


def _volumes(entries: list[_VolumeEntry], pod_name: str, share: SharedValues) -> tuple[nodes.Volume, ...]:
    volumes: list[nodes.Volume] = []
    for volume in entries:
        name = volume.name or ""
        if volume.empty_dir is not None:
            limit = volume.empty_dir.size_limit
            size = "" if limit is None else share.text(str(limit))
            medium = share.text(volume.empty_dir.medium)
            volumes.append(nodes.Volume(share.text(name), nodes.VolumeKind.EMPTY_DIR, medium, size))
        elif volume.host_path is not None:
            path, kind = share.text(volume.host_path.path), share.text(volume.host_path.type)
            volumes.append(nodes.Volume(share.text(name), nodes.VolumeKind.HOST_PATH, path, path_type=kind))
        elif volume.persistent_volume_claim is not None:
            claim = volume.persistent_volume_claim.claim_name or ""
            volumes.append(nodes.Volume(share.text(name), nodes.VolumeKind.CLAIM, claim))
        elif volume.ephemeral is not None:
            # The ephemeral volume controller uses this name for the claim (k8s.io/component-helpers/storage/ephemeral).
            claim = f"{pod_name}-{name}"
            volumes.append(nodes.Volume(share.text(name), nodes.VolumeKind.EPHEMERAL, claim))
        elif volume.aws_elastic_block_store is not None:
            disk = volume.aws_elastic_block_store.volume_id or ""
            volumes.append(nodes.Volume(share.text(name), nodes.VolumeKind.AWS_EBS, disk))
    return tuple(volumes)


def _not_ready_reason(status: PodStatus) -> str:
    """Why it has no node, else the reason of the first container that waits or has terminated, else that of the Ready
    condition."""
    for condition in status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return ": ".join(text for text in (condition.reason, condition.message) if text)
    for state in _stop_reasons(status.init_container_statuses, "$.status.initContainerStatuses"):
        if state not in _NORMAL_INIT_REASONS:
            return state
    for state in _stop_reasons(status.container_statuses, "$.status.containerStatuses"):
        if state:
            return state
    reasons = {c.type: c.reason for c in status.conditions or () if c.status != "True" and c.reason}
    return reasons.get("Ready") or ""


def _stop_reasons(raw: msgspec.Raw, path: str) -> list[str]:
    """Why each container waits or has terminated, "" for one that does neither."""
    body = bytes(raw)
    if not body:
        return []
    try:
        statuses = _containers.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RawError(with_path(error, path)) from error
    reasons = []
    for status in statuses or ():
        state = status.state
        stopped = (state.waiting or state.terminated) if state else None
        reasons.append((stopped.reason if stopped else None) or "")
    return reasons
