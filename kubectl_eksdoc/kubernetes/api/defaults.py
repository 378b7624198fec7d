"""Defaults that the API server fills in, and fields that it sets in an object itself.

Source: pkg/apis/{core,apps,batch,admissionregistration}/v1/defaults.go; the strategies' PrepareForCreate and -Update in
pkg/registry/{core/pod,core/namespace,apps/daemonset}/strategy.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value, without_path

from .types import blank_object

TEMPLATE_GENERATION = ("metadata", "annotations", "deprecated.daemonset.template.generation")

NAMESPACE_NAME = ("metadata", "labels", "kubernetes.io/metadata.name")
NAMESPACE_FINALIZERS = ("spec", "finalizers")

_CONTAINER: Doc = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_POD_SPEC: Doc = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_QUARTER_ROLLOUT: Doc = {"maxUnavailable": "25%", "maxSurge": "25%"}
_ONE_BY_ONE_ROLLOUT: Doc = {"maxUnavailable": 1, "maxSurge": 0}


def with_defaults(doc: Doc) -> Doc:
    """`doc` with all defaults of its kind's API version; existing values are kept."""
    default = _DEFAULTS.get((doc.get("apiVersion", ""), doc.get("kind", "")))
    spec = doc.get("spec")
    return with_value(doc, ("spec",), default(spec)) if default is not None and isinstance(spec, dict) else doc


def prepare_for_create(doc: Doc) -> Doc:
    """A new object before it is stored: with the initial status of its kind, whatever status the client sends."""
    version, kind = doc.get("apiVersion", ""), doc.get("kind", "")
    status = _INITIAL_STATUS.get((version, kind), blank_object(version, kind).get("status"))
    if status is not None and kind not in _CREATED_WITH_STATUS:
        doc = {**without_path(doc, ("status",)), "status": status}
    if kind == "DaemonSet":
        return with_value(doc, TEMPLATE_GENERATION, "1")
    if kind == "Namespace":
        doc = with_value(doc, NAMESPACE_NAME, nested_field(doc, "metadata", "name"))
        return with_value(doc, NAMESPACE_FINALIZERS, nested_field(doc, *NAMESPACE_FINALIZERS) or ["kubernetes"])
    return doc


def prepare_for_update(before: Doc, doc: Doc) -> Doc:
    """`doc` written over `before`, with fields that clients cannot change: a DaemonSet's template generation, which is
    still an annotation, and a Namespace's finalizers."""
    match doc.get("kind"):
        case "DaemonSet":
            generation = nested_field(before, *TEMPLATE_GENERATION) or "0"
            if nested_field(before, "spec", "template") != nested_field(doc, "spec", "template"):
                generation = str(int(generation) + 1)
            return with_value(doc, TEMPLATE_GENERATION, generation)
        case "Namespace":
            return with_value(doc, NAMESPACE_FINALIZERS, nested_field(before, *NAMESPACE_FINALIZERS))
    return doc


def without_empty_metadata(doc: Doc) -> Doc:
    """Without empty maps and lists in the metadata: Go prints none of them."""
    meta = doc.get("metadata") or {}
    return {**doc, "metadata": {key: value for key, value in meta.items() if value not in (None, {}, [])}}


def _template_spec_defaults(spec: Doc) -> Doc:
    filled = {**spec}
    for name in ("initContainers", "containers"):
        if isinstance(spec.get(name), list):
            filled[name] = [_container_defaults(each) if isinstance(each, dict) else each for each in spec[name]]
    return _fill(filled, _POD_SPEC)


def pod_spec_defaults(spec: Doc) -> Doc:
    """A pod's spec with its defaults; a template has one default less."""
    return _fill(_template_spec_defaults(spec), {"enableServiceLinks": True})


def _container_defaults(container: Doc) -> Doc:
    image = str(container.get("image") or "").partition("@")[0]
    tag = image.rpartition("/")[2].partition(":")[2]
    pull_policy = "IfNotPresent" if tag not in ("", "latest") or "@" in str(container.get("image")) else "Always"
    filled = _fill(container, {**_CONTAINER, "imagePullPolicy": pull_policy})
    if isinstance(filled.get("ports"), list):
        filled["ports"] = _fill_items(filled["ports"], {"protocol": "TCP"})
    return filled


