"""Defaults that the API server fills in, and fields that it sets in an object itself.

Source: pkg/apis/{core,apps,batch,admissionregistration}/v1/defaults.go; the strategies' PrepareForCreate and -Update in
pkg/registry/{core/pod,core/namespace,apps/daemonset}/strategy.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc, at, with_value, without

from .types import blank_of

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
_QUARTER: Doc = {"maxUnavailable": "25%", "maxSurge": "25%"}
_ONE_BY_ONE: Doc = {"maxUnavailable": 1, "maxSurge": 0}


def with_defaults(doc: Doc) -> Doc:
    """`doc` with all defaults of its kind's API version; existing values are kept."""
    default = _DEFAULTS.get((doc.get("apiVersion", ""), doc.get("kind", "")))
    spec = doc.get("spec")
    return with_value(doc, ("spec",), default(spec)) if default is not None and isinstance(spec, dict) else doc


def begun(doc: Doc) -> Doc:
    """A new object before it is stored: with the initial status of its kind, whatever status the client sends."""
    version, kind = doc.get("apiVersion", ""), doc.get("kind", "")
    status = _FIRST_STATUS.get((version, kind), blank_of(version, kind).get("status"))
    if status is not None and kind not in _COME_WITH_STATUS:
        doc = {**without(doc, ("status",)), "status": status}
    if kind == "DaemonSet":
        return with_value(doc, TEMPLATE_GENERATION, "1")
    if kind == "Namespace":
        doc = with_value(doc, NAMESPACE_NAME, at(doc, "metadata", "name"))
        return with_value(doc, NAMESPACE_FINALIZERS, at(doc, *NAMESPACE_FINALIZERS) or ["kubernetes"])
    return doc


def carried(before: Doc, doc: Doc) -> Doc:
    """`doc` written over `before`, with fields that clients cannot change: a DaemonSet's template generation, which is
    still an annotation, and a Namespace's finalizers."""
    match doc.get("kind"):
        case "DaemonSet":
            number = at(before, *TEMPLATE_GENERATION) or "0"
            if at(before, "spec", "template") != at(doc, "spec", "template"):
                number = str(int(number) + 1)
            return with_value(doc, TEMPLATE_GENERATION, number)
        case "Namespace":
            return with_value(doc, NAMESPACE_FINALIZERS, at(before, *NAMESPACE_FINALIZERS))
    return doc


def without_empty_metadata(doc: Doc) -> Doc:
    """Without empty maps and lists in the metadata: Go prints none of them."""
    meta = doc.get("metadata") or {}
    return {**doc, "metadata": {key: value for key, value in meta.items() if value not in (None, {}, [])}}


def _of_templates(spec: Doc) -> Doc:
    made = {**spec}
    for name in ("initContainers", "containers"):
        if isinstance(spec.get(name), list):
            made[name] = [_container(each) if isinstance(each, dict) else each for each in spec[name]]
    return _filled(made, _POD_SPEC)


def of_pods(spec: Doc) -> Doc:
    """A pod's spec with its defaults; a template has one default less."""
    return _filled(_of_templates(spec), {"enableServiceLinks": True})


def _container(container: Doc) -> Doc:
    image = str(container.get("image") or "").partition("@")[0]
    tag = image.rpartition("/")[2].partition(":")[2]
    pulled = "IfNotPresent" if tag not in ("", "latest") or "@" in str(container.get("image")) else "Always"
    made = _filled(container, {**_CONTAINER, "imagePullPolicy": pulled})
    if isinstance(made.get("ports"), list):
        made["ports"] = _each(made["ports"], {"protocol": "TCP"})
    return made


def _with_template(spec: Doc) -> Doc:
    template = spec.get("template")
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return {**spec}
    return {**spec, "template": {**template, "spec": _of_templates(template["spec"])}}


def _templated(more: Doc, under: str, amounts: Doc, kind: str = "RollingUpdate") -> Callable[[Doc], Doc]:
    """Defaults of a workload: of its template, of its update strategy (field `strategy_field`), and
    `other_defaults`."""

    def default(spec: Doc) -> Doc:
        strategy = _filled(spec.get(under) or {}, {"type": kind})
        if strategy["type"] == kind:
            strategy["rollingUpdate"] = _filled(strategy.get("rollingUpdate") or {}, amounts)
        return _filled({**_with_template(spec), under: strategy}, more)

    return default


def _replicated(spec: Doc) -> Doc:
    return _filled(_with_template(spec), {"replicas": 1})


def _job(spec: Doc) -> Doc:
    once: Doc = {"parallelism": 1}
    if spec.get("completions") is None and spec.get("parallelism") is None:
        once["completions"] = 1
    limit = 2**31 - 1 if spec.get("backoffLimitPerIndex") is not None else 6
    replaced = "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    usual = {"completionMode": "NonIndexed", "suspend": False, "podReplacementPolicy": replaced}
    return _filled(_with_template(spec), {**once, "backoffLimit": limit, **usual, "manualSelector": False})


def _cron_job(spec: Doc) -> Doc:
    """Only the pod template of its Jobs: the other fields get their defaults when a Job is created."""
    job = at(spec, "jobTemplate", "spec")
    made = with_value(spec, ("jobTemplate", "spec"), _with_template(job)) if isinstance(job, dict) else spec
    return _filled(made, _SCHEDULED)


def _each(items: Iterable[Any], defaults: Doc) -> list[Any]:
    return [_filled(each, defaults) if isinstance(each, dict) else each for each in items]


def _filled(doc: Doc, defaults: Doc) -> Doc:
    return {**doc, **{name: value for name, value in defaults.items() if doc.get(name) is None}}


_DEPLOYED: Doc = {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
_SCHEDULED: Doc = {
    "concurrencyPolicy": "Allow",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}
_ORDERED: Doc = {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"}

_DEFAULTS: Mapping[tuple[str, str], Callable[[Doc], Doc]] = {
    ("v1", "Pod"): of_pods,
    ("apps/v1", "DaemonSet"): _templated({"revisionHistoryLimit": 10}, "updateStrategy", _ONE_BY_ONE),
    ("apps/v1", "Deployment"): _templated(_DEPLOYED, "strategy", _QUARTER),
    ("apps/v1", "ReplicaSet"): _replicated,
    ("apps/v1", "StatefulSet"): _templated(_ORDERED, "updateStrategy", {"partition": 0}),
    ("batch/v1", "CronJob"): _cron_job,
    ("batch/v1", "Job"): _job,
}

_FIRST_STATUS: Mapping[tuple[str, str], Doc] = {
    ("v1", "Pod"): {"phase": "Pending"},
    ("v1", "Namespace"): {"phase": "Active"},
    ("v1", "PersistentVolume"): {"phase": "Pending"},
    ("v1", "PersistentVolumeClaim"): {"phase": "Pending"},
}

_COME_WITH_STATUS = ("Node",)
"""A kubelet creates its node with the node's status; reviews are not stored."""
