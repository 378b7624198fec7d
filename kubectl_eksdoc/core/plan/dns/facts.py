"""What CoreDNS is judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from kubectl_eksdoc.core.model import versions
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.addons import AddonSide
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.containers import Container, LogOf
from kubectl_eksdoc.core.model.coredns import NAME, is_coredns
from kubectl_eksdoc.core.model.corefile import Corefile, Refusal
from kubectl_eksdoc.core.model.dns_measure import Propagation
from kubectl_eksdoc.core.model.kinds import NODES
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.dns import deployed as deployments
from kubectl_eksdoc.core.plan.dns.deployed import DEPLOYMENT, PROPORTIONAL, Deployed
from kubectl_eksdoc.core.plan.dns.shutdown import SLOWEST_NODES, Budget, Shutdown, budget
from kubectl_eksdoc.core.plan.dns.symptoms import Seen, symptoms, together
from kubectl_eksdoc.core.rules.corefile.config_map import CONFIG
from kubectl_eksdoc.core.rules.corefile.parser import parse
from kubectl_eksdoc.core.rules.corefile.plugins import Judged, judged, lameduck_s

RELOADED = timedelta(minutes=5)
"""A Corefile that was not written for so long before a measurement ended was the one that CoreDNS had all the while."""

LONGEST = timedelta(days=90)
"""A measurement says nothing about a network, a kube-proxy and nodes of so much later (this tool's choice)."""
BEGINS_S = 3
"""A pod may begin to end so long after it was told to; moments of a measurement are not more exact either."""


@dataclass(frozen=True, slots=True)
class Inside:
    """Of one of CoreDNS' pods: its container, and what its logs tell; `unread` is what of them was not had."""

    container: Container | None = None
    seen: tuple[Seen, ...] = ()
    unread: tuple[Unknown, ...] = ()


@dataclass(frozen=True, slots=True)
class Notices:
    """Whether somebody drains Spot nodes when EC2 takes them back: `heard`, and why or why not in a clause; `mend`: the
    command that makes what is missing, "" where there is none."""

    heard: bool
    why: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class DnsFacts:
    """`objects`: the documents of `deployed.OBJECTS`. `addon`: what EKS says of the add-on coredns, Absent where it is
    not managed by EKS. `inside`: by the pod's ``namespace/name``. `auto_mode`: EKS makes nodes itself, and answers
    there. `notices` of Karpenter's nodes. `measured`: by an earlier ``--measure`` of this CoreDNS."""

    cluster: Cluster
    objects: Mapping[Named, Doc | Absent | Unknown]
    addon: AddonSide | Absent | Unknown = Unknown("nobody asked EKS")
    inside: Mapping[str, Inside] = field(default_factory=dict)
    auto_mode: bool | Unknown = Unknown("nobody asked EKS")
    notices: Notices | Unknown = Unknown("nobody looked at Karpenter's interruption queue")
    measured: Propagation | None = None

    @property
    def deployed(self) -> Deployed | Absent | Unknown:
        doc = self.objects.get(DEPLOYMENT, _NOT_ASKED)
        return doc if isinstance(doc, (Absent, Unknown)) else deployments.deployed(doc)

    @property
    def text(self) -> str | Absent | Unknown:
        """The Corefile as the ConfigMap has it."""
        return deployments.corefile_of(self.objects.get(CONFIG, _NOT_ASKED))

    @property
    def corefile(self) -> Corefile | Refusal | Absent | Unknown:
        text = self.text
        return self.read(text) if isinstance(text, str) else text

    def read(self, text: str) -> Corefile | Refusal:
        """As its container would, as far as its variables are known."""
        of = self.deployed
        return parse(text, dict(of.environment) if isinstance(of, Deployed) else None)

    def judged(self, corefile: Corefile | Refusal, version: str = "") -> Judged:
        """By the CoreDNS that is installed, or by another `version`."""
        of = self.deployed
        known = of if isinstance(of, Deployed) else None
        wanted = version or (known.version if known else "")
        alone, own_build = (known.alone, known.own_build) if known is not None else (False, False)
        return judged(corefile, versions.parse(wanted), alone, own_build)

    def budget(self, shutdown: Shutdown) -> Budget:
        """Where nodes were not read, as many are assumed as make the most of a difference."""
        nodes = SLOWEST_NODES if self.cluster.unread(NODES) else len(self.cluster.nodes)
        return budget(shutdown, nodes, self._propagation)

    @property
    def _propagation(self) -> Propagation | None:
        """As measured; where the Corefile is the same as then, no answer was lost with its lameduck. Pods that answered
        for longer than that did so by a preStop hook, or by another lameduck, which may be gone now."""
        found, lameduck = self.measured, self.lameduck_s
        if found is None or found.measured_at is None:
            return None
        if not -RELOADED <= self.cluster.observed_at - found.measured_at <= LONGEST:  # else not of this time
            return None
        if found.lost or lameduck is None or found.seconds > lameduck + BEGINS_S:
            return found
        if deployments.written_since(self.objects.get(CONFIG, _NOT_ASKED), found.measured_at - RELOADED):
            return found
        return replace(found, seconds=min(found.seconds, int(lameduck)))

    @property
    def lameduck_s(self) -> float | None:
        """Of all health plugins together; None where the text does not say it."""
        corefile = self.corefile
        return lameduck_s(corefile) if isinstance(corefile, Corefile) and not corefile.files else None

    @property
    def corefile_by(self) -> str:
        """Who owns its text by the managedFields, "" where nobody is told."""
        return deployments.corefile_by(self.objects.get(CONFIG, _NOT_ASKED))

    @property
    def configured_corefile(self) -> str | Unknown | None:
        """The one in the add-on's configuration values; None for none, or where EKS does not manage it."""
        if isinstance(self.addon, AddonSide):
            values = self.addon.values
            if isinstance(values, Unknown):
                return values
            text = values.get("corefile")
            return text if isinstance(text, str) else None
        return self.addon if isinstance(self.addon, Unknown) else None

    @property
    def self_managed(self) -> bool:
        """Known not to be an add-on of EKS."""
        return isinstance(self.addon, Absent)

    @property
    def pods(self) -> tuple[Pod, ...]:
        """CoreDNS' own, the ended ones left out; they are known by the label that the service kube-dns selects by."""
        return dns_pods(self.cluster)

    def node_of(self, pod: Pod) -> Node | None:
        return next((node for node in self.cluster.nodes if node.name == pod.node), None)

    @property
    def proportional(self) -> str:
        """The proportional autoscaler of CoreDNS that is there, "" for none that is known."""
        return next((of.name for of in PROPORTIONAL if isinstance(self.objects.get(of), dict)), "")


_NOT_ASKED = Unknown("it was not asked for")


def dns_pods(cluster: Cluster) -> tuple[Pod, ...]:
    return tuple(pod for pod in cluster.pods if is_coredns(pod.namespace, pod.labels) and not pod.finished)


def inside(containers: Sequence[Container] | Absent | Unknown, logs: Mapping[LogOf, str | Absent | Unknown]) -> Inside:
    """`logs`: those of the pod that were asked for."""
    if isinstance(containers, Unknown):
        return Inside(unread=(containers,))
    if isinstance(containers, Absent):
        return Inside(unread=(Unknown(f"it is gone: {containers.said}"),))
    container = _of_coredns(containers)
    if container is None:
        return Inside(unread=(Unknown("the pod has no container of which something is told"),))
    texts = [text for text in logs.values() if isinstance(text, str)]
    unread = tuple(text for text in logs.values() if isinstance(text, Unknown))
    return Inside(container, together(seen for text in texts for seen in symptoms(text)), unread)


def logs_of(pod: Pod, containers: Sequence[Container] | Absent | Unknown) -> tuple[LogOf, ...]:
    """What to read of it: of the container that runs, and of the one before where that ended."""
    if isinstance(containers, (Absent, Unknown)):
        return ()
    each = _of_coredns(containers)
    if each is None:
        return ()
    running = LogOf(pod.namespace, pod.name, each.name)
    return (running, replace(running, previous=True)) if each.ended_before else (running,)


def _of_coredns(containers: Sequence[Container]) -> Container | None:
    """By its name, and the first one where none has it, as of the Deployment (`deployed`)."""
    named = (each for each in containers if each.name == NAME)
    return next(named, containers[0] if containers else None)
