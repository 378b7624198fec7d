"""Current failures of CoreDNS: its pods, what ended them, what they log, and whether they serve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile_edits import EKS
from kubectl_eksdoc.model.coredns import SERVICE, SYSTEM, Corefile
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.kinds import ENDPOINT_SLICES, PODS, Absent, Unknown
from kubectl_eksdoc.model.nodes import ContainerRunState, Pod, pod_count

from . import configuration as configured
from .configuration import (
    CONFIG,
    DEPLOYMENT,
    SERVED,
    not_read,
    place_elsewhere,
    scale_to,
    set_to,
)
from .deployed import CorednsPodLogs, Deployed, DnsFacts
from .shutdown import (
    DEFAULT_GRACE_S,
    FASTEST_S,
    MARGIN_S,
    SLOWEST_S,
    Shutdown,
    ShutdownBudget,
    arithmetic,
    grace_for,
    together,
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
        found = self.budget
        return 0 if isinstance(found, Unknown) or not found.fits else found.advised_s


def ending(facts: DnsFacts) -> ShutdownEnding:
    """From the live Deployment and Corefile."""
    lameduck = facts.lameduck_s
    of = facts.deployed
    if isinstance(of, (Absent, Unknown)):
        return ShutdownEnding(Unknown("the grace period of CoreDNS' pods is not known"), lameduck)
    if isinstance(of.pre_stop_s, Unknown):
        return ShutdownEnding(of.pre_stop_s, lameduck)
    return ShutdownEnding(facts.budget(Shutdown(of.grace_s, of.pre_stop_s, lameduck or 0.0)), lameduck)


def judged(facts: DnsFacts) -> Iterator[Finding]:
    """No finding where the Deployment is unknown."""
    of = facts.deployed
    if not isinstance(of, (Absent, Unknown)):
        yield from _shutdown(facts, of)


def _shutdown(facts: DnsFacts, of: Deployed) -> Iterator[Finding]:
    end = ending(facts)
    if isinstance(end.budget, Unknown) or end.lameduck_s is None:
        if isinstance(end.budget, Unknown) or (
            isinstance(facts.corefile, Corefile) and not facts.judged(facts.corefile).refusals
        ):
            yield _not_known(facts, end)  # otherwise the Corefile's own findings say it
        return
    allowed, lameduck = end.budget, end.lameduck_s
    sums = (
        _least(allowed),
        f"at most: {arithmetic(lameduck, allowed.shutdown)}; the largest safe lameduck is {allowed.advised_s} s",
        f"{ADVISED_BY_EKS_S} s, as EKS' best practices advise, would need a grace period of "
        f"{grace_for(ADVISED_BY_EKS_S, allowed.shutdown.pre_stop_s)} s",
    )
    if allowed.too_short:
        yield Finding.of(
            "dns-lameduck-short/too-short",
            CONFIG,
            sums,
            remedy=_lengthen(allowed),
            lameduck=_said(lameduck),
            lost=bool(allowed.propagation.lost),
        )
    elif allowed.maybe_short:
        yield Finding.of(
            "dns-lameduck-short/may-be-short",
            CONFIG,
            sums,
            remedy=(*_lengthen(allowed), Remedy.of("measure-loss")),
            lameduck=_said(lameduck),
            passes=_passes(allowed),
        )
    elif lameduck > allowed.advised_s:
        yield Finding.of(
            "dns-lameduck-long/killed" if allowed.too_long else "dns-lameduck-long/margin",
            CONFIG,
            sums,
            remedy=_shorten(allowed),
            lameduck=_said(lameduck),
            grace_s=of.grace_s,
        )


def _least(allowed: ShutdownBudget) -> str:
    """The sum that makes up the lower bound."""
    known = allowed.propagation
    source = "" if known.measured_at else f", EKS says {FASTEST_S} to {SLOWEST_S} s"
    margin = f" + margin {MARGIN_S} s = {allowed.least_s} s" if allowed.least_s > known.seconds else ""
    return f"at least: {known}{source}{margin}"


def _passes(allowed: ShutdownBudget) -> str:
    known = allowed.propagation
    if known.measured_at:
        return str(known)
    return (
        f"until every node sends elsewhere, {FASTEST_S} to {SLOWEST_S} s pass, here about {known.seconds} s by estimate"
    )


def _said(lameduck: float) -> str:
    return f"{lameduck:g}" if lameduck else ""


def _lengthen(allowed: ShutdownBudget) -> tuple[Remedy, ...]:
    if allowed.fits:
        return (Remedy.of("reload-corefile", command=set_to(allowed.advised_s)),)
    return (_more_grace(allowed, allowed.least_s),)


def _shorten(allowed: ShutdownBudget) -> tuple[Remedy, ...]:
    if allowed.fits:
        return (
            Remedy.of("reload-corefile", command=set_to(allowed.advised_s)),
            _more_grace(allowed, allowed.shutdown.lameduck_s, or_else=True),
        )
    return (_more_grace(allowed, max(allowed.least_s, allowed.shutdown.lameduck_s)),)


def _more_grace(allowed: ShutdownBudget, lameduck: float, or_else: bool = False) -> Remedy:
    return Remedy.of("more-grace", or_else=or_else, needed=grace_for(lameduck, allowed.shutdown.pre_stop_s))


def _not_known(facts: DnsFacts, end: ShutdownEnding) -> Finding:
    corefile = facts.corefile
    files = corefile.files if isinstance(corefile, Corefile) else ()
    return Finding.of(
        "dns-lameduck-unknown/not-known",
        CONFIG,
        why=end.budget.why if isinstance(end.budget, Unknown) else "",
        files=", ".join(files),
        timed=end.lameduck_s is not None,
    )


OUT_OF_MEMORY = "OOMKilled"
EKS_MEMORY = "170Mi"
"""The memory limit of EKS' CoreDNS."""
_NOTHING_SEEN = CorednsPodLogs()


