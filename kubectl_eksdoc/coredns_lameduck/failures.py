"""Current failures of CoreDNS: its pods, what ended them, what they log, and whether they serve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile_edits import EKS_MANAGER
from kubectl_eksdoc.model.coredns import SERVICE, SYSTEM_NAMESPACE, Corefile
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.kinds import ENDPOINT_SLICES, PODS, Absent, Unknown
from kubectl_eksdoc.model.nodes import ContainerRunState, Pod, pod_count

from . import configuration as configured
from .configuration import (
    CONFIG,
    DEPLOYMENT,
    SERVICE_SUBJECT,
    place_command,
    scale_command,
    set_lameduck_command,
    unread_finding,
)
from .deployed import CorednsDeployment, CorednsPodLogs, DnsFacts
from .shutdown import (
    DEFAULT_GRACE_S,
    MARGIN_S,
    MAX_PROPAGATION_S,
    MIN_PROPAGATION_S,
    Shutdown,
    ShutdownBudget,
    budget_sum_text,
    merge_symptoms,
    needed_grace_s,
)

# The shutdown budget of the live Deployment and Corefile.


ADVISED_BY_EKS_S = 30
"""EKS best practices, scalability/cluster-services: "we recommend setting CoreDNS lameduck duration to 30 seconds";
that does not fit the grace period of EKS' CoreDNS (issue 728 of that guide)."""


@frozen
class ShutdownEnding:
    """`budget`: Unknown where a part of it is unknown; `lameduck_s`: None where the text does not determine it."""

    budget: ShutdownBudget | Unknown
    lameduck_s: float | None

    @property
    def advised_s(self) -> int:
        """The lameduck to set; 0 where no value is long enough and fits."""
        budget = self.budget
        return 0 if isinstance(budget, Unknown) or not budget.has_safe_value else budget.advised_s


def shutdown_ending(facts: DnsFacts) -> ShutdownEnding:
    """From the live Deployment and Corefile."""
    lameduck = facts.lameduck_s
    deployment = facts.deployed
    if isinstance(deployment, (Absent, Unknown)):
        return ShutdownEnding(Unknown("the grace period of CoreDNS' pods is not known"), lameduck)
    if isinstance(deployment.pre_stop_s, Unknown):
        return ShutdownEnding(deployment.pre_stop_s, lameduck)
    return ShutdownEnding(facts.budget(Shutdown(deployment.grace_s, deployment.pre_stop_s, lameduck or 0.0)), lameduck)


def lameduck_findings(facts: DnsFacts) -> Iterator[Finding]:
    """No finding where the Deployment is unknown."""
    deployment = facts.deployed
    if not isinstance(deployment, (Absent, Unknown)):
        yield from _budget_findings(facts, deployment)


def _budget_findings(facts: DnsFacts, deployment: CorednsDeployment) -> Iterator[Finding]:
    ending_state = shutdown_ending(facts)
    if isinstance(ending_state.budget, Unknown) or ending_state.lameduck_s is None:
        if isinstance(ending_state.budget, Unknown) or (
            isinstance(facts.corefile, Corefile) and not facts.judge_corefile(facts.corefile).refusals
        ):
            yield _unknown_finding(facts, ending_state)  # otherwise the Corefile's own findings say it
        return
    allowed, lameduck = ending_state.budget, ending_state.lameduck_s
    evidence = (
        _lower_bound_text(allowed),
        f"at most: {budget_sum_text(lameduck, allowed.shutdown)}; the largest safe lameduck is {allowed.advised_s} s",
        f"{ADVISED_BY_EKS_S} s, as EKS' best practices advise, would need a grace period of "
        f"{needed_grace_s(ADVISED_BY_EKS_S, allowed.shutdown.pre_stop_s)} s",
    )
    if allowed.is_too_short:
        yield Finding.of(
            "dns-lameduck-short/too-short",
            CONFIG,
            evidence,
            remedy=_lengthen_remedies(allowed),
            lameduck=_seconds_text(lameduck),
            lost=bool(allowed.propagation.lost),
        )
    elif allowed.may_be_too_short:
        yield Finding.of(
            "dns-lameduck-short/may-be-short",
            CONFIG,
            evidence,
            remedy=(*_lengthen_remedies(allowed), Remedy.of("measure-loss")),
            lameduck=_seconds_text(lameduck),
            passes=_propagation_text(allowed),
        )
    elif lameduck > allowed.advised_s:
        yield Finding.of(
            "dns-lameduck-long/killed" if allowed.is_too_long else "dns-lameduck-long/margin",
            CONFIG,
            evidence,
            remedy=_shorten_remedies(allowed),
            lameduck=_seconds_text(lameduck),
            grace_s=deployment.grace_s,
        )