def _with_template_defaults(spec: Doc) -> Doc:
    template = spec.get("template")
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return {**spec}
    return {**spec, "template": {**template, "spec": _template_spec_defaults(template["spec"])}}


def _workload_defaults(
    other_defaults: Doc, strategy_field: str, amounts: Doc, kind: str = "RollingUpdate"
) -> Callable[[Doc], Doc]:
    """Defaults of a workload: of its template, of its update strategy (field `strategy_field`), and
    `other_defaults`."""

    def default(spec: Doc) -> Doc:
        strategy = _fill(spec.get(strategy_field) or {}, {"type": kind})
        if strategy["type"] == kind:
            strategy["rollingUpdate"] = _fill(strategy.get("rollingUpdate") or {}, amounts)
        return _fill({**_with_template_defaults(spec), strategy_field: strategy}, other_defaults)

    return default


def _replica_set_defaults(spec: Doc) -> Doc:
    return _fill(_with_template_defaults(spec), {"replicas": 1})


def _job_defaults(spec: Doc) -> Doc:
    counts: Doc = {"parallelism": 1}
    if spec.get("completions") is None and spec.get("parallelism") is None:
        counts["completions"] = 1
    limit = 2**31 - 1 if spec.get("backoffLimitPerIndex") is not None else 6
    replacement_policy = "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    fixed_defaults = {"completionMode": "NonIndexed", "suspend": False, "podReplacementPolicy": replacement_policy}
    return _fill(
        _with_template_defaults(spec), {**counts, "backoffLimit": limit, **fixed_defaults, "manualSelector": False}
    )


def _cron_job_defaults(spec: Doc) -> Doc:
    """Only the pod template of its Jobs: the other fields get their defaults when a Job is created."""
    job = nested_field(spec, "jobTemplate", "spec")
    filled = with_value(spec, ("jobTemplate", "spec"), _with_template_defaults(job)) if isinstance(job, dict) else spec
    return _fill(filled, _CRON_JOB)


def _fill_items(items: Iterable[Any], defaults: Doc) -> list[Any]:
    return [_fill(each, defaults) if isinstance(each, dict) else each for each in items]


def _fill(doc: Doc, defaults: Doc) -> Doc:
    return {**doc, **{name: value for name, value in defaults.items() if doc.get(name) is None}}


_DEPLOYMENT: Doc = {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
_CRON_JOB: Doc = {
    "concurrencyPolicy": "Allow",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}
_STATEFUL_SET: Doc = {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"}

_DEFAULTS: Mapping[tuple[str, str], Callable[[Doc], Doc]] = {
    ("v1", "Pod"): pod_spec_defaults,
    ("apps/v1", "DaemonSet"): _workload_defaults({"revisionHistoryLimit": 10}, "updateStrategy", _ONE_BY_ONE_ROLLOUT),
    ("apps/v1", "Deployment"): _workload_defaults(_DEPLOYMENT, "strategy", _QUARTER_ROLLOUT),
    ("apps/v1", "ReplicaSet"): _replica_set_defaults,
    ("apps/v1", "StatefulSet"): _workload_defaults(_STATEFUL_SET, "updateStrategy", {"partition": 0}),
    ("batch/v1", "CronJob"): _cron_job_defaults,
    ("batch/v1", "Job"): _job_defaults,
}

_INITIAL_STATUS: Mapping[tuple[str, str], Doc] = {
    ("v1", "Pod"): {"phase": "Pending"},
    ("v1", "Namespace"): {"phase": "Active"},
    ("v1", "PersistentVolume"): {"phase": "Pending"},
    ("v1", "PersistentVolumeClaim"): {"phase": "Pending"},
}

_CREATED_WITH_STATUS = ("Node",)
"""A kubelet creates its node with the node's status; reviews are not stored."""
