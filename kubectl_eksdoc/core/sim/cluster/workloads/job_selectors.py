"""The selector and the labels that the API server gives to a Job that brings none, and other defaults of its spec.

Source: pkg/registry/batch/job/strategy.go (generateSelector), pkg/apis/batch/v1/defaults.go, Kubernetes v1.36.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc, with_value
from kubectl_eksdoc.core.sim.cluster.workloads.pods import labels_of

JOB_NAME, CONTROLLER_UID = "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"


def completed(job: Doc) -> Doc:
    """`job`, which has a name and a UID, as the server stores it."""
    spec: Doc = job["spec"]
    meta = job["metadata"]
    name, uid = meta["name"], meta["uid"]
    defaults: Doc = {"backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False, "manualSelector": False}
    defaults["podReplacementPolicy"] = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
    if spec.get("completions") is None and spec.get("parallelism") is None:
        defaults |= {"completions": 1, "parallelism": 1}
    defaults.setdefault("parallelism", 1)
    spec = {**defaults, **spec}
    if spec.get("manualSelector"):
        return {**job, "spec": spec}
    given = {CONTROLLER_UID: uid, JOB_NAME: name, "controller-uid": uid, "job-name": name}
    template: Doc = spec.get("template") or {}
    of_template = {**((template.get("metadata") or {}).get("labels") or {}), **given}
    spec["selector"] = {"matchLabels": {CONTROLLER_UID: uid}}
    spec["template"] = with_value(template, ("metadata", "labels"), of_template)
    labels = labels_of(job) or of_template
    return {**job, "metadata": {**meta, "labels": labels}, "spec": spec}