def _lower_bound_text(allowed: ShutdownBudget) -> str:
    """The sum that makes up the lower bound."""
    propagation = allowed.propagation
    source = "" if propagation.measured_at else f", EKS says {MIN_PROPAGATION_S} to {MAX_PROPAGATION_S} s"
    margin = f" + margin {MARGIN_S} s = {allowed.least_s} s" if allowed.least_s > propagation.seconds else ""
    return f"at least: {propagation}{source}{margin}"


def _propagation_text(allowed: ShutdownBudget) -> str:
    propagation = allowed.propagation
    if propagation.measured_at:
        return str(propagation)
    return (
        f"until every node sends elsewhere, {MIN_PROPAGATION_S} to {MAX_PROPAGATION_S} s pass, here about "
        f"{propagation.seconds} s by estimate"
    )


def _seconds_text(lameduck: float) -> str:
    return f"{lameduck:g}" if lameduck else ""


def _lengthen_remedies(allowed: ShutdownBudget) -> tuple[Remedy, ...]:
    if allowed.has_safe_value:
        return (Remedy.of("reload-corefile", command=set_lameduck_command(allowed.advised_s)),)
    return (_grace_remedy(allowed, allowed.least_s),)


def _shorten_remedies(allowed: ShutdownBudget) -> tuple[Remedy, ...]:
    if allowed.has_safe_value:
        return (
            Remedy.of("reload-corefile", command=set_lameduck_command(allowed.advised_s)),
            _grace_remedy(allowed, allowed.shutdown.lameduck_s, or_else=True),
        )
    return (_grace_remedy(allowed, max(allowed.least_s, allowed.shutdown.lameduck_s)),)


def _grace_remedy(allowed: ShutdownBudget, lameduck: float, or_else: bool = False) -> Remedy:
    return Remedy.of("more-grace", or_else=or_else, needed=needed_grace_s(lameduck, allowed.shutdown.pre_stop_s))


def _unknown_finding(facts: DnsFacts, ending_state: ShutdownEnding) -> Finding:
    corefile = facts.corefile
    files = corefile.imported_files if isinstance(corefile, Corefile) else ()
    return Finding.of(
        "dns-lameduck-unknown/not-known",
        CONFIG,
        why=ending_state.budget.why if isinstance(ending_state.budget, Unknown) else "",
        files=", ".join(files),
        timed=ending_state.lameduck_s is not None,
    )


OUT_OF_MEMORY = "OOMKilled"
EKS_MEMORY = "170Mi"
"""The memory limit of EKS' CoreDNS."""
_NO_LOGS = CorednsPodLogs()


@frozen
class Endpoints:
    """UIDs of pods in the service: those that are ready there, and all that are listed."""

    ready: frozenset[str]
    listed: frozenset[str]


def dns_endpoints(facts: DnsFacts) -> Endpoints | Unknown:
    """The endpoints of the service kube-dns."""
    not_read = facts.cluster.not_read(ENDPOINT_SLICES)
    if not_read:
        return Unknown(
            f"EndpointSlices could not be read: {not_read[0].detail or not_read[0].state.value}",
            f"list {ENDPOINT_SLICES.full_name}",
        )
    slices = [
        each for each in facts.cluster.endpoint_slices if (each.namespace, each.service) == (SYSTEM_NAMESPACE, SERVICE)
    ]
    all_endpoints = [each for endpoint_slice in slices for each in endpoint_slice.endpoints]
    return Endpoints(
        frozenset(each.pod_uid for each in all_endpoints if each.ready),
        frozenset(each.pod_uid for each in all_endpoints),
    )


