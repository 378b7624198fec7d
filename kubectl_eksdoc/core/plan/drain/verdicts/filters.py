"""kubectl drain's filters as verdicts of ours: what it skips stays, what it refuses blocks, with its flags named."""

from __future__ import annotations

from datetime import timedelta

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.commands import kubectl, saved
from kubectl_eksdoc.core.model.findings import Remedy, Severity, Subject
from kubectl_eksdoc.core.model.pods import Pod, VolumeKind
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.said import Said, blocks, cannot_tell, remarks, stays, where
from kubectl_eksdoc.core.rules import drain_filters
from kubectl_eksdoc.core.rules.drain_filters import Asked, Filter, FilterOptions, Outcome, Presence

STUCK_AFTER = timedelta(seconds=60)
"""Past its deletion deadline by this much a pod is stuck, as Karpenter counts (terminator: IsStuckTerminating)."""

_KUBECTLS_GROUPS = ("apps", "extensions")
"""Where kubectl looks for the DaemonSet of a pod whose owner is of that kind, in whatever group it is."""

_STAYS_BECAUSE = {
    Filter.POD_SELECTOR: "not selected by --pod-selector",
    Filter.SKIP_DELETED: "being deleted for longer than --skip-wait-for-delete-timeout: not waited for",
    Filter.DAEMON_SET: "its DaemonSet would bring it straight back: it goes with the node",
    Filter.MIRROR: "a static pod: the kubelet owns it",
}


def options_of(policy: DrainPolicy) -> FilterOptions:
    return FilterOptions(
        ignore_daemonsets=policy.ignore_daemonsets,
        delete_emptydir_data=policy.delete_emptydir_data,
        force=policy.force,
        skip_deleting_after=policy.skip_deleting_after,
        pod_selector=policy.pod_selector,
    )


def ask(survey: Survey, pod: Pod, options: FilterOptions) -> list[Said]:
    """Everything kubectl's filters say of `pod`; a STAY when they, or its namespace's end, leave it where it is."""
    decision = drain_filters.decide(pod, Asked(options, survey.now, _daemon_set(survey, pod)))
    decisive = decision.decisive
    if decisive is not None and decisive.outcome is Outcome.SKIP:
        code = Code.of("pod-daemonset") if decisive.filter is Filter.DAEMON_SET else None
        return [stays(_STAYS_BECAUSE[decisive.filter], code)]
    if pod.deleting:
        return [_leaving(survey, pod), *_with_its_namespace(survey, pod)]
    if pod.namespace in survey.terminating:
        reason = f"its namespace {pod.namespace} is being deleted: it cannot be evicted (403), and goes by itself"
        return [stays(reason, Code.of("namespace-terminating"), s.finding) for s in _with_its_namespace(survey, pod)]
    if decisive is not None and decisive.filter is Filter.DAEMON_SET:
        return [_daemonset(survey, pod, decisive)]
    return [_ours(survey, pod, said) for said in decision.said]


def _with_its_namespace(survey: Survey, pod: Pod) -> list[Said]:
    """The remark on a namespace that is being deleted, [] for any other."""
    if pod.namespace not in survey.terminating:
        return []
    message = "it is being deleted: evictions in it are refused (403) until its pods are gone by themselves"
    wait = Remedy("Nothing to do, unless it hangs.", kubectl("get", "namespace", pod.namespace, "", "-o", "yaml"))
    subject = Subject("Namespace", pod.namespace)
    return [remarks(Code.of("namespace-terminating"), Severity.LOW, subject, message, where(pod), wait)]


def _daemon_set(survey: Survey, pod: Pod) -> Presence:
    if survey.workload_of(pod) is not None:
        return Presence.EXISTS
    return Presence.UNKNOWN if survey.cluster.unread(kinds.DAEMON_SETS) else Presence.MISSING


