"""Reading of the facts about CoreDNS: the cluster, its objects, its add-on and its pods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Protocol

from kubectl_eksdoc.aws.addon_side import installed_side
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.interruption.plan import InterruptionOptions, InterruptionPlan, with_notes
from kubectl_eksdoc.interruption.read import NEEDS as INTERRUPTION
from kubectl_eksdoc.interruption.read import read_interruption
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import nested_string
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.coredns import NAME, EndpointPropagation
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import NodeOwner, Pod
from kubectl_eksdoc.ports import PodReader
from kubectl_eksdoc.session.session import ClusterNeeds, ClusterSession

from .deployed import (
    DEPLOYMENT,
    OBJECTS,
    DnsFacts,
    dns_pods,
    interruption_notices,
    logs_to_read,
    read_pod_logs,
)
from .placement import spot_pods
from .run import ExpectedReload, PodVerification, ReloadObservation, VerificationResult, parse_metrics, verify_pod

KINDS = (kinds.NODES, kinds.PODS, kinds.BUDGETS, kinds.ENDPOINT_SLICES, kinds.AUTOSCALERS)
"""Kinds that are listed completely."""

NEEDS = ClusterNeeds("coredns-lameduck", KINDS, OBJECTS)

MeasurementLookup = Callable[[str, str], EndpointPropagation | None]
"""By the UID of the Deployment and the context: a rehearsal of a snapshot has the UIDs of the real cluster."""

MAX_PODS = 20
"""Maximum number of pods whose logs are read: two requests each, and further pods add little."""


def dns_facts(session: ClusterSession, measurement_lookup: MeasurementLookup = lambda uid, context: None) -> DnsFacts:
    """The facts without pod logs. `measurement_lookup`: finds the result of an earlier measurement. It is not used for
    snapshots and the demo, which answer the same on every machine.

    Raises:
        ClusterError, AwsError: no request is possible.
    """
    cluster, eks = session.cluster, session.eks
    documents = {name: session.objects.read_object(name) for name in OBJECTS}
    deployment = documents[DEPLOYMENT]
    propagation = None
    if cluster.source is Source.LIVE and isinstance(deployment, Mapping):
        propagation = measurement_lookup(nested_string(deployment, "metadata", "uid"), cluster.identity.context)
    auto_mode = eks if isinstance(eks, Unknown) else eks.auto_mode
    return DnsFacts(cluster, documents, session.ask(installed_side, NAME), auto_mode=auto_mode, measured=propagation)


def complete_facts(
    session: ClusterSession,
    read_notices_plan: Callable[[], InterruptionPlan],
    measurement_lookup: MeasurementLookup = lambda uid, context: None,
) -> DnsFacts:
    """The facts with pod logs and the handling of Spot notices. Raises: as `dns_facts`."""
    return with_pod_logs(with_notices(dns_facts(session, measurement_lookup), read_notices_plan), session.pod_reader)


def read_notices(session: ClusterSession, connection_args: tuple[str, ...], use_proxy: bool) -> InterruptionPlan:
    """The handling of Spot notices; `connection_args`: the command-line arguments that lead to the same cluster. A live
    session is used as it is; a dump and the demo are read again as ``interruption`` does, which is cheap."""
    karpenter = session if session.live else session.reobserve(INTERRUPTION)
    return read_interruption(karpenter, InterruptionOptions(connection_args=connection_args), use_proxy)


def with_notices(facts: DnsFacts, read_notices_plan: Callable[[], InterruptionPlan]) -> DnsFacts:
    """`facts` with the handling of Spot notices, if CoreDNS runs on Spot nodes of Karpenter; otherwise unchanged.

    Raises:
        AwsError, ClusterError: as `interruption.read.read_interruption`.
    """
    if not any(node.owner is NodeOwner.KARPENTER for _, node in spot_pods(facts)):
        return facts
    plan = read_notices_plan()
    return replace(facts, cluster=with_notes(facts.cluster, plan.facts), notices=interruption_notices(plan))


def with_pod_logs(facts: DnsFacts, pod_reader: PodReader) -> DnsFacts:
    """`facts` with the logs of the pods; pods with problems first.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    pods = sorted(dns_pods(facts.cluster), key=lambda pod: (pod.ready and not pod.restarted, pod.key))[:MAX_PODS]
    containers = pod_reader.containers([pod.key for pod in pods])
    requests = {pod.key: logs_to_read(pod, containers[pod.key]) for pod in pods}
    logs = pod_reader.logs([log for each in requests.values() for log in each])
    return replace(
        facts,
        inside={
            key: read_pod_logs(containers[key], {log: logs[log] for log in each}) for key, each in requests.items()
        },
    )


# Whether every CoreDNS pod has loaded the new Corefile: checked until all have, or until the time is over.
#
# The kubelet updates a changed ConfigMap on a node within about a minute, and CoreDNS checks for changes every 30 s and
# some: three minutes are enough if it works (kubelet's syncFrequency; coredns, plugin/reload).


WATCH_S = 180.0
_POLL_INTERVAL_S, _SLEEP_S = 5.0, 0.5
_MARGIN_S = 2.0
"""Logs are requested from a little before the change on, because a request takes time."""


