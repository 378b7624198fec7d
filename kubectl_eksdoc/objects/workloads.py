"""What makes pods: Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers, Jobs, autoscalers."""

from __future__ import annotations

from datetime import datetime

import msgspec

from kubectl_eksdoc.core.model.workloads import Autoscaler, Job, Workload
from kubectl_eksdoc.objects.common import holds, newest_of
from kubectl_eksdoc.objects.sharing import Sharing
from kubectl_eksdoc.objects.structs import NO_RAW, Condition, Lean, Meta, Object


class TemplateMeta(Lean):
    labels: msgspec.Raw = NO_RAW


class TemplateSpec(Lean):
    node_name: str | None = None
    tolerations: msgspec.Raw = NO_RAW


class Template(Lean):
    metadata: TemplateMeta | None = None
    spec: TemplateSpec | None = None


class RollingUpdate(Lean):
    max_surge: int | str | None = None


class Strategy(Lean):
    type: str | None = None
    rolling_update: RollingUpdate | None = None


class WorkloadSpec(Lean):
    replicas: int | None = None
    template: Template | None = None
    strategy: Strategy | None = None


class WorkloadStatus(Lean):
    desired_number_scheduled: int | None = None
    conditions: list[Condition] | None = None


class WorkloadObject(Object):
    spec: WorkloadSpec | None = None
    status: WorkloadStatus | None = None


class PodConditionPattern(Lean):
    type: str | None = None


class FailureRule(Lean):
    action: str | None = None
    on_pod_conditions: list[PodConditionPattern] | None = None


class FailurePolicy(Lean):
    rules: list[FailureRule] | None = None


class JobSpec(Lean):
    backoff_limit: int | None = None
    completions: int | None = None
    pod_failure_policy: FailurePolicy | None = None


class JobStatus(Lean):
    active: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    conditions: list[Condition] | None = None


class JobObject(Object):
    spec: JobSpec | None = None
    status: JobStatus | None = None


class ScaleTarget(Lean):
    kind: str | None = None
    name: str | None = None


class AutoscalerSpec(Lean):
    scale_target_ref: ScaleTarget | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None


class AutoscalerObject(Object):
    spec: AutoscalerSpec | None = None


def workload(given: WorkloadObject, share: Sharing, kind: str) -> tuple[Workload, datetime | None]:
    """The fact, and the newest time the object tells. Absent spec.replicas means 1, as the API defaults it.

    Raises:
        RawError: a part that is decoded late has a wrong type.
    """
    meta, spec, status = given.metadata or Meta(), given.spec or WorkloadSpec(), given.status or WorkloadStatus()
    template = spec.template or Template()
    template_meta, template_spec = template.metadata or TemplateMeta(), template.spec or TemplateSpec()
    replicas = 1 if spec.replicas is None else spec.replicas
    fact = Workload(
        kind=kind,
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        uid=share.text(meta.uid),
        replicas=(status.desired_number_scheduled or 0) if kind == "DaemonSet" else replicas,
        owner=share.owner(meta.owner_references),
        template_labels=share.template_labels(template_meta.labels),
        template_tolerations=share.template_tolerations(template_spec.tolerations),
        pinned_to=share.text(template_spec.node_name),
        surges=kind == "Deployment" and _surges(spec.strategy),
    )
    return fact, newest_of(status.conditions, meta.creation_timestamp)


def _surges(strategy: Strategy | None) -> bool:
    """RollingUpdate is the default type, and 25% its default maxSurge (pkg/apis/apps/v1/defaults.go)."""
    if strategy is None:
        return True
    if strategy.type not in (None, "", "RollingUpdate"):
        return False
    surge = strategy.rolling_update.max_surge if strategy.rolling_update else None
    return surge is None or str(surge).rstrip("%").lstrip("0") != ""


def job(given: JobObject, share: Sharing) -> tuple[Job, datetime | None]:
    """The fact, and the newest time the object tells. Absent backoffLimit means 6, as the API defaults it."""
    meta, spec, status = given.metadata or Meta(), given.spec or JobSpec(), given.status or JobStatus()
    rules = (spec.pod_failure_policy.rules if spec.pod_failure_policy else None) or ()
    fact = Job(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        uid=share.text(meta.uid),
        backoff_limit=6 if spec.backoff_limit is None else spec.backoff_limit,
        active=status.active or 0,
        succeeded=status.succeeded or 0,
        failed=status.failed or 0,
        completions=spec.completions,
        finished=holds(status.conditions, "Complete", "Failed"),
        ignores_disruption=any(
            rule.action == "Ignore" and any(p.type == "DisruptionTarget" for p in rule.on_pod_conditions or ())
            for rule in rules
        ),
    )
    return fact, newest_of(status.conditions, meta.creation_timestamp)


def autoscaler(given: AutoscalerObject, share: Sharing) -> tuple[Autoscaler, datetime | None]:
    """The fact, and the newest time the object tells. Absent minReplicas means 1, as the API defaults it."""
    meta, spec = given.metadata or Meta(), given.spec or AutoscalerSpec()
    target = spec.scale_target_ref or ScaleTarget()
    fact = Autoscaler(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        target_kind=share.text(target.kind),
        target_name=share.text(target.name),
        minimum=1 if spec.min_replicas is None else spec.min_replicas,
        maximum=spec.max_replicas or 0,
    )
    return fact, meta.creation_timestamp