def _leaving(survey: Survey, pod: Pod) -> Said:
    deadline = pod.deletion_deadline
    if deadline is None or survey.now <= deadline + STUCK_AFTER:
        return stays("being deleted already: it is only waited for")
    held = f", held by finalizer {', '.join(pod.finalizers)}" if pod.finalizers else ""
    return blocks(
        Code.of("pod-stuck-terminating"),
        Severity.HIGH,
        survey.owner_subject(pod),
        f"its pod should have stopped by {deadline:%Y-%m-%dT%H:%M:%SZ}{held}",
        where(pod),
        Remedy(
            "Find out what holds it: its finalizers' controller, or the kubelet of its node.",
            kubectl("get", "pod", pod.name, pod.namespace, "-o", "yaml"),
        ),
        Remedy("Do not wait for such pods: --skip-wait-for-delete-timeout=60."),
    )


def _daemonset(survey: Survey, pod: Pod, said: drain_filters.Said) -> Said:
    owner = survey.owner_subject(pod)
    if pod.owner is not None and pod.owner.group not in _KUBECTLS_GROUPS:
        return blocks(
            Code.of("pod-returns"),
            Severity.HIGH,
            owner,
            f"kubectl takes its DaemonSet for missing, because it is of {pod.owner.group or 'the core group'} and not "
            "of apps; it would come straight back",
            where(pod),
            Remedy(
                "Drain the rest of the node and let this pod end with the node: --partial. --force does not help: it "
                "would be created again."
            ),
        )
    if said.outcome is Outcome.UNKNOWN:
        unread = survey.cluster.unread(kinds.DAEMON_SETS)
        question = "whether DaemonSets' pods still have their DaemonSet"
        return cannot_tell(
            Code.of("pod-daemonset-missing"),
            question,
            unread,
            where(pod),
            PodVerdict.UNKNOWN,
            Severity.HIGH,
            of=survey.cluster.source,
        )
    if _daemon_set(survey, pod) is Presence.EXISTS:
        return blocks(
            Code.of("pod-daemonset"),
            Severity.MEDIUM,
            owner,
            "its pods would come straight back, and --ignore-daemonsets=false was given",
            where(pod),
            Remedy("Leave it where it is: --ignore-daemonsets, which is on by default here."),
        )
    message = f"its DaemonSet does not exist: nothing creates its pods again ({said.message})"
    if said.outcome is Outcome.DELETE:
        return remarks(
            Code.of("pod-daemonset-missing"),
            Severity.MEDIUM,
            owner,
            f"{message}; --force was given",
            where(pod),
            Remedy("Make sure that nobody needs it."),
        )
    return blocks(
        Code.of("pod-daemonset-missing"),
        Severity.HIGH,
        owner,
        message,
        where(pod),
        Remedy("Evict it all the same: --force."),
    )


def _ours(survey: Survey, pod: Pod, said: drain_filters.Said) -> Said:
    allowed = said.outcome is Outcome.DELETE
    if said.filter is Filter.LOCAL_STORAGE:
        message = f"its emptyDir data is deleted with the pod: {_empty_dirs(pod)}"
        code, flag = Code.of("pod-emptydir"), "--delete-emptydir-data"
        advice = Remedy(
            "Confirm with its owners that the data may go; then plan with --delete-emptydir-data.",
        )
    else:
        message = "no controller owns it: nothing creates it again"
        code, flag = Code.of("pod-unmanaged"), "--force"
        advice = Remedy(
            "Save it, so that it can be created again elsewhere (take spec.nodeName out, which names this node); then "
            "plan with --force.",
            saved("pod", pod.name, pod.namespace),
        )
    subject = survey.owner_subject(pod)
    if allowed:
        return remarks(code, Severity.MEDIUM, subject, f"{message} (as {flag} allows)", where(pod), advice)
    return blocks(code, Severity.HIGH, subject, message, where(pod), advice)


def _empty_dirs(pod: Pod) -> str:
    parts = []
    for volume in pod.volumes:
        if volume.kind is VolumeKind.EMPTY_DIR:
            medium = "in memory" if volume.detail == "Memory" else "on disk"
            limit = f", up to {volume.size_limit}" if volume.size_limit else ""
            parts.append(f"{volume.name} ({medium}{limit})")
    return ", ".join(parts)
