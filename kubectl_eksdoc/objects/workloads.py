"""Decoder of workloads: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs; HorizontalPodAutoscalers
and PodDisruptionBudgets."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.selectors import NOTHING
from kubectl_eksdoc.model.workloads import (
    DEFAULT_PROGRESS_DEADLINE_S,
    NO_HOST_FILES,
    NO_TEMPLATE,
    REBOOT_LOCK_ANNOTATION,
    Autoscaler,
    CronJob,
    HostFiles,
    Job,
    PodTemplate,
    Workload,
)

from .nodes import reboot_locks
from .pod_details import HostingSpec
from .pods import SharedValues
from .structs import (
    NO_RAW,
    Condition,
    LabelSelector,
    LeanStruct,
    ObjectMeta,
    ObjectStruct,
    Time,
    any_condition_true,
    build_amount,
    build_selector,
    find_condition,
)


class TemplateMeta(LeanStruct):
    labels: msgspec.Raw = NO_RAW


class TemplateSpec(HostingSpec):
    node_name: str | None = None
    tolerations: msgspec.Raw = NO_RAW
    affinity: msgspec.Raw = NO_RAW
    topology_spread_constraints: list[msgspec.Raw] | None = None
    readiness_gates: list[msgspec.Raw] | None = None
    termination_grace_period_seconds: int | None = None


class _Template(LeanStruct):
    metadata: TemplateMeta | None = None
    spec: TemplateSpec | None = None


class RollingUpdate(LeanStruct):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class Strategy(LeanStruct):
    type: str | None = None
    rolling_update: RollingUpdate | None = None


class WorkloadSpec(LeanStruct):
    selector: msgspec.Raw = NO_RAW  # a ReplicationController's has another form
    replicas: int | None = None
    template: _Template | None = None
    strategy: Strategy | None = None
    paused: bool | None = None
    progress_deadline_seconds: int | None = None
    min_ready_seconds: int | None = None


class WorkloadStatus(LeanStruct):
    desired_number_scheduled: int | None = None
    conditions: list[Condition] | None = None


class _JudgedAnnotations(LeanStruct, rename={"reboot_lock": REBOOT_LOCK_ANNOTATION}):
    """Other annotations are never decoded."""

    reboot_lock: str | None = None


class WorkloadMeta(ObjectMeta):
    annotations: _JudgedAnnotations | None = None


class WorkloadObject(ObjectStruct):
    metadata: WorkloadMeta | None = None
    spec: WorkloadSpec | None = None
    status: WorkloadStatus | None = None


class PodConditionPattern(LeanStruct):
    type: str | None = None
    status: str | None = None


class FailureRule(LeanStruct):
    action: str | None = None
    on_pod_conditions: list[PodConditionPattern] | None = None


class FailurePolicy(LeanStruct):
    rules: list[FailureRule] | None = None


class JobSpec(LeanStruct):
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    completions: int | None = None
    pod_failure_policy: FailurePolicy | None = None
    template: _Template | None = None


class JobStatus(LeanStruct):
    active: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    conditions: list[Condition] | None = None


class JobObject(ObjectStruct):
    spec: JobSpec | None = None
    status: JobStatus | None = None


class JobTemplate(LeanStruct):
    spec: JobSpec | None = None


class CronJobSpec(LeanStruct):
    job_template: JobTemplate | None = None


class CronJobObject(ObjectStruct):
    spec: CronJobSpec | None = None


class ScaleTarget(LeanStruct):
    kind: str | None = None
    name: str | None = None


class AutoscalerSpec(LeanStruct):
    scale_target_ref: ScaleTarget | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None


class AutoscalerObject(ObjectStruct):
    spec: AutoscalerSpec | None = None


class _Rollout(NamedTuple):
    """How many pods an update adds before it stops old ones, and how many it may remove before that."""

    surge: int
    unavailable: int


NO_ROLLOUT = _Rollout(0, 0)

_SELECTORS_READ = ("Deployment", "StatefulSet")
_TEMPLATES_READ = ("Deployment", "StatefulSet", "DaemonSet")

_AMOUNT = re.compile(r"(\d{1,9})(%?)\Z")
_DEFAULT_AMOUNT = "25%"


def workload(struct: WorkloadObject, share: SharedValues, kind: str) -> Workload:
    """Build the `Workload` fact. A missing spec.replicas means 1, as the API defaults it.

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta, spec = struct.metadata or WorkloadMeta(), struct.spec or WorkloadSpec()
    annotations, status = meta.annotations or _JudgedAnnotations(), struct.status or WorkloadStatus()
    template = spec.template or _Template()
    template_meta, template_spec = template.metadata or TemplateMeta(), template.spec or TemplateSpec()
    replicas = 1 if spec.replicas is None else spec.replicas
    rolling = _rollout(spec.strategy, max(replicas, 1)) if kind == "Deployment" else NO_ROLLOUT
    return Workload(
        kind=kind,
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        uid=share.text(meta.uid),
        replicas=(status.desired_number_scheduled or 0) if kind == "DaemonSet" else replicas,
        owner=share.owner(meta.owner_references),
        template_labels=share.template_labels(template_meta.labels),
        template_tolerations=share.template_tolerations(template_spec.tolerations),
        pinned_to=share.text(template_spec.node_name),
        surges=rolling.surge > 0,
        rollout_unavailable=min(rolling.unavailable, replicas),
        paused=kind == "Deployment" and bool(spec.paused),
        progress_deadline_s=DEFAULT_PROGRESS_DEADLINE_S
        if spec.progress_deadline_seconds is None
        else spec.progress_deadline_seconds,
        selector=share.selector(spec.selector) if kind in _SELECTORS_READ else NOTHING,
        reboot_locks=reboot_locks(annotations.reboot_lock) if kind == "DaemonSet" else (),
        host=share.hosting(template_spec),
        template=_pod_template(template_spec) if kind in _TEMPLATES_READ else NO_TEMPLATE,
        min_ready_s=spec.min_ready_seconds or 0,
    )


