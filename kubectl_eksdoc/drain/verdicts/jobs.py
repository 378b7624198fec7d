"""What an eviction does to a Job: its pod's work is lost, and the Job may end as failed; with ``--wait-jobs`` pods may
finish before."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.drain.policy import EVICTED, EvictionMode, Means
from kubectl_eksdoc.drain.survey import DrainContext
from kubectl_eksdoc.drain.verdicts.said import RuleResult, cannot_tell, where
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.durations import in_words
from kubectl_eksdoc.model.findings import Finding, Remedy, Subject
from kubectl_eksdoc.model.pods import ControllerOwner, Pod
from kubectl_eksdoc.model.workloads import Job


def loses_work(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """A running Job's pod: wait for it, or lose its work and count a failure."""
    if pod.owner is None or pod.owner.kind != "Job" or pod.finished:
        return None
    said = _lost(survey, pod, pod.owner)
    if said is None or not survey.policy.wait_jobs or said.manner is not EVICTED:
        return said
    return replace(said, manner=EvictionMode(waits_s=float(survey.policy.wait_jobs)))


def _lost(survey: DrainContext, pod: Pod, owner: ControllerOwner) -> RuleResult | None:
    subject = Subject("Job", owner.name, pod.namespace)
    job = survey.jobs.get(owner.uid)
    if job is None:
        unread = survey.cluster.unread(kinds.JOBS)
        if unread:
            return cannot_tell(
                Code.of("job-loses-work"),
                "what an eviction means for Job pods",
                unread,
                where(pod),
                of=survey.cluster.source,
            )
        return _without_its_job(survey, pod, subject)
    wait = Remedy("Wait for it to finish, then plan again.", wait_for_job(job.name, job.namespace))
    first, remedies = _waited(survey), (wait, *_let_the_drain_wait(survey))
    evidence = (where(pod),)
    if job.ignores_disruption:
        return RuleResult.of(Finding.of("job-loses-work/ignored", subject, evidence, remedy=remedies, first=first))
    evicted = _evicted_of(survey, job)
    fatal = _why_fatal(job, evicted)
    if fatal and survey.policy.wait_jobs:
        seconds = survey.policy.wait_jobs
        finding = Finding.of(
            "job-would-fail/waited", subject, evidence, why=fatal, time=in_words(seconds), command=wait.command
        )
        # It may end by itself; an eviction that fails its Job nobody has asked for.
        return RuleResult.of(finding, EvictionMode(Means.PATIENCE, float(seconds)))
    if fatal:
        return RuleResult.of(Finding.of("job-would-fail/blocks", subject, evidence, remedy=remedies, why=fatal))
    counted = _counted(job, evicted)
    return RuleResult.of(
        Finding.of("job-loses-work/counted", subject, evidence, remedy=remedies, counted=counted, first=first)
    )


def _without_its_job(survey: DrainContext, pod: Pod, subject: Subject) -> RuleResult | None:
    """The Job object is gone, and its pods are being collected; or, in a run, it is newer than what was read."""
    if not survey.policy.wait_jobs:
        return None
    return RuleResult.of(Finding.of("job-loses-work/unread", subject, (where(pod),), first=_waited(survey)))


def _waited(survey: DrainContext) -> str:
    seconds = survey.policy.wait_jobs
    return f"; before that they may finish, for up to {in_words(seconds)} (--wait-jobs)" if seconds else ""


def _let_the_drain_wait(survey: DrainContext) -> list[Remedy]:
    return [] if survey.policy.wait_jobs else [Remedy("Have the drain wait for it to finish: --wait-jobs 30m.")]


def _evicted_of(survey: DrainContext, job: Job) -> int:
    """Its running pods on the nodes that are drained."""
    return sum(
        1
        for node, pods in survey.pods_on.items()
        if node not in survey.refused
        for pod in pods
        if pod.owner is not None and pod.owner.uid == job.uid and not pod.finished
    )


def _why_fatal(job: Job, evicted: int) -> str:
    """Why the evictions end the Job as failed, or ""."""
    if job.fails_on_disruption:
        return "evicting a pod fails the Job, or its index for good: its podFailurePolicy says this for disruptions"
    if job.backoff_limit_per_index == 0:
        return "evicting a pod fails its index, and with it the Job in the end: backoffLimitPerIndex is 0"
    if job.failed + evicted > job.backoff_limit:
        return f"evicting its pods fails the Job: {_used(job, evicted)}"
    return ""


def _counted(job: Job, evicted: int) -> str:
    if job.backoff_limit_per_index is not None:
        return (
            f"one of the {job.backoff_limit_per_index} that backoffLimitPerIndex allows each index; how many an index "
            "has used is not known"
        )
    return _used(job, evicted)


def _used(job: Job, evicted: int) -> str:
    return f"{job.failed} of backoffLimit {job.backoff_limit} failures are used, draining all targets adds {evicted}"


def wait_for_job(name: str, namespace: str) -> str:
    return shell("kubectl", "wait", "--for=condition=complete", f"job/{name}", "-n", namespace, "--timeout=30m")