class _Resolvers(Protocol):
    """CoreDNS pods. Every method may raise ClusterError: the cluster cannot be reached. `Unknown.missing`: the right
    without which a value is unknown."""

    def pods(self) -> tuple[Pod, ...] | Unknown:
        """The pods that have not ended and are not being deleted."""
        ...

    def metrics(self, pods: Collection[str], port: int) -> Mapping[str, str | Absent | Unknown]:
        """By ``namespace/name``."""
        ...

    def logs(self, pods: Collection[str], since_s: int) -> Mapping[str, str | Absent | Unknown]:
        """Their output of the last `since_s` seconds."""
        ...


NO_METRICS = "the Corefile has no plugin prometheus that could be asked"


class _Clock(Protocol):
    def monotonic(self) -> float: ...


@frozen
class VerificationEdges:
    """What the check needs from outside. `port`: None where metrics are not read, with the reason in
    `no_metrics_reason`. `interrupts`: returns how often the process was told to end."""

    resolvers: _Resolvers
    port: int | None
    clock: _Clock
    sleep: Callable[[float], object]
    interrupts: Callable[[], int]
    report: Callable[[str], object]
    no_metrics_reason: str = NO_METRICS


def failed_reloads(edges: VerificationEdges) -> Mapping[str, float | None]:
    """Failed reloads of each pod so far; None for a pod whose metrics cannot be read."""
    pods = edges.resolvers.pods()
    if isinstance(pods, Unknown):
        return {}
    names = [pod.key for pod in pods]
    texts = {} if edges.port is None else edges.resolvers.metrics(names, edges.port)
    failed_by_pod: dict[str, float | None] = {}
    for name in names:
        text = texts.get(name)
        metrics = parse_metrics(text) if isinstance(text, str) else None
        failed_by_pod[name] = None if metrics is None else metrics.failed
    return failed_by_pod


def verify_reload(
    expected: ExpectedReload, started_s: float, edges: VerificationEdges, watch_s: float = WATCH_S
) -> VerificationResult:
    """`started_s`: when the change was made, by the clock of `edges`."""
    return _ReloadWatcher(expected, started_s, edges, watch_s).run()


class _ReloadWatcher:
    """Mutable: the verification of each pod so far."""

    def __init__(self, expected: ExpectedReload, started_s: float, edges: VerificationEdges, watch_s: float) -> None:
        self._expected, self._started_s, self._edges, self._watch_s = expected, started_s, edges, watch_s
        self._known: dict[str, PodVerification] = {}
        self._reported: dict[str, str] = {}

    def run(self) -> VerificationResult:
        clock = self._edges.clock
        loop_started_s = clock.monotonic()
        while True:
            not_read = self._observe()
            is_over = not not_read and self._known and all(each.taken.is_final for each in self._known.values())
            stop_reason = "" if is_over else self._wait(loop_started_s)
            if is_over or stop_reason:
                verifications = tuple(self._known[name] for name in sorted(self._known))
                return VerificationResult(verifications, clock.monotonic() - loop_started_s, stop_reason, not_read)

    def _observe(self) -> str:
        """Check the pods once. Returns why the pods are unknown, or ""."""
        try:
            pods = self._edges.resolvers.pods()
            if isinstance(pods, Unknown):
                return pods.why
            if not pods:
                self._known = {}
                return "no pod of CoreDNS is there"
            names = {pod.key for pod in pods}
            self._known = {name: each for name, each in self._known.items() if name in names}
            self._verify([pod for pod in pods if not self._is_final(pod)])
        except ClusterError as error:
            self._report("cluster", f"the cluster does not answer: {error.message}")
            return error.message
        self._reported.pop("cluster", None)
        return ""

    def _is_final(self, pod: Pod) -> bool:
        known = self._known.get(pod.key)
        return known is not None and known.taken.is_final

    def _verify(self, pods: list[Pod]) -> None:
        edges, names = self._edges, [pod.key for pod in pods]
        since_s = int(edges.clock.monotonic() - self._started_s + _MARGIN_S) + 1
        no_metrics = Unknown(edges.no_metrics_reason)
        # CoreDNS logs the reason before it counts a failure: in this order, a count comes with its reason.
        metrics = {} if edges.port is None else edges.resolvers.metrics(names, edges.port)
        logs = edges.resolvers.logs(names, since_s)
        for pod in pods:
            observed = ReloadObservation(
                metrics.get(pod.key, no_metrics), logs.get(pod.key, Unknown("it was not asked"))
            )
            self._known[pod.key] = verification = verify_pod(pod, observed, self._expected)
            if verification.taken.is_final:
                self._report(
                    pod.key,
                    f"{pod.key}: {verification.taken.value}{f', {verification.why}' if verification.why else ''}",
                )

    def _wait(self, loop_started_s: float) -> str:
        """Wait until the next check. Returns why the check ends instead, a clause, or ""."""
        clock, until = self._edges.clock, self._edges.clock.monotonic() + _POLL_INTERVAL_S
        while clock.monotonic() < until:
            if self._edges.interrupts():
                return "it was stopped"
            if clock.monotonic() - loop_started_s >= self._watch_s:
                return f"it was checked for {self._watch_s:.0f} s"
            self._edges.sleep(_SLEEP_S)
        return ""

    def _report(self, subject: str, line: str) -> None:
        """Report a line if it is new."""
        if self._reported.get(subject) != line:
            self._reported[subject] = line
            self._edges.report(line)