# Only as names of fields: inside a value quotes are escaped, so nothing else matches.
_READINESS = re.compile(rb'"readinessProbe":\s*\{')
_ANTI_AFFINITY = re.compile(rb'"podAntiAffinity":\s*\{\s*"')


def _pod_template(spec: TemplateSpec) -> PodTemplate:
    grace = spec.termination_grace_period_seconds
    return PodTemplate(
        bool(spec.readiness_gates) or _READINESS.search(spec.containers) is not None,
        bool(spec.topology_spread_constraints) or _ANTI_AFFINITY.search(spec.affinity) is not None,
        30 if grace is None else grace,
    )


def _rollout(strategy: Strategy | None, replicas: int) -> _Rollout:
    """The rollout strategy of a Deployment with that many replicas, as numbers.

    RollingUpdate is the default type, and 25% the default of both amounts (pkg/apis/apps/v1/defaults.go). maxSurge
    rounds up and maxUnavailable down; if both are 0, one may be unavailable
    (pkg/controller/deployment/util/deployment_util.go: ResolveFenceposts).
    """
    if strategy is not None and strategy.type not in (None, "", "RollingUpdate"):
        return _Rollout(0, replicas)
    rolling = (strategy.rolling_update if strategy else None) or RollingUpdate()
    surge = _resolve_amount(rolling.max_surge, replicas, round_up=True)
    unavailable = _resolve_amount(rolling.max_unavailable, replicas, round_up=False)
    if surge == unavailable == 0:
        unavailable = 1
    return _Rollout(surge, unavailable)


