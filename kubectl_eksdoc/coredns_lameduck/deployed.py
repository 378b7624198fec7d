"""CoreDNS' Deployment and ConfigMap: the facts that are read from these documents.

Sources: core/v1 PodSpec, apps/v1 Deployment; the manifests of EKS 1.23 to 1.36 (aws/eksctl, assets).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from kubectl_eksdoc.amazon.interruption import since
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.interruption.installs import Link
from kubectl_eksdoc.interruption.plan import InterruptionPlan
from kubectl_eksdoc.kubernetes import guards
from kubectl_eksdoc.kubernetes.corefile import parse
from kubectl_eksdoc.kubernetes.corefile_edits import CONFIG, EKS, owners_of, text_of
from kubectl_eksdoc.kubernetes.corefile_plugins import JudgedCorefile, judged, lameduck_s
from kubectl_eksdoc.kubernetes.evictions import pre_stop_s
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries, read
from kubectl_eksdoc.model import quantities
from kubectl_eksdoc.model.addons import AddonSide
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.coredns import COREFILE, NAME, SYSTEM, Corefile, CorefileRefusal, Propagation, is_coredns
from kubectl_eksdoc.model.findings import Remedy, Status
from kubectl_eksdoc.model.interruption import KarpenterInstall
from kubectl_eksdoc.model.kinds import NODES, NOT_ASKED, Absent, Unknown
from kubectl_eksdoc.model.knowledge import basis
from kubectl_eksdoc.model.nodes import Container, LogOf, Node, Pod

from .shutdown import (
    DEFAULT_GRACE_S,
    SLOWEST_NODES,
    LogSymptom,
    Shutdown,
    ShutdownBudget,
    budget,
    symptoms,
    together,
)

DEPLOYMENT = ObjectName("apps/v1", "Deployment", SYSTEM, NAME)
KUBE_PROXY = guards.CONFIG

PROPORTIONAL = tuple(
    ObjectName("apps/v1", "Deployment", SYSTEM, name)
    for name in ("coredns-autoscaler", "dns-autoscaler", "kube-dns-autoscaler")
)
"""Names of cluster-proportional-autoscaler Deployments that scale CoreDNS (kubernetes/kubernetes,
dns-horizontal-autoscaler; its charts)."""

OBJECTS = (DEPLOYMENT, CONFIG, KUBE_PROXY, guards.DAEMON_SET, *PROPORTIONAL)


@frozen
class _Probe:
    """An HTTP probe; it takes effect after `failure_threshold` periods of `period_s`."""

    path: str
    port: str
    period_s: int = 10
    failures: int = 3


@frozen
class Deployed:
    """The Deployment of CoreDNS.

    `pre_stop_s`: Unknown where the hook is not a plain sleep. `readiness`: None without an HTTP probe; `memory`: the
    limit as written, or "". `spread_over`: topology keys that the scheduler spreads over; `grace_owner`: the field
    manager of the grace period, or ""; `readiness_managers`: the field managers of the readiness probe. `environment`:
    variables of the container with plain values; `has_only_corefile`: no other file is mounted that the Corefile could
    import. `is_custom_build`: the image is not known to be built by CoreDNS, Kubernetes or EKS, so it may have other
    plugins.
    """

    replicas: int
    version: str
    grace_s: int = DEFAULT_GRACE_S
    pre_stop_s: int | Unknown = 0
    readiness: _Probe | None = None
    memory: str = ""
    spread_over: tuple[str, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    grace_by: str = ""
    of_eks: bool = False
    liveness: _Probe | None = None
    environment: tuple[tuple[str, str], ...] = ()
    alone: bool = False
    own_build: bool = False
    readiness_by: tuple[str, ...] = ()


def deployed(doc: Doc) -> Deployed:
    """Read the Deployment. Fields of another shape than the API's count as missing."""
    pod = at(doc, "spec", "template", "spec")
    pod = pod if isinstance(pod, dict) else {}
    listed = [each for each in pod.get("containers") or () if isinstance(each, dict)]
    container = next((each for each in listed if each.get("name") == NAME), listed[0] if listed else {})
    grace = pod.get("terminationGracePeriodSeconds")
    replicas = at(doc, "spec", "replicas")
    repository, tag = _image(str(container.get("image") or ""))
    owners = ", ".join(owners_of(doc, _GRACE))
    return Deployed(
        replicas if isinstance(replicas, int) else 1,
        tag,
        grace if isinstance(grace, int) else DEFAULT_GRACE_S,
        _pre_stop(at(container, "lifecycle", "preStop")),
        _probe(container.get("readinessProbe"), container),
        str(at(container, "resources", "limits", "memory") or ""),
        tuple(sorted(set(_spread_over(pod)))),
        tuple(sorted((str(key), str(value)) for key, value in (pod.get("nodeSelector") or {}).items())),
        owners,
        EKS in _managers(doc),
        _probe(container.get("livenessProbe"), container),
        tuple(
            (str(each["name"]), str(each["value"]))
            for each in _docs(container, "env")
            if "name" in each and "value" in each
        ),
        _alone(pod, container),
        not repository.endswith(basis("coredns-builds").names),
        owners_of(doc, _READINESS),
    )


