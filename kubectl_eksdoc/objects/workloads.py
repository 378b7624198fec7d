"""Decoder of workloads: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs; HorizontalPodAutoscalers
and PodDisruptionBudgets."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.selectors import NOTHING
from kubectl_eksdoc.model.workloads import (
    NO_HOST_FILES,
    NO_TEMPLATE,
    PROGRESS_S,
    REBOOT_LOCK,
    Autoscaler,
    CronJob,
    HostFiles,
    Job,
    PodTemplate,
    Workload,
)

from .nodes import reboot_locks
from .pod_details import HostingSpec
from .pods import SharedTexts
from .structs import (
    NO_RAW,
    Condition,
    LabelSelector,
    Lean,
    Meta,
    Object,
    Time,
    amount,
    condition,
    holds,
    selector,
)


class TemplateMeta(Lean):
    labels: msgspec.Raw = NO_RAW


class TemplateSpec(HostingSpec):
    node_name: str | None = None
    tolerations: msgspec.Raw = NO_RAW
    affinity: msgspec.Raw = NO_RAW
    topology_spread_constraints: list[msgspec.Raw] | None = None
    readiness_gates: list[msgspec.Raw] | None = None
    termination_grace_period_seconds: int | None = None


class _Template(Lean):
    metadata: TemplateMeta | None = None
    spec: TemplateSpec | None = None


class RollingUpdate(Lean):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class Strategy(Lean):
    type: str | None = None
    rolling_update: RollingUpdate | None = None


class WorkloadSpec(Lean):
    selector: msgspec.Raw = NO_RAW  # a ReplicationController's has another form
    replicas: int | None = None
    template: _Template | None = None
    strategy: Strategy | None = None
    paused: bool | None = None
    progress_deadline_seconds: int | None = None
    min_ready_seconds: int | None = None


class WorkloadStatus(Lean):
    desired_number_scheduled: int | None = None
    conditions: list[Condition] | None = None


class _JudgedAnnotations(Lean, rename={"reboot_lock": REBOOT_LOCK}):
    """Other annotations are never decoded."""

    reboot_lock: str | None = None


class WorkloadMeta(Meta):
    annotations: _JudgedAnnotations | None = None


class WorkloadObject(Object):
    metadata: WorkloadMeta | None = None
    spec: WorkloadSpec | None = None
    status: WorkloadStatus | None = None


class PodConditionPattern(Lean):
    type: str | None = None
    status: str | None = None


class FailureRule(Lean):
    action: str | None = None
    on_pod_conditions: list[PodConditionPattern] | None = None


class FailurePolicy(Lean):
    rules: list[FailureRule] | None = None


class JobSpec(Lean):
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    completions: int | None = None
    pod_failure_policy: FailurePolicy | None = None
    template: _Template | None = None


class JobStatus(Lean):
    active: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    conditions: list[Condition] | None = None


class JobObject(Object):
    spec: JobSpec | None = None
    status: JobStatus | None = None


class JobTemplate(Lean):
    spec: JobSpec | None = None


class CronJobSpec(Lean):
    job_template: JobTemplate | None = None


class CronJobObject(Object):
    spec: CronJobSpec | None = None


class ScaleTarget(Lean):
    kind: str | None = None
    name: str | None = None


class AutoscalerSpec(Lean):
    scale_target_ref: ScaleTarget | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None


class AutoscalerObject(Object):
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


def workload(given: WorkloadObject, share: SharedTexts, kind: str) -> Workload:
    """Build the `Workload` fact. A missing spec.replicas means 1, as the API defaults it.

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta, spec = given.metadata or WorkloadMeta(), given.spec or WorkloadSpec()
    notes, status = meta.annotations or _JudgedAnnotations(), given.status or WorkloadStatus()
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
        progress_s=PROGRESS_S if spec.progress_deadline_seconds is None else spec.progress_deadline_seconds,
        selector=share.selector(spec.selector) if kind in _SELECTORS_READ else NOTHING,
        reboot_locks=reboot_locks(notes.reboot_lock) if kind == "DaemonSet" else (),
        host=share.hosting(template_spec),
        template=_template(template_spec) if kind in _TEMPLATES_READ else NO_TEMPLATE,
        min_ready_s=spec.min_ready_seconds or 0,
    )


# Only as names of fields: inside a value quotes are escaped, so nothing else matches.
_READINESS = re.compile(rb'"readinessProbe":\s*\{')
_ANTI_AFFINITY = re.compile(rb'"podAntiAffinity":\s*\{\s*"')