def _resolve_amount(amount_value: int | str | None, replicas: int, *, round_up: bool) -> int:
    """Invalid text counts as the default: the API server would not have accepted it."""
    if isinstance(amount_value, int):
        return max(amount_value, 0)
    match = _AMOUNT.match(amount_value or _DEFAULT_AMOUNT) or _AMOUNT.match(_DEFAULT_AMOUNT)
    assert match is not None
    value = int(match[1])
    if not match[2]:
        return value
    return -(-value * replicas // 100) if round_up else value * replicas // 100


def _disruption_action(policy: FailurePolicy | None) -> str:
    """The action of the first rule for evicted pods, "" without one; rules are checked in their order."""
    for rule in (policy.rules if policy else None) or ():
        for pattern in rule.on_pod_conditions or ():
            if pattern.type == "DisruptionTarget" and pattern.status in (None, "", "True"):
                return rule.action or ""
    return ""


def job(struct: JobObject, share: SharedValues) -> Job:
    """Build the `Job` fact. A missing backoffLimit means 6, as the API defaults it.

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta, spec, status = struct.metadata or ObjectMeta(), struct.spec or JobSpec(), struct.status or JobStatus()
    on_disruption = _disruption_action(spec.pod_failure_policy)
    return Job(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        uid=share.text(meta.uid),
        backoff_limit=6 if spec.backoff_limit is None else spec.backoff_limit,
        active=status.active or 0,
        succeeded=status.succeeded or 0,
        failed=status.failed or 0,
        completions=spec.completions,
        finished=any_condition_true(status.conditions, "Complete", "Failed"),
        ignores_disruption=on_disruption == "Ignore",
        fails_on_disruption=on_disruption in ("FailJob", "FailIndex"),
        backoff_limit_per_index=spec.backoff_limit_per_index,
        owner=share.owner(meta.owner_references),
        host=_host_files(spec.template, share),
    )


def cron_job(struct: CronJobObject, share: SharedValues) -> CronJob:
    """Build the `CronJob` fact.

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta, spec, text = struct.metadata or ObjectMeta(), struct.spec or CronJobSpec(), share.text
    job_spec = (spec.job_template or JobTemplate()).spec or JobSpec()
    return CronJob(text(meta.namespace), text(meta.name), text(meta.uid), _host_files(job_spec.template, share))


def _host_files(template: _Template | None, share: SharedValues) -> HostFiles:
    return share.hosting(template.spec) if template and template.spec else NO_HOST_FILES


def autoscaler(struct: AutoscalerObject, share: SharedValues) -> Autoscaler:
    """Build the `Autoscaler` fact. A missing minReplicas means 1, as the API defaults it."""
    meta, spec = struct.metadata or ObjectMeta(), struct.spec or AutoscalerSpec()
    target = spec.scale_target_ref or ScaleTarget()
    return Autoscaler(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        target_kind=share.text(target.kind),
        target_name=share.text(target.name),
        minimum=1 if spec.min_replicas is None else spec.min_replicas,
        maximum=spec.max_replicas or 0,
    )


# PodDisruptionBudgets: their spec, and the numbers that the disruption controller wrote.


class BudgetMeta(ObjectMeta):
    generation: int | None = None


class _BudgetSpec(LeanStruct):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class BudgetState(LeanStruct):
    conditions: list[Condition] | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None
    disruptions_allowed: int | None = None
    expected_pods: int | None = None
    observed_generation: int | None = None
    disrupted_pods: dict[str, Time] | None = None


class BudgetObject(ObjectStruct):
    metadata: BudgetMeta | None = None
    spec: _BudgetSpec | None = None
    status: BudgetState | None = None


def budget(struct: BudgetObject, share: SharedValues) -> Budget:
    """Build the `Budget` fact. A missing selector matches nothing, ``{}`` everything (policy/v1).

    Raises:
        RawError: minAvailable or maxUnavailable is neither a number nor a percentage.
    """
    meta, spec, state = struct.metadata or BudgetMeta(), struct.spec or _BudgetSpec(), struct.status or BudgetState()
    allowed = find_condition(state.conditions, "DisruptionAllowed") or Condition()
    text = share.text
    return Budget(
        namespace=text(meta.namespace),
        name=text(meta.name),
        uid=meta.uid or "",
        selector=build_selector(spec.selector),
        status=BudgetStatus(
            allowed=state.disruptions_allowed or 0,
            current=state.current_healthy or 0,
            desired=state.desired_healthy or 0,
            expected=state.expected_pods or 0,
        ),
        min_available=build_amount(spec.min_available, "$.spec.minAvailable"),
        max_unavailable=build_amount(spec.max_unavailable, "$.spec.maxUnavailable"),
        unhealthy_policy=text(spec.unhealthy_pod_eviction_policy),
        generation=meta.generation or 0,
        observed_generation=state.observed_generation or 0,
        condition_status=text(allowed.status),
        condition_reason=text(allowed.reason),
        condition_message=text(allowed.message),
        condition_since=allowed.last_transition_time,
        disrupted=state.disrupted_pods or {},
    )
