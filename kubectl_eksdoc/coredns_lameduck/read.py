"""Reading of the facts about CoreDNS: the cluster, its objects, its add-on and its pods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Protocol

from kubectl_eksdoc.aws.addon_side import installed_side
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.interruption.plan import InterruptionOptions, InterruptionPlan, noted
from kubectl_eksdoc.interruption.read import NEEDS as INTERRUPTION
from kubectl_eksdoc.interruption.read import look_at_interruption
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import text_at
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.coredns import NAME, Propagation
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import NodeOwner, Pod
from kubectl_eksdoc.ports import PodReader
from kubectl_eksdoc.session.session import ClusterNeeds, ClusterSession

from .deployed import (
    DEPLOYMENT,
    OBJECTS,
    DnsFacts,
    dns_pods,
    inside,
    logs_of,
    notices_of,
)
from .placement import on_spot
from .run import ExpectedReload, PodReload, PodVerification, Verified, metrics_of, stand

KINDS = (kinds.NODES, kinds.PODS, kinds.BUDGETS, kinds.ENDPOINT_SLICES, kinds.AUTOSCALERS)
"""Kinds that are listed completely."""

NEEDS = ClusterNeeds("coredns-lameduck", KINDS, OBJECTS)

MeasuredBefore = Callable[[str, str], Propagation | None]
"""By the UID of the Deployment and the context: a rehearsal of a snapshot has the UIDs of the real cluster."""

MOST_PODS = 20
"""Maximum number of pods whose logs are read: two requests each, and further pods add little."""


def dns_facts(session: ClusterSession, measured: MeasuredBefore = lambda uid, context: None) -> DnsFacts:
    """The facts without pod logs. `measurement_lookup`: finds the result of an earlier measurement. It is not used for
    snapshots and the demo, which answer the same on every machine.

    Raises:
        ClusterError, AwsError: no request is possible.
    """
    cluster, eks = session.cluster, session.eks
    found = {of: session.objects.one(of) for of in OBJECTS}
    deployment = found[DEPLOYMENT]
    known = None
    if cluster.source is Source.LIVE and isinstance(deployment, Mapping):
        known = measured(text_at(deployment, "metadata", "uid"), cluster.identity.context)
    auto_mode = eks if isinstance(eks, Unknown) else eks.auto_mode
    return DnsFacts(cluster, found, session.ask(installed_side, NAME), auto_mode=auto_mode, measured=known)


def whole_facts(
    session: ClusterSession, look: Callable[[], InterruptionPlan], measured: MeasuredBefore = lambda uid, context: None
) -> DnsFacts:
    """The facts with pod logs and the handling of Spot notices. Raises: as `dns_facts`."""
    return with_pods(with_notices(dns_facts(session, measured), look), session.inside)


def notices(session: ClusterSession, again: tuple[str, ...], proxied: bool) -> InterruptionPlan:
    """The handling of Spot notices; `connection_args`: the command-line arguments that lead to the same cluster. A live
    session is used as it is; a dump and the demo are read again as ``interruption`` does, which is cheap."""
    karpenter = session if session.live else session.reobserve(INTERRUPTION)
    return look_at_interruption(karpenter, InterruptionOptions(again=again), proxied)


def with_notices(facts: DnsFacts, look: Callable[[], InterruptionPlan]) -> DnsFacts:
    """`facts` with the handling of Spot notices, if CoreDNS runs on Spot nodes of Karpenter; otherwise unchanged.

    Raises:
        AwsError, ClusterError: as `interruption.read.read_interruption`.
    """
    if not any(node.owner is NodeOwner.KARPENTER for _, node in on_spot(facts)):
        return facts
    plan = look()
    return replace(facts, cluster=noted(facts.cluster, plan.facts), notices=notices_of(plan))


def with_pods(facts: DnsFacts, port: PodReader) -> DnsFacts:
    """`facts` with the logs of the pods; pods with problems first.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    pods = sorted(dns_pods(facts.cluster), key=lambda pod: (pod.ready and not pod.restarted, pod.key))[:MOST_PODS]
    containers = port.containers([pod.key for pod in pods])
    asked = {pod.key: logs_of(pod, containers[pod.key]) for pod in pods}
    logs = port.logs([log for each in asked.values() for log in each])
    return replace(
        facts,
        inside={key: inside(containers[key], {log: logs[log] for log in each}) for key, each in asked.items()},
    )