_POD = ("f:spec", "f:template", "f:spec")
_GRACE = (*_POD, "f:terminationGracePeriodSeconds")
_READINESS = (*_POD, "f:containers", 'k:{"name":"coredns"}', "f:readinessProbe")


def corefile_of(config: Doc | Absent | Unknown) -> str | Absent | Unknown:
    """The text in the ConfigMap."""
    if isinstance(config, (Absent, Unknown)):
        return config
    text = text_of(config)
    return Absent(f"ConfigMap {SYSTEM}/{NAME} has no key {COREFILE}") if text is None else text


def corefile_by(config: Doc | Absent | Unknown) -> str:
    """The field manager of the Corefile's text by the managedFields, or ""."""
    return "" if isinstance(config, (Absent, Unknown)) else ", ".join(owners_of(config))


def written_since(config: Doc | Absent | Unknown, moment: datetime) -> bool:
    """Whether the ConfigMap may have been written after `time`, by the managedFields."""
    if isinstance(config, (Absent, Unknown)):
        return True
    try:
        times = [entry.time for entry in read(config).values()]
    except MalformedEntries:
        return True
    # RFC 3339 in UTC and whole seconds, so texts compare like times.
    return not times or not all(times) or max(times) > moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _managers(doc: Doc) -> set[str]:
    entries = at(doc, "metadata", "managedFields")
    return {str(each.get("manager")) for each in entries or () if isinstance(each, dict)}


def _image(image: str) -> tuple[str, str]:
    """The repository and the tag of an image; "" without a tag."""
    named = image.partition("@")[0]
    if ":" not in named.rpartition("/")[2]:
        return named, ""
    repository, _, tag = named.rpartition(":")
    return repository, tag


def _pre_stop(hook: Any) -> int | Unknown:
    seconds = pre_stop_s(hook)
    if seconds is not None:
        return seconds
    return Unknown(f"how long the preStop hook takes is not told by its spec ({', '.join(sorted(hook))})")


def _probe(probe: Any, container: Doc) -> _Probe | None:
    path = at(probe, "httpGet", "path") if isinstance(probe, dict) else None
    if path is None:
        return None
    port, period, failures = at(probe, "httpGet", "port"), probe.get("periodSeconds"), probe.get("failureThreshold")
    named = {each.get("name"): each.get("containerPort") for each in _docs(container, "ports")}
    return _Probe(
        str(path),
        str(named.get(port, port) or ""),
        period if isinstance(period, int) else 10,
        failures if isinstance(failures, int) else 3,
    )


_HOME = "/etc/coredns"


def _alone(pod: Doc, container: Doc) -> bool:
    """Whether only the Corefile is mounted; the manifests of EKS and kubeadm mount one key of one ConfigMap there."""
    mounts = [each for each in _docs(container, "volumeMounts") if str(each.get("mountPath")).startswith(_HOME)]
    if len(mounts) != 1 or str(mounts[0].get("mountPath")).rstrip("/") != _HOME:
        return False
    volume = next((each for each in _docs(pod, "volumes") if each.get("name") == mounts[0].get("name")), {})
    items = at(volume, "configMap", "items")
    return isinstance(items, list) and [at(each, "key") for each in items] == [COREFILE]


def _docs(of: Doc, key: str) -> list[Doc]:
    return [each for each in of.get(key) or () if isinstance(each, dict)]