def failure_findings(facts: DnsFacts) -> Iterator[Finding]:
    """Failures to fix before anything else."""
    deployment = facts.deployed
    if isinstance(deployment, (Absent, Unknown)) and not facts.pods:
        return  # the missing Deployment is another finding
    unread_kinds = facts.cluster.not_read(PODS)
    if unread_kinds:
        yield unread_finding(
            "dns-unread/pods", Unknown(unread_kinds[0].detail or "pods could not be read", "list pods")
        )
        return
    yield from _pod_findings(facts, deployment if isinstance(deployment, CorednsDeployment) else None)
    yield from _restart_findings(facts, deployment if isinstance(deployment, CorednsDeployment) else None)
    yield from _log_findings(facts)
    yield from _serving_findings(facts)


def _pod_findings(facts: DnsFacts, deployment: CorednsDeployment | None) -> Iterator[Finding]:
    pods = [pod for pod in facts.pods if not pod.deleting]
    ready = [pod for pod in pods if pod.ready]
    desired = max(deployment.replicas if deployment is not None else 0, len(pods))
    if not pods:
        yield Finding.of("dns-failing/no-pod", DEPLOYMENT, wanted=desired)
        return
    if len(ready) >= desired:
        return
    not_ready = [pod for pod in pods if not pod.ready]
    missing_pods = desired - len(pods)
    missing_text = (
        (f"{pod_count(missing_pods)} of {desired} {'is' if missing_pods == 1 else 'are'} not made",)
        if missing_pods
        else ()
    )
    yield Finding.of(
        "dns-failing/few-ready" if ready else "dns-failing/none-ready",
        DEPLOYMENT,
        (*(f"{pod.name}: {pod.not_ready_because or pod.phase}" for pod in not_ready), *missing_text),
        remedy=_urgent_remedies(facts, not_ready, len(ready), desired),
        ready=len(ready),
        wanted=desired,
    )


def _urgent_remedies(facts: DnsFacts, not_ready: Sequence[Pod], ready: int, desired: int) -> tuple[Remedy, ...]:
    """Remedies to take first. More pods do not help where new pods find no node, or would crash."""
    remedies = []
    scheduled = [pod for pod in not_ready if pod.node]
    if ready and scheduled and pods_would_start(facts):
        remedies.append(Remedy.of("more-pods", command=scale_command(desired + len(scheduled))))
    if not not_ready:
        remedies.append(Remedy.of("not-made"))
    elif not scheduled:
        remedies.append(Remedy.of("no-node"))
    elif pods_would_start(facts) and any(
        (node := facts.node_of(pod)) and node.capacity_type == "spot" for pod in scheduled
    ):
        remedies.append(Remedy.of("place-elsewhere", command=place_command(facts.self_managed)))
    if scheduled:
        remedies.append(_log_remedy(facts, scheduled[0]))
    return tuple(remedies)


def pods_would_start(facts: DnsFacts) -> bool:
    """Whether a new pod would start and become Ready with this Corefile."""
    return not configured.startup_blockers(facts)


def _log_remedy(facts: DnsFacts, pod: Pod) -> Remedy:
    """kubectl rejects ``--previous`` for the first container of a pod."""
    container = facts.inside.get(pod.key, _NO_LOGS).container
    previous_flag = " --previous" if container is not None and container.ended_before else ""
    return Remedy.of("last-log", pod=pod.name, before=previous_flag)


def _restart_findings(facts: DnsFacts, deployment: CorednsDeployment | None) -> Iterator[Finding]:
    containers = ((pod, facts.inside.get(pod.key, _NO_LOGS).container) for pod in facts.pods)
    observed = [(pod, container) for pod, container in containers if container is not None]
    killed = [pod for pod, container in observed if container.ended_as == OUT_OF_MEMORY]
    if killed:
        limit = deployment.memory if deployment is not None else ""
        is_recent = any(_is_recent(facts, pod, container.runs) for pod, container in observed if pod in killed)
        yield Finding.of(
            "dns-failing/out-of-memory" if is_recent else "dns-failing/was-out-of-memory",
            DEPLOYMENT,
            tuple(sorted(pod.name for pod in killed)),
            pod_count=pod_count(len(killed)),
            limit=limit or "",
            default=limit == EKS_MEMORY,
            command=scale_command(len(facts.pods) + 2),
        )
    restarts = [
        (pod, container)
        for pod, container in observed
        if container.restarts and pod not in killed and _is_recent(facts, pod, container.runs)
    ]
    if restarts:
        yield Finding.of(
            "dns-failing/restarts",
            DEPLOYMENT,
            tuple(f"{pod.name}: {each.restarts} times, {each.ended_as or 'no reason told'}" for pod, each in restarts),
            remedy=(_log_remedy(facts, restarts[0][0]),),
            pod_count=pod_count(len(restarts)),
        )


