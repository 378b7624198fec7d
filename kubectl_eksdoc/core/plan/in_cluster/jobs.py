"""The Job or CronJob of an errand: what ends with an answer is over, what was killed or disturbed comes again.

Source: pkg/controller/job (podFailurePolicy, which wants pods that never restart themselves), Kubernetes v1.36; the
policy is stable since 1.31 and on by default since 1.26.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.plan.in_cluster.errand import Errand
from kubectl_eksdoc.core.plan.in_cluster.pods import CONTAINER

AGAIN = 12
"""So often a run's pod may fail, as by running out of memory or while nobody answers: three quarters of an hour with
the pauses between, which grow to six minutes."""

AGAIN_LOOKING = 2
AT_ONCE = 8
"""So many clusters of a fleet are looked at at a time."""

LONGEST_LOOK_S = 3600
"""So long a look at a cluster may take, its image's pull included: one that waits for ever would keep the next from
beginning (concurrencyPolicy Forbid), even after its CronJob has been mended."""

KEPT_S = 7 * 86400
"""So long an ended Job and its log are there to be read."""

LONGEST_CRON_NAME = 52
"""The controller adds eleven characters to it for the name of a Job, which has 63 (validateCronJob)."""


@dataclass(frozen=True, slots=True)
class When:
    """`zone`: a name of the IANA list, "" for that of the controller, which on EKS is UTC."""

    schedule: str
    zone: str = ""


def job(errand: Errand, pod: Doc) -> Doc:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": errand.metadata(), "spec": _spec(errand, pod, AGAIN)}


def cron_job(errand: Errand, pod: Doc, when: When) -> Doc:
    """One at a time; one that could not be started within an hour is left out."""
    made = {key: value for key, value in _spec(errand, pod, AGAIN_LOOKING).items() if key != "ttlSecondsAfterFinished"}
    turns = 1 if errand.fleet is None else -(-len(errand.fleet.keys) // AT_ONCE)
    made["activeDeadlineSeconds"] = LONGEST_LOOK_S * turns
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": errand.metadata(),
        "spec": {
            "schedule": when.schedule,
            **({"timeZone": when.zone} if when.zone else {}),
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 3600,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"metadata": {"labels": errand.labels}, "spec": made},
        },
    }


def _spec(errand: Errand, pod: Doc, again: int) -> Doc:
    disturbed = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    codes = {"containerName": CONTAINER, "operator": "In", "values": sorted(errand.final)}
    ends = {"action": "FailJob" if errand.fleet is None else "FailIndex", "onExitCodes": codes}
    return {
        **_completions(errand, again),
        "podFailurePolicy": {"rules": [disturbed, ends]},
        "ttlSecondsAfterFinished": KEPT_S,
        "template": pod,
    }


def _completions(errand: Errand, again: int) -> Doc:
    """Of a fleet one index for each cluster, and none ends another one's (backoffLimitPerIndex, stable since 1.33)."""
    if errand.fleet is None:
        return {"parallelism": 1, "completions": 1, "backoffLimit": again}
    count = len(errand.fleet.keys)
    indexed = {"completionMode": "Indexed", "backoffLimitPerIndex": again}
    return {"parallelism": min(count, AT_ONCE), "completions": count, **indexed}