def _spread_over(pod: Doc) -> Iterator[str]:
    """From topology spread constraints, and from required or preferred anti-affinity among its own pods."""
    for each in pod.get("topologySpreadConstraints") or ():
        if isinstance(each, dict):
            yield str(each.get("topologyKey") or "")
    anti = at(pod, "affinity", "podAntiAffinity")
    for each in (anti or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        yield str(each.get("topologyKey") or "")
    for each in (anti or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ():
        yield str(at(each, "podAffinityTerm", "topologyKey") or "")


# Facts by which CoreDNS is judged.


RELOADED = timedelta(minutes=5)
"""A Corefile that was not written for this time before a measurement ended was in use during all of it."""

LONGEST = timedelta(days=90)
"""An older measurement does not apply to the current network, kube-proxy and nodes (this tool's choice)."""
BEGINS_S = 3
"""A pod may begin to shut down this long after its termination began; event times of a measurement are not more
accurate."""


@frozen
class CorednsPodLogs:
    """The container and the logs of a CoreDNS pod; `not_read`: parts of the logs that are unknown."""

    container: Container | None = None
    seen: tuple[LogSymptom, ...] = ()
    unread: tuple[Unknown, ...] = ()


@frozen
class InterruptionNotices:
    """Whether a controller drains Spot nodes at a notice: `received`, with the reason in a clause. `remedy`: for the
    first broken link, or None; `impact`: what the remedy moves or restarts."""

    heard: bool
    why: str
    mend: Remedy | None = None
    moves: str = "no node"


@frozen
class DnsFacts:
    """Facts about CoreDNS.

    `objects`: the documents of `deployed.OBJECTS`. `addon`: EKS' answer about the add-on coredns, Absent where EKS does
    not manage it. `inside`: logs by the pod's ``namespace/name``. `auto_mode`: EKS creates nodes itself, and answers
    DNS there. `notices`: for Karpenter's nodes. `measured`: the result of an earlier ``--measure`` of this CoreDNS.
    """

    cluster: Cluster
    objects: Mapping[ObjectName, Doc | Absent | Unknown]
    addon: AddonSide | Absent | Unknown = Unknown("EKS was not queried")
    inside: Mapping[str, CorednsPodLogs] = field(default_factory=dict)
    auto_mode: bool | Unknown = Unknown("EKS was not queried")
    notices: InterruptionNotices | Unknown = Unknown("Karpenter's interruption queue was not checked")
    measured: Propagation | None = None

    @property
    def deployed(self) -> Deployed | Absent | Unknown:
        doc = self.objects.get(DEPLOYMENT, NOT_ASKED)
        return doc if isinstance(doc, (Absent, Unknown)) else deployed(doc)

    @property
    def text(self) -> str | Absent | Unknown:
        """The Corefile in the ConfigMap."""
        return corefile_of(self.objects.get(CONFIG, NOT_ASKED))

    @property
    def corefile(self) -> Corefile | CorefileRefusal | Absent | Unknown:
        text = self.text
        return self.read(text) if isinstance(text, str) else text

    def read(self, text: str) -> Corefile | CorefileRefusal:
        """Parse `text` with the known variables of the container."""
        of = self.deployed
        return parse(text, dict(of.environment) if isinstance(of, Deployed) else None)

    def judged(self, corefile: Corefile | CorefileRefusal, version: str = "") -> JudgedCorefile:
        """Judge `corefile` by the installed CoreDNS, or by another `version`."""
        of = self.deployed
        known = of if isinstance(of, Deployed) else None
        wanted = version or (known.version if known else "")
        alone, own_build = (known.alone, known.own_build) if known is not None else (False, False)
        return judged(corefile, quantities.parse(wanted), alone, own_build)

    def budget(self, shutdown: Shutdown) -> ShutdownBudget:
        """Where nodes were not read, the number with the longest propagation is assumed."""
        nodes = SLOWEST_NODES if self.cluster.unread(NODES) else len(self.cluster.nodes)
        return budget(shutdown, nodes, self._propagation)

    @property
    def _propagation(self) -> Propagation | None:
        """The measured propagation time. If the Corefile is the same as then, no answer was lost with its lameduck.
        Pods that answered for longer did so because of a preStop hook, or of another lameduck, which may be gone now.
        """
        found, lameduck = self.measured, self.lameduck_s
        if found is None or found.measured_at is None:
            return None
        if not -RELOADED <= self.cluster.observed_at - found.measured_at <= LONGEST:  # otherwise it is outdated
            return None
        if found.lost or lameduck is None or found.seconds > lameduck + BEGINS_S:
            return found
        if written_since(self.objects.get(CONFIG, NOT_ASKED), found.measured_at - RELOADED):
            return found
        return replace(found, seconds=min(found.seconds, int(lameduck)))

    @property
    def lameduck_s(self) -> float | None:
        """Of all health plugins together; None where the text does not determine it."""
        corefile = self.corefile
        return lameduck_s(corefile) if isinstance(corefile, Corefile) and not corefile.files else None

    @property
    def corefile_by(self) -> str:
        """The field manager of the Corefile's text by the managedFields, or ""."""
        return corefile_by(self.objects.get(CONFIG, NOT_ASKED))

    @property
    def configured_corefile(self) -> str | Unknown | None:
        """The Corefile in the add-on's configuration values; None for none, or where EKS does not manage it."""
        if isinstance(self.addon, AddonSide):
            values = self.addon.values
            if isinstance(values, Unknown):
                return values
            text = values.get("corefile")
            return text if isinstance(text, str) else None
        return self.addon if isinstance(self.addon, Unknown) else None

    @property
    def self_managed(self) -> bool:
        """Whether CoreDNS is known not to be an EKS add-on."""
        return isinstance(self.addon, Absent)

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The CoreDNS pods that have not ended, by the label that the service kube-dns selects."""
        return dns_pods(self.cluster)

    def node_of(self, pod: Pod) -> Node | None:
        return next((node for node in self.cluster.nodes if node.name == pod.node), None)

    @property
    def proportional(self) -> str:
        """The name of an existing proportional autoscaler of CoreDNS, or ""."""
        return next((of.name for of in PROPORTIONAL if isinstance(self.objects.get(of), dict)), "")


def dns_pods(cluster: Cluster) -> tuple[Pod, ...]:
    return tuple(pod for pod in cluster.pods if is_coredns(pod.namespace, pod.labels) and not pod.finished)


def inside(
    containers: Sequence[Container] | Absent | Unknown, logs: Mapping[LogOf, str | Absent | Unknown]
) -> CorednsPodLogs:
    """`logs`: the requested logs of the pod."""
    if isinstance(containers, Unknown):
        return CorednsPodLogs(unread=(containers,))
    if isinstance(containers, Absent):
        return CorednsPodLogs(unread=(Unknown(f"it is gone: {containers.said}"),))
    container = _of_coredns(containers)
    if container is None:
        return CorednsPodLogs(unread=(Unknown("the pod has no container with a status"),))
    texts = [text for text in logs.values() if isinstance(text, str)]
    unread = tuple(text for text in logs.values() if isinstance(text, Unknown))
    return CorednsPodLogs(container, together(seen for text in texts for seen in symptoms(text)), unread)


def logs_of(pod: Pod, containers: Sequence[Container] | Absent | Unknown) -> tuple[LogOf, ...]:
    """The logs to read: of the running container, and of the previous one if it ended."""
    if isinstance(containers, (Absent, Unknown)):
        return ()
    each = _of_coredns(containers)
    if each is None:
        return ()
    running = LogOf(pod.namespace, pod.name, each.name)
    return (running, replace(running, previous=True)) if each.ended_before else (running,)


def _of_coredns(containers: Sequence[Container]) -> Container | None:
    """The container by its name, or else the first one, as for the Deployment (`read_deployment`)."""
    named = (each for each in containers if each.name == NAME)
    return next(named, containers[0] if containers else None)


# Handling of Spot notices for CoreDNS: the result of `interruption` in a clause.


def notices_of(plan: InterruptionPlan) -> InterruptionNotices | Unknown:
    """For Karpenter's nodes."""
    if plan.outage.handled is True:
        return InterruptionNotices(True, f"{plan.outage.by} drains it at the notice")
    install = plan.facts.install
    if isinstance(install, Unknown):
        return install
    if isinstance(install, Absent):
        return InterruptionNotices(False, "there is no Karpenter in the cluster any more")
    vital = [each for each in plan.links if each.vital]
    if plan.outage.handled is False:
        broken = next((each for each in vital if each.failed), None)
        if broken is None:
            return InterruptionNotices(False, "Karpenter receives no events")
        mend = next((each for each in broken.remedy if each.command), next(iter(broken.remedy), None))
        why = f"Karpenter does not receive its events ({broken.name}: {broken.what})"
        return InterruptionNotices(False, why, mend, _moves(install, broken))
    doubted = next((each for each in vital if each.status is Status.UNKNOWN), None)
    if doubted is None:
        return Unknown("what Karpenter receives is unknown")
    return Unknown(f"{doubted.name}: {doubted.what}", doubted.missing)


def _moves(install: KarpenterInstall, broken: Link) -> str:
    """A changed setting is a new pod template, so Karpenter restarts."""
    if broken.code.name == "interruption-setting":
        return "no node; the new setting rolls out Karpenter's Deployment"
    if broken.code.name not in ("interruption-queue", "interruption-rights"):
        return "no node"
    if install.version is None:
        return "no node; whether Karpenter restarts is unknown, as its version is"
    if install.version.older_than(logged := since("missing-queue-is-logged")):
        return f"no node; Karpenter, older than {logged}, starts again until it can read the queue"
    return "no node; Karpenter keeps running and retries the queue by itself"