def _template(given: TemplateSpec) -> PodTemplate:
    grace = given.termination_grace_period_seconds
    return PodTemplate(
        bool(given.readiness_gates) or _READINESS.search(given.containers) is not None,
        bool(given.topology_spread_constraints) or _ANTI_AFFINITY.search(given.affinity) is not None,
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
    surge = _resolved(rolling.max_surge, replicas, round_up=True)
    unavailable = _resolved(rolling.max_unavailable, replicas, round_up=False)
    if surge == unavailable == 0:
        unavailable = 1
    return _Rollout(surge, unavailable)


def _resolved(given: int | str | None, replicas: int, *, round_up: bool) -> int:
    """Invalid text counts as the default: the API server would not have accepted it."""
    if isinstance(given, int):
        return max(given, 0)
    match = _AMOUNT.match(given or _DEFAULT_AMOUNT) or _AMOUNT.match(_DEFAULT_AMOUNT)
    assert match is not None
    value = int(match[1])
    if not match[2]:
        return value
    return -(-value * replicas // 100) if round_up else value * replicas // 100


def _on_disruption(policy: FailurePolicy | None) -> str:
    """The action of the first rule for evicted pods, "" without one; rules are checked in their order."""
    for rule in (policy.rules if policy else None) or ():
        for pattern in rule.on_pod_conditions or ():
            if pattern.type == "DisruptionTarget" and pattern.status in (None, "", "True"):
                return rule.action or ""
    return ""


def job(given: JobObject, share: SharedTexts) -> Job:
    """Build the `Job` fact. A missing backoffLimit means 6, as the API defaults it.

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta, spec, status = given.metadata or Meta(), given.spec or JobSpec(), given.status or JobStatus()
    on_disruption = _on_disruption(spec.pod_failure_policy)
    return Job(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        uid=share.text(meta.uid),
        backoff_limit=6 if spec.backoff_limit is None else spec.backoff_limit,
        active=status.active or 0,
        succeeded=status.succeeded or 0,
        failed=status.failed or 0,
        completions=spec.completions,
        finished=holds(status.conditions, "Complete", "Failed"),
        ignores_disruption=on_disruption == "Ignore",
        fails_on_disruption=on_disruption in ("FailJob", "FailIndex"),
        backoff_limit_per_index=spec.backoff_limit_per_index,
        owner=share.owner(meta.owner_references),
        host=_host(spec.template, share),
    )


def cron_job(given: CronJobObject, share: SharedTexts) -> CronJob:
    """Build the `CronJob` fact.

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta, spec, text = given.metadata or Meta(), given.spec or CronJobSpec(), share.text
    made = (spec.job_template or JobTemplate()).spec or JobSpec()
    return CronJob(text(meta.namespace), text(meta.name), text(meta.uid), _host(made.template, share))


def _host(given: _Template | None, share: SharedTexts) -> HostFiles:
    return share.hosting(given.spec) if given and given.spec else NO_HOST_FILES


def autoscaler(given: AutoscalerObject, share: SharedTexts) -> Autoscaler:
    """Build the `Autoscaler` fact. A missing minReplicas means 1, as the API defaults it."""
    meta, spec = given.metadata or Meta(), given.spec or AutoscalerSpec()
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


class BudgetMeta(Meta):
    generation: int | None = None


class _BudgetSpec(Lean):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class BudgetState(Lean):
    conditions: list[Condition] | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None
    disruptions_allowed: int | None = None
    expected_pods: int | None = None
    observed_generation: int | None = None
    disrupted_pods: dict[str, Time] | None = None


class BudgetObject(Object):
    metadata: BudgetMeta | None = None
    spec: _BudgetSpec | None = None
    status: BudgetState | None = None


def budget(given: BudgetObject, share: SharedTexts) -> Budget:
    """Build the `Budget` fact. A missing selector matches nothing, ``{}`` everything (policy/v1).

    Raises:
        RawError: minAvailable or maxUnavailable is neither a number nor a percentage.
    """
    meta, spec, state = given.metadata or BudgetMeta(), given.spec or _BudgetSpec(), given.status or BudgetState()
    allowed = condition(state.conditions, "DisruptionAllowed") or Condition()
    text = share.text
    return Budget(
        namespace=text(meta.namespace),
        name=text(meta.name),
        uid=meta.uid or "",
        selector=selector(spec.selector),
        status=BudgetStatus(
            allowed=state.disruptions_allowed or 0,
            current=state.current_healthy or 0,
            desired=state.desired_healthy or 0,
            expected=state.expected_pods or 0,
        ),
        min_available=amount(spec.min_available, "$.spec.minAvailable"),
        max_unavailable=amount(spec.max_unavailable, "$.spec.maxUnavailable"),
        unhealthy_policy=text(spec.unhealthy_pod_eviction_policy),
        generation=meta.generation or 0,
        observed_generation=state.observed_generation or 0,
        condition_status=text(allowed.status),
        condition_reason=text(allowed.reason),
        condition_message=text(allowed.message),
        condition_since=allowed.last_transition_time,
        disrupted=state.disrupted_pods or {},
    )