@frozen
class Endpoints:
    """UIDs of pods in the service: those that are ready there, and all that are listed."""

    ready: frozenset[str]
    there: frozenset[str]


def endpoints(facts: DnsFacts) -> Endpoints | Unknown:
    """The endpoints of the service kube-dns."""
    unread = facts.cluster.unread(ENDPOINT_SLICES)
    if unread:
        return Unknown(
            f"EndpointSlices could not be read: {unread[0].detail or unread[0].state.value}",
            f"list {ENDPOINT_SLICES.full_name}",
        )
    slices = [each for each in facts.cluster.endpoint_slices if (each.namespace, each.service) == (SYSTEM, SERVICE)]
    every = [each for of in slices for each in of.endpoints]
    return Endpoints(frozenset(each.pod_uid for each in every if each.ready), frozenset(each.pod_uid for each in every))


def judged_failing(facts: DnsFacts) -> Iterator[Finding]:
    """Failures to fix before anything else."""
    of = facts.deployed
    if isinstance(of, (Absent, Unknown)) and not facts.pods:
        return  # the missing Deployment is another finding
    unread = facts.cluster.unread(PODS)
    if unread:
        yield not_read("dns-unread/pods", Unknown(unread[0].detail or "pods could not be read", "list pods"))
        return
    yield from _pods(facts, of if isinstance(of, Deployed) else None)
    yield from _out_of_memory(facts, of if isinstance(of, Deployed) else None)
    yield from _printed(facts)
    yield from _served(facts)


def _pods(facts: DnsFacts, of: Deployed | None) -> Iterator[Finding]:
    pods = [pod for pod in facts.pods if not pod.deleting]
    ready = [pod for pod in pods if pod.ready]
    wanted = max(of.replicas if of is not None else 0, len(pods))
    if not pods:
        yield Finding.of("dns-failing/no-pod", DEPLOYMENT, wanted=wanted)
        return
    if len(ready) >= wanted:
        return
    bad = [pod for pod in pods if not pod.ready]
    unmade = wanted - len(pods)
    untold = (f"{pod_count(unmade)} of {wanted} {'is' if unmade == 1 else 'are'} not made",) if unmade else ()
    yield Finding.of(
        "dns-failing/few-ready" if ready else "dns-failing/none-ready",
        DEPLOYMENT,
        (*(f"{pod.name}: {pod.not_ready_because or pod.phase}" for pod in bad), *untold),
        remedy=_first_aid(facts, bad, len(ready), wanted),
        ready=len(ready),
        wanted=wanted,
    )


def _first_aid(facts: DnsFacts, bad: Sequence[Pod], ready: int, wanted: int) -> tuple[Remedy, ...]:
    """Remedies to take first. More pods do not help where new pods find no node, or would crash."""
    found = []
    placed = [pod for pod in bad if pod.node]
    if ready and placed and starts(facts):
        found.append(Remedy.of("more-pods", command=scale_to(wanted + len(placed))))
    if not bad:
        found.append(Remedy.of("not-made"))
    elif not placed:
        found.append(Remedy.of("no-node"))
    elif starts(facts) and any((node := facts.node_of(pod)) and node.capacity_type == "spot" for pod in placed):
        found.append(Remedy.of("place-elsewhere", command=place_elsewhere(facts.self_managed)))
    if placed:
        found.append(_log_of(facts, placed[0]))
    return tuple(found)


def starts(facts: DnsFacts) -> bool:
    """Whether a new pod would start and become Ready with this Corefile."""
    return not configured.stoppers(facts)


def _log_of(facts: DnsFacts, pod: Pod) -> Remedy:
    """kubectl rejects ``--previous`` for the first container of a pod."""
    container = facts.inside.get(pod.key, _NOTHING_SEEN).container
    before = " --previous" if container is not None and container.ended_before else ""
    return Remedy.of("last-log", pod=pod.name, before=before)