# Whether every CoreDNS pod has loaded the new Corefile: checked until all have, or until the time is over.
#
# The kubelet updates a changed ConfigMap on a node within about a minute, and CoreDNS checks for changes every 30 s and
# some: three minutes are enough if it works (kubelet's syncFrequency; coredns, plugin/reload).


WATCH_S = 180.0
_PAUSE_S, _SLICE_S = 5.0, 0.5
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
    told: Callable[[], int]
    tell: Callable[[str], object]
    unasked: str = NO_METRICS


def failed_before(world: VerificationEdges) -> Mapping[str, float | None]:
    """Failed reloads of each pod so far; None for a pod whose metrics cannot be read."""
    pods = world.resolvers.pods()
    if isinstance(pods, Unknown):
        return {}
    names = [pod.key for pod in pods]
    texts = {} if world.port is None else world.resolvers.metrics(names, world.port)
    found: dict[str, float | None] = {}
    for name in names:
        text = texts.get(name)
        metrics = metrics_of(text) if isinstance(text, str) else None
        found[name] = None if metrics is None else metrics.failed
    return found


def verified(wanted: ExpectedReload, begun_s: float, world: VerificationEdges, watch_s: float = WATCH_S) -> Verified:
    """`started_s`: when the change was made, by the clock of `edges`."""
    return _Looking(wanted, begun_s, world, watch_s).to_the_end()


class _Looking:
    """Mutable: the verification of each pod so far."""

    def __init__(self, wanted: ExpectedReload, begun_s: float, world: VerificationEdges, watch_s: float) -> None:
        self._wanted, self._begun_s, self._world, self._watch_s = wanted, begun_s, world, watch_s
        self._known: dict[str, PodVerification] = {}
        self._said: dict[str, str] = {}

    def to_the_end(self) -> Verified:
        clock = self._world.clock
        began_s = clock.monotonic()
        while True:
            unread = self._look()
            over = not unread and self._known and all(each.taken.over for each in self._known.values())
            left = "" if over else self._waited(began_s)
            if over or left:
                stands = tuple(self._known[name] for name in sorted(self._known))
                return Verified(stands, clock.monotonic() - began_s, left, unread)

    def _look(self) -> str:
        """Check the pods once. Returns why the pods are unknown, or ""."""
        try:
            pods = self._world.resolvers.pods()
            if isinstance(pods, Unknown):
                return pods.why
            if not pods:
                self._known = {}
                return "no pod of CoreDNS is there"
            names = {pod.key for pod in pods}
            self._known = {name: each for name, each in self._known.items() if name in names}
            self._ask([pod for pod in pods if not self._is_over(pod)])
        except ClusterError as error:
            self._tell("cluster", f"the cluster does not answer: {error.message}")
            return error.message
        self._said.pop("cluster", None)
        return ""

    def _is_over(self, pod: Pod) -> bool:
        known = self._known.get(pod.key)
        return known is not None and known.taken.over

    def _ask(self, pods: list[Pod]) -> None:
        world, names = self._world, [pod.key for pod in pods]
        since_s = int(world.clock.monotonic() - self._begun_s + _MARGIN_S) + 1
        nowhere = Unknown(world.unasked)
        # CoreDNS logs the reason before it counts a failure: in this order, a count comes with its reason.
        metrics = {} if world.port is None else world.resolvers.metrics(names, world.port)
        logs = world.resolvers.logs(names, since_s)
        for pod in pods:
            told = PodReload(metrics.get(pod.key, nowhere), logs.get(pod.key, Unknown("it was not asked")))
            self._known[pod.key] = found = stand(pod, told, self._wanted)
            if found.taken.over:
                self._tell(pod.key, f"{pod.key}: {found.taken.value}{f', {found.why}' if found.why else ''}")

    def _waited(self, began_s: float) -> str:
        """Wait until the next check. Returns why the check ends instead, a clause, or ""."""
        clock, until = self._world.clock, self._world.clock.monotonic() + _PAUSE_S
        while clock.monotonic() < until:
            if self._world.told():
                return "it was stopped"
            if clock.monotonic() - began_s >= self._watch_s:
                return f"it was checked for {self._watch_s:.0f} s"
            self._world.sleep(_SLICE_S)
        return ""

    def _tell(self, about: str, line: str) -> None:
        """Report a line if it is new."""
        if self._said.get(about) != line:
            self._said[about] = line
            self._world.tell(line)
