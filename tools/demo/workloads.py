"""Controllers of the demo (Deployments, StatefulSets …) and the PodDisruptionBudgets of their pods, as the API prints
them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tools.demo.meta import Json, ago, an_object, condition, owner, uid
from tools.demo.pods import is_ready, labels_of, template_hash, template_of
from tools.demo.world import App, Rule

AGE = 50_000
"""The default age of controllers in minutes."""


def controllers_of(app: App, pods: Sequence[Json]) -> list[Json]:
    """The controllers between the application and its pods: none for a bare pod."""
    if app.kind == "Deployment":
        return [_deployment(app, pods), _replica_set(app, pods)]
    makers = {"StatefulSet": _stateful_set, "DaemonSet": _daemon_set, "Job": _job}
    return [makers[app.kind](app, pods)] if app.kind in makers else []


def budgets_of(app: App, pods: Sequence[Json]) -> list[Json]:
    """Its budgets, with the status that the disruption controller writes for these pods."""
    return [_budget(app, rule, len(pods), sum(map(is_ready, pods))) for rule in app.rules]


def an_autoscaler(app: App, minimum: int, maximum: int) -> Json:
    """A HorizontalPodAutoscaler that wants the current number of replicas."""
    target = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
    scaled = {"apiVersion": "apps/v1", "kind": app.kind, "name": app.name}
    spec: Json = {"minReplicas": minimum, "maxReplicas": maximum, "scaleTargetRef": scaled}
    spec["metrics"] = [{"type": "Resource", "resource": target}]
    now = {"name": "cpu", "current": {"averageUtilization": 58}}
    status: Json = _count(len(app.nodes), "currentReplicas", "desiredReplicas")
    status["currentMetrics"] = [{"type": "Resource", "resource": now}]
    status["conditions"] = [condition("ScalingActive", True, 90, reason="ValidMetricFound", message="")]
    return _made("autoscaling/v2", "HorizontalPodAutoscaler", app, spec, status)


def _made(
    api_version: str, kind: str, app: App, spec: Json, status: Json, *, name: str = "", age: float = AGE, **meta: Any
) -> Json:
    name, labels = name or app.name, meta.pop("labels", None) or labels_of(app)
    return an_object(api_version, kind, name, app.namespace, age=age, labels=labels, spec=spec, status=status, **meta)


def _count(number: int, *fields: str) -> Json:
    """Several fields with the same number."""
    return dict.fromkeys(fields, number)


def _spec(app: App, **rest: Any) -> Json:
    return {"selector": {"matchLabels": app.selector}, "template": template_of(app), "revisionHistoryLimit": 10, **rest}


def _deployment(app: App, pods: Sequence[Json]) -> Json:
    ready, wanted = sum(map(is_ready, pods)), len(pods)
    available = ready == wanted
    word = "Available" if available else "Unavailable"
    said = f"Deployment {'has' if available else 'does not have'} minimum availability."
    status: Json = {"observedGeneration": 1, **_count(wanted, "replicas", "updatedReplicas")}
    status |= _count(ready, "readyReplicas", "availableReplicas")
    status["conditions"] = [
        condition("Available", available, 3, reason=f"MinimumReplicas{word}", message=said, lastUpdateTime=ago(3)),
        condition("Progressing", True, 90, reason="NewReplicaSetAvailable", message="", lastUpdateTime=ago(90)),
    ]
    if not available:
        status["unavailableReplicas"] = wanted - ready
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    spec: Json = _spec(app, replicas=wanted, strategy=strategy, progressDeadlineSeconds=600)
    revision = {"deployment.kubernetes.io/revision": "1"}
    labels = {**labels_of(app), **app.own_labels}
    return _made("apps/v1", "Deployment", app, spec, status, labels=labels, annotations=revision)


def _replica_set(app: App, pods: Sequence[Json]) -> Json:
    wanted, revision = len(pods), {"pod-template-hash": template_hash(app)}
    labels, template = {**labels_of(app), **revision}, template_of(app)
    template["metadata"]["labels"] = labels
    spec: Json = {"replicas": wanted, "selector": {"matchLabels": app.selector | revision}, "template": template}
    status: Json = {"observedGeneration": 1, **_count(wanted, "replicas", "fullyLabeledReplicas")}
    status |= _count(sum(map(is_ready, pods)), "readyReplicas", "availableReplicas")
    said: Json = {"deployment.kubernetes.io/desired-replicas": str(wanted), "deployment.kubernetes.io/revision": "1"}
    meta: Json = {"name": f"{app.name}-{template_hash(app)}", "labels": labels, "annotations": said}
    owned_by = owner("apps/v1", "Deployment", app.namespace, app.name)
    return _made("apps/v1", "ReplicaSet", app, spec, status, **meta, owned_by=owned_by)


def _stateful_set(app: App, pods: Sequence[Json]) -> Json:
    wanted, revision = len(pods), f"{app.name}-{template_hash(app)}"
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": f"{app.disk}Gi"}}}
    claim |= {"storageClassName": "gp3", "volumeMode": "Filesystem"}
    claims = [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim}]
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    spec: Json = _spec(app, replicas=wanted, serviceName=app.name, podManagementPolicy="OrderedReady")
    spec |= {"volumeClaimTemplates": claims, "updateStrategy": rolling}
    status: Json = {"observedGeneration": 1, "collisionCount": 0}
    status |= _count(wanted, "replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas")
    status |= {"currentRevision": revision, "updateRevision": revision}
    return _made("apps/v1", "StatefulSet", app, spec, status)


def _daemon_set(app: App, pods: Sequence[Json]) -> Json:
    same = ("currentNumberScheduled", "desiredNumberScheduled", "numberReady", "numberAvailable")
    daemon = app.daemon
    revision = daemon.revision if daemon else 1
    status: Json = {"observedGeneration": revision, "numberMisscheduled": 0}
    status |= _count(len(pods), *same, "updatedNumberScheduled")
    rolling: Json = {"maxSurge": 0, "maxUnavailable": daemon.max_unavailable if daemon else 1}
    spec: Json = _spec(app, updateStrategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    said: Json = {"annotations": {"deprecated.daemonset.template.generation": str(revision)}}
    said["labels"] = {**labels_of(app), **app.own_labels}
    if daemon is not None:
        said |= {"labels": daemon.labels, "age": daemon.born}
    made = _made("apps/v1", "DaemonSet", app, spec, status, **said)
    made["metadata"]["generation"] = revision
    return made


def _job(app: App, pods: Sequence[Json]) -> Json:
    me = {"batch.kubernetes.io/controller-uid": uid("Job", app.namespace, app.name)}
    template = template_of(app)
    template["metadata"]["labels"] |= {**me, "batch.kubernetes.io/job-name": app.name}
    spec: Json = {"backoffLimit": 2, "completionMode": "NonIndexed", "completions": 1, "parallelism": len(pods)}
    spec |= {"manualSelector": False, "podReplacementPolicy": "TerminatingOrFailed", "suspend": False}
    spec |= {"selector": {"matchLabels": me}, "template": template}
    status: Json = {"startTime": ago(app.minutes), "terminating": 0, "uncountedTerminatedPods": {}}
    status |= _count(len(pods), "active", "ready")
    return _made("batch/v1", "Job", app, spec, status, age=app.minutes)


def _budget(app: App, rule: Rule, expected: int, healthy: int) -> Json:
    """Percentages are rounded up, for minAvailable and maxUnavailable (pkg/controller/disruption/disruption.go)."""
    amount = rule.amount
    number = amount if isinstance(amount, int) else -(-expected * int(amount.rstrip("%")) // 100)
    desired = max(0, expected - number) if rule.bound == "maxUnavailable" else number
    allowed = max(0, healthy - desired) if expected else 0
    spec: Json = {rule.bound: amount, "selector": {"matchLabels": dict(rule.selector) or app.selector}}
    if rule.policy:
        spec["unhealthyPodEvictionPolicy"] = rule.policy
    reason = "SufficientPods" if allowed else "InsufficientPods"
    verdict = condition("DisruptionAllowed", allowed > 0, 3, reason=reason, message="", observedGeneration=1)
    status: Json = {"observedGeneration": 1, "expectedPods": expected, "currentHealthy": healthy}
    status |= {"desiredHealthy": desired, "disruptionsAllowed": allowed, "conditions": [verdict]}
    return _made("policy/v1", "PodDisruptionBudget", app, spec, status, name=rule.name)