def _out_of_memory(facts: DnsFacts, of: Deployed | None) -> Iterator[Finding]:
    looked = ((pod, facts.inside.get(pod.key, _NOTHING_SEEN).container) for pod in facts.pods)
    ended = [(pod, container) for pod, container in looked if container is not None]
    killed = [pod for pod, container in ended if container.ended_as == OUT_OF_MEMORY]
    if killed:
        limit = of.memory if of is not None else ""
        now = any(_lately(facts, pod, container.runs) for pod, container in ended if pod in killed)
        yield Finding.of(
            "dns-failing/out-of-memory" if now else "dns-failing/was-out-of-memory",
            DEPLOYMENT,
            tuple(sorted(pod.name for pod in killed)),
            pod_count=pod_count(len(killed)),
            limit=limit or "",
            default=limit == EKS_MEMORY,
            command=scale_to(len(facts.pods) + 2),
        )
    restarts = [
        (pod, container)
        for pod, container in ended
        if container.restarts and pod not in killed and _lately(facts, pod, container.runs)
    ]
    if restarts:
        yield Finding.of(
            "dns-failing/restarts",
            DEPLOYMENT,
            tuple(f"{pod.name}: {each.restarts} times, {each.ended_as or 'no reason told'}" for pod, each in restarts),
            remedy=(_log_of(facts, restarts[0][0]),),
            pod_count=pod_count(len(restarts)),
        )


_LATELY_S = 3600


def _lately(facts: DnsFacts, pod: Pod, runs: ContainerRunState) -> bool:
    """Whether the pod is not Ready, or has been Ready for less than an hour: older restarts do not matter now."""
    if runs is not ContainerRunState.RUNNING or not pod.ready or pod.ready_at is None:
        return True
    return (facts.cluster.observed_at - pod.ready_at).total_seconds() < _LATELY_S


def _printed(facts: DnsFacts) -> Iterator[Finding]:
    seen = together(each for pod in facts.pods for each in facts.inside.get(pod.key, _NOTHING_SEEN).seen)
    for each in seen:
        yield Finding.of(
            "dns-failing/logs",
            DEPLOYMENT,
            (each.line, f"printed by CoreDNS' {each.symptom.source}"),
            severity=Severity.HIGH if each.symptom.fatal else Severity.MEDIUM,
            means=each.symptom.means,
            times=each.times,
        )
    unread = [told for pod in facts.pods if (told := facts.inside.get(pod.key, _NOTHING_SEEN).unread)]
    if unread:
        yield not_read("dns-unread/printed", unread[0][0], pods=pod_count(len(unread)))
    left = sum(pod.key not in facts.inside for pod in facts.pods)
    if left:
        yield Finding.of(
            "dns-unread/logs",
            DEPLOYMENT,
            pod_count=pod_count(left),
            pods_count=len(facts.pods) - left,
            pods_count_2=len(facts.pods),
        )


def _served(facts: DnsFacts) -> Iterator[Finding]:
    told = endpoints(facts)
    if isinstance(told, Unknown):
        yield not_read("dns-unread/asked", told, SERVED)
        return
    ready = [pod for pod in facts.pods if pod.ready and not pod.deleting]
    missing = [pod for pod in ready if pod.uid not in told.ready]
    if not missing:
        return
    yield Finding.of(
        "dns-not-serving",
        Subject("Service", SERVICE, SYSTEM),
        tuple(pod.name for pod in missing),
        severity=Severity.HIGH if len(missing) < len(ready) else Severity.CRITICAL,
        missing_count=len(missing),
        ready_count=len(ready),
    )


# Settings of CoreDNS that the next update of the add-on resets.


def judged_lasting(facts: DnsFacts) -> Iterator[Finding]:
    """No finding where EKS does not manage it, or where that is unknown."""
    if isinstance(facts.addon, (Absent, Unknown)):
        return
    of = facts.deployed
    if isinstance(of, Deployed) and of.grace_s != DEFAULT_GRACE_S:
        yield Finding.of(
            "dns-grace-not-kept/grace",
            DEPLOYMENT,
            grace_s=of.grace_s,
            by=_by(of.grace_by),
            default_grace_s=DEFAULT_GRACE_S,
        )
    yield from _corefile(facts)


def _by(owner: str) -> str:
    return owner if owner != EKS else ""


def _corefile(facts: DnsFacts) -> Iterator[Finding]:
    from_values = facts.configured_corefile
    text = facts.text
    if not isinstance(text, str) or isinstance(from_values, Unknown):
        return
    owner = facts.corefile_by
    if from_values == text or (from_values is None and owner in ("", EKS)):
        return
    advised = ending(facts).advised_s
    yield Finding.of(
        "dns-corefile-not-kept",
        CONFIG,
        by=_by(owner),
        configured=from_values is not None,
        command=set_to(advised) if advised else "",
    )