_RECENT_S = 3600


def _is_recent(facts: DnsFacts, pod: Pod, state: ContainerRunState) -> bool:
    """Whether the pod is not Ready, or has been Ready for less than an hour: older restarts do not matter now."""
    if state is not ContainerRunState.RUNNING or not pod.ready or pod.ready_at is None:
        return True
    return (facts.cluster.observed_at - pod.ready_at).total_seconds() < _RECENT_S


def _log_findings(facts: DnsFacts) -> Iterator[Finding]:
    log_symptoms_found = merge_symptoms(
        log_symptom for pod in facts.pods for log_symptom in facts.inside.get(pod.key, _NO_LOGS).symptoms
    )
    for log_symptom in log_symptoms_found:
        yield Finding.of(
            "dns-failing/logs",
            DEPLOYMENT,
            (log_symptom.line, f"printed by CoreDNS' {log_symptom.symptom.source}"),
            severity=Severity.HIGH if log_symptom.symptom.fatal else Severity.MEDIUM,
            means=log_symptom.symptom.means,
            times=log_symptom.times,
        )
    unread_logs = [unreadable for pod in facts.pods if (unreadable := facts.inside.get(pod.key, _NO_LOGS).not_read)]
    if unread_logs:
        yield unread_finding("dns-unread/printed", unread_logs[0][0], pods=pod_count(len(unread_logs)))
    skipped_pods = sum(pod.key not in facts.inside for pod in facts.pods)
    if skipped_pods:
        yield Finding.of(
            "dns-unread/logs",
            DEPLOYMENT,
            pod_count=pod_count(skipped_pods),
            pods_count=len(facts.pods) - skipped_pods,
            pods_count_2=len(facts.pods),
        )


def _serving_findings(facts: DnsFacts) -> Iterator[Finding]:
    service_endpoints = dns_endpoints(facts)
    if isinstance(service_endpoints, Unknown):
        yield unread_finding("dns-unread/asked", service_endpoints, SERVICE_SUBJECT)
        return
    ready = [pod for pod in facts.pods if pod.ready and not pod.deleting]
    missing = [pod for pod in ready if pod.uid not in service_endpoints.ready]
    if not missing:
        return
    yield Finding.of(
        "dns-not-serving",
        Subject("Service", SERVICE, SYSTEM_NAMESPACE),
        tuple(pod.name for pod in missing),
        severity=Severity.HIGH if len(missing) < len(ready) else Severity.CRITICAL,
        missing_count=len(missing),
        ready_count=len(ready),
    )


# Settings of CoreDNS that the next update of the add-on resets.


def persistence_findings(facts: DnsFacts) -> Iterator[Finding]:
    """No finding where EKS does not manage it, or where that is unknown."""
    if isinstance(facts.addon, (Absent, Unknown)):
        return
    deployment = facts.deployed
    if isinstance(deployment, CorednsDeployment) and deployment.grace_s != DEFAULT_GRACE_S:
        yield Finding.of(
            "dns-grace-not-kept/grace",
            DEPLOYMENT,
            grace_s=deployment.grace_s,
            by=_owner_text(deployment.grace_owner),
            default_grace_s=DEFAULT_GRACE_S,
        )
    yield from _corefile_findings(facts)


def _owner_text(owner: str) -> str:
    return owner if owner != EKS_MANAGER else ""


def _corefile_findings(facts: DnsFacts) -> Iterator[Finding]:
    from_values = facts.configured_corefile
    text = facts.text
    if not isinstance(text, str) or isinstance(from_values, Unknown):
        return
    owner = facts.corefile_owner
    if from_values == text or (from_values is None and owner in ("", EKS_MANAGER)):
        return
    advised = shutdown_ending(facts).advised_s
    yield Finding.of(
        "dns-corefile-not-kept",
        CONFIG,
        by=_owner_text(owner),
        configured=from_values is not None,
        command=set_lameduck_command(advised) if advised else "",
    )
