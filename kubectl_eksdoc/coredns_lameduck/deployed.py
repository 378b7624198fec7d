"""CoreDNS' Deployment and ConfigMap: the facts that are read from these documents.

Sources: core/v1 PodSpec, apps/v1 Deployment; the manifests of EKS 1.23 to 1.36 (aws/eksctl, assets).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from kubectl_eksdoc.amazon.interruption import supported_since
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.interruption.installs import Link
from kubectl_eksdoc.interruption.plan import InterruptionPlan
from kubectl_eksdoc.kubernetes import guards
from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_edits import COREDNS_CONFIG_MAP, EKS_MANAGER, corefile_text, field_owners
from kubectl_eksdoc.kubernetes.corefile_plugins import CorefileVerdict, check_corefile, lameduck_s
from kubectl_eksdoc.kubernetes.evictions import pre_stop_s
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries, read_entries
from kubectl_eksdoc.model import quantities
from kubectl_eksdoc.model.addons import AddonUpdateFacts
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, nested_field
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.coredns import (
    COREFILE_KEY,
    NAME,
    SYSTEM_NAMESPACE,
    Corefile,
    CorefileError,
    EndpointPropagation,
    is_coredns,
)
from kubectl_eksdoc.model.findings import Remedy, Status
from kubectl_eksdoc.model.interruption import KarpenterInstall
from kubectl_eksdoc.model.kinds import NODES, NOT_REQUESTED, Absent, Unknown
from kubectl_eksdoc.model.knowledge import rule_basis
from kubectl_eksdoc.model.nodes import Container, LogKey, Node, Pod

from .shutdown import (
    DEFAULT_GRACE_S,
    MAX_PROPAGATION_NODES,
    LogSymptom,
    Shutdown,
    ShutdownBudget,
    log_symptoms,
    merge_symptoms,
    shutdown_budget,
)

DEPLOYMENT = ObjectName("apps/v1", "Deployment", SYSTEM_NAMESPACE, NAME)
KUBE_PROXY = guards.KUBE_PROXY_CONFIG

PROPORTIONAL_AUTOSCALERS = tuple(
    ObjectName("apps/v1", "Deployment", SYSTEM_NAMESPACE, name)
    for name in ("coredns-autoscaler", "dns-autoscaler", "kube-dns-autoscaler")
)
"""Names of cluster-proportional-autoscaler Deployments that scale CoreDNS (kubernetes/kubernetes,
dns-horizontal-autoscaler; its charts)."""

OBJECTS = (DEPLOYMENT, COREDNS_CONFIG_MAP, KUBE_PROXY, guards.KUBE_PROXY_DAEMON_SET, *PROPORTIONAL_AUTOSCALERS)


@frozen
class _HttpProbe:
    """An HTTP probe; it takes effect after `failure_threshold` periods of `period_s`."""

    path: str
    port: str
    period_s: int = 10
    failure_threshold: int = 3


@frozen
class CorednsDeployment:
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
    readiness: _HttpProbe | None = None
    memory: str = ""
    spread_over: tuple[str, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    grace_owner: str = ""
    managed_by_eks: bool = False
    liveness: _HttpProbe | None = None
    environment: tuple[tuple[str, str], ...] = ()
    has_only_corefile: bool = False
    is_custom_build: bool = False
    readiness_managers: tuple[str, ...] = ()


def read_deployment(doc: Doc) -> CorednsDeployment:
    """Read the Deployment. Fields of another shape than the API's count as missing."""
    pod = nested_field(doc, "spec", "template", "spec")
    pod = pod if isinstance(pod, dict) else {}
    containers = [each for each in pod.get("containers") or () if isinstance(each, dict)]
    container = next((each for each in containers if each.get("name") == NAME), containers[0] if containers else {})
    grace = pod.get("terminationGracePeriodSeconds")
    replicas = nested_field(doc, "spec", "replicas")
    repository, tag = _repository_and_tag(str(container.get("image") or ""))
    owners = ", ".join(field_owners(doc, _GRACE))
    return CorednsDeployment(
        replicas if isinstance(replicas, int) else 1,
        tag,
        grace if isinstance(grace, int) else DEFAULT_GRACE_S,
        _pre_stop_seconds(nested_field(container, "lifecycle", "preStop")),
        _http_probe(container.get("readinessProbe"), container),
        str(nested_field(container, "resources", "limits", "memory") or ""),
        tuple(sorted(set(_spread_keys(pod)))),
        tuple(sorted((str(key), str(value)) for key, value in (pod.get("nodeSelector") or {}).items())),
        owners,
        EKS_MANAGER in _managers(doc),
        _http_probe(container.get("livenessProbe"), container),
        tuple(
            (str(each["name"]), str(each["value"]))
            for each in _docs(container, "env")
            if "name" in each and "value" in each
        ),
        _mounts_only_corefile(pod, container),
        not repository.endswith(rule_basis("coredns-builds").names),
        field_owners(doc, _READINESS),
    )


_POD = ("f:spec", "f:template", "f:spec")
_GRACE = (*_POD, "f:terminationGracePeriodSeconds")
_READINESS = (*_POD, "f:containers", 'k:{"name":"coredns"}', "f:readinessProbe")


def corefile_of(config: Doc | Absent | Unknown) -> str | Absent | Unknown:
    """The text in the ConfigMap."""
    if isinstance(config, (Absent, Unknown)):
        return config
    text = corefile_text(config)
    return Absent(f"ConfigMap {SYSTEM_NAMESPACE}/{NAME} has no key {COREFILE_KEY}") if text is None else text


def corefile_owner(config: Doc | Absent | Unknown) -> str:
    """The field manager of the Corefile's text by the managedFields, or ""."""
    return "" if isinstance(config, (Absent, Unknown)) else ", ".join(field_owners(config))


def was_written_since(config: Doc | Absent | Unknown, time: datetime) -> bool:
    """Whether the ConfigMap may have been written after `time`, by the managedFields."""
    if isinstance(config, (Absent, Unknown)):
        return True
    try:
        times = [entry.time for entry in read_entries(config).values()]
    except MalformedEntries:
        return True
    # RFC 3339 in UTC and whole seconds, so texts compare like times.
    return not times or not all(times) or max(times) > time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _managers(doc: Doc) -> set[str]:
    entries = nested_field(doc, "metadata", "managedFields")
    return {str(each.get("manager")) for each in entries or () if isinstance(each, dict)}


def _repository_and_tag(image: str) -> tuple[str, str]:
    """The repository and the tag of an image; "" without a tag."""
    name = image.partition("@")[0]
    if ":" not in name.rpartition("/")[2]:
        return name, ""
    repository, _, tag = name.rpartition(":")
    return repository, tag


def _pre_stop_seconds(hook: Any) -> int | Unknown:
    seconds = pre_stop_s(hook)
    if seconds is not None:
        return seconds
    return Unknown(f"how long the preStop hook takes is not told by its spec ({', '.join(sorted(hook))})")


def _http_probe(probe: Any, container: Doc) -> _HttpProbe | None:
    path = nested_field(probe, "httpGet", "path") if isinstance(probe, dict) else None
    if path is None:
        return None
    port, period, failures = (
        nested_field(probe, "httpGet", "port"),
        probe.get("periodSeconds"),
        probe.get("failureThreshold"),
    )
    port_by_name = {each.get("name"): each.get("containerPort") for each in _docs(container, "ports")}
    return _HttpProbe(
        str(path),
        str(port_by_name.get(port, port) or ""),
        period if isinstance(period, int) else 10,
        failures if isinstance(failures, int) else 3,
    )


_COREFILE_DIR = "/etc/coredns"


def _mounts_only_corefile(pod: Doc, container: Doc) -> bool:
    """Whether only the Corefile is mounted; the manifests of EKS and kubeadm mount one key of one ConfigMap there."""
    mounts = [each for each in _docs(container, "volumeMounts") if str(each.get("mountPath")).startswith(_COREFILE_DIR)]
    if len(mounts) != 1 or str(mounts[0].get("mountPath")).rstrip("/") != _COREFILE_DIR:
        return False
    volume = next((each for each in _docs(pod, "volumes") if each.get("name") == mounts[0].get("name")), {})
    items = nested_field(volume, "configMap", "items")
    return isinstance(items, list) and [nested_field(each, "key") for each in items] == [COREFILE_KEY]


def _docs(document: Doc, key: str) -> list[Doc]:
    return [each for each in document.get(key) or () if isinstance(each, dict)]


def _spread_keys(pod: Doc) -> Iterator[str]:
    """From topology spread constraints, and from required or preferred anti-affinity among its own pods."""
    for each in pod.get("topologySpreadConstraints") or ():
        if isinstance(each, dict):
            yield str(each.get("topologyKey") or "")
    anti_affinity = nested_field(pod, "affinity", "podAntiAffinity")
    for each in (anti_affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        yield str(each.get("topologyKey") or "")
    for each in (anti_affinity or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ():
        yield str(nested_field(each, "podAffinityTerm", "topologyKey") or "")


# Facts by which CoreDNS is judged.


RELOAD_TIME = timedelta(minutes=5)
"""A Corefile that was not written for this time before a measurement ended was in use during all of it."""

MAX_MEASUREMENT_AGE = timedelta(days=90)
"""An older measurement does not apply to the current network, kube-proxy and nodes (this tool's choice)."""
TERMINATION_DELAY_S = 3
"""A pod may begin to shut down this long after its termination began; event times of a measurement are not more
accurate."""


@frozen
class CorednsPodLogs:
    """The container and the logs of a CoreDNS pod; `not_read`: parts of the logs that are unknown."""

    container: Container | None = None
    symptoms: tuple[LogSymptom, ...] = ()
    not_read: tuple[Unknown, ...] = ()


@frozen
class InterruptionNotices:
    """Whether a controller drains Spot nodes at a notice: `received`, with the reason in a clause. `remedy`: for the
    first broken link, or None; `impact`: what the remedy moves or restarts."""

    received: bool
    why: str
    remedy: Remedy | None = None
    impact: str = "no node"


@frozen
class DnsFacts:
    """Facts about CoreDNS.

    `objects`: the documents of `deployed.OBJECTS`. `addon`: EKS' answer about the add-on coredns, Absent where
    EKS does not manage it. `inside`: logs by the pod's ``namespace/name``. `auto_mode`: EKS creates nodes
    itself, and answers DNS there. `notices`: for Karpenter's nodes. `measured`: the result of an earlier ``--measure``
    of this CoreDNS.
    """

    cluster: Cluster
    objects: Mapping[ObjectName, Doc | Absent | Unknown]
    addon: AddonUpdateFacts | Absent | Unknown = Unknown("EKS was not queried")
    inside: Mapping[str, CorednsPodLogs] = field(default_factory=dict)
    auto_mode: bool | Unknown = Unknown("EKS was not queried")
    notices: InterruptionNotices | Unknown = Unknown("Karpenter's interruption queue was not checked")
    measured: EndpointPropagation | None = None

    @property
    def deployed(self) -> CorednsDeployment | Absent | Unknown:
        doc = self.objects.get(DEPLOYMENT, NOT_REQUESTED)
        return doc if isinstance(doc, (Absent, Unknown)) else read_deployment(doc)

    @property
    def text(self) -> str | Absent | Unknown:
        """The Corefile in the ConfigMap."""
        return corefile_of(self.objects.get(COREDNS_CONFIG_MAP, NOT_REQUESTED))

    @property
    def corefile(self) -> Corefile | CorefileError | Absent | Unknown:
        text = self.text
        return self.parse_corefile(text) if isinstance(text, str) else text

    def parse_corefile(self, text: str) -> Corefile | CorefileError:
        """Parse `text` with the known variables of the container."""
        deployment = self.deployed
        return parse_corefile(text, dict(deployment.environment) if isinstance(deployment, CorednsDeployment) else None)

    def judge_corefile(self, corefile: Corefile | CorefileError, version: str = "") -> CorefileVerdict:
        """Judge `corefile` by the installed CoreDNS, or by another `version`."""
        deployment = self.deployed
        known_deployment = deployment if isinstance(deployment, CorednsDeployment) else None
        version_text = version or (known_deployment.version if known_deployment else "")
        only_corefile, custom_build = (
            (known_deployment.has_only_corefile, known_deployment.is_custom_build)
            if known_deployment is not None
            else (False, False)
        )
        return check_corefile(corefile, quantities.parse_version(version_text), only_corefile, custom_build)

    def budget(self, shutdown: Shutdown) -> ShutdownBudget:
        """Where nodes were not read, the number with the longest propagation is assumed."""
        nodes = MAX_PROPAGATION_NODES if self.cluster.not_read(NODES) else len(self.cluster.nodes)
        return shutdown_budget(shutdown, nodes, self._propagation)

    @property
    def _propagation(self) -> EndpointPropagation | None:
        """The measured propagation time. If the Corefile is the same as then, no answer was lost with its lameduck.
        Pods that answered for longer did so because of a preStop hook, or of another lameduck, which may be gone now.
        """
        measured, lameduck = self.measured, self.lameduck_s
        if measured is None or measured.measured_at is None:
            return None
        if (
            not -RELOAD_TIME <= self.cluster.observed_at - measured.measured_at <= MAX_MEASUREMENT_AGE
        ):  # otherwise it is outdated
            return None
        if measured.lost or lameduck is None or measured.seconds > lameduck + TERMINATION_DELAY_S:
            return measured
        if was_written_since(self.objects.get(COREDNS_CONFIG_MAP, NOT_REQUESTED), measured.measured_at - RELOAD_TIME):
            return measured
        return replace(measured, seconds=min(measured.seconds, int(lameduck)))

    @property
    def lameduck_s(self) -> float | None:
        """Of all health plugins together; None where the text does not determine it."""
        corefile = self.corefile
        return lameduck_s(corefile) if isinstance(corefile, Corefile) and not corefile.imported_files else None

    @property
    def corefile_owner(self) -> str:
        """The field manager of the Corefile's text by the managedFields, or ""."""
        return corefile_owner(self.objects.get(COREDNS_CONFIG_MAP, NOT_REQUESTED))

    @property
    def configured_corefile(self) -> str | Unknown | None:
        """The Corefile in the add-on's configuration values; None for none, or where EKS does not manage it."""
        if isinstance(self.addon, AddonUpdateFacts):
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
    def proportional_autoscaler(self) -> str:
        """The name of an existing proportional autoscaler of CoreDNS, or ""."""
        return next((of.name for of in PROPORTIONAL_AUTOSCALERS if isinstance(self.objects.get(of), dict)), "")


def dns_pods(cluster: Cluster) -> tuple[Pod, ...]:
    return tuple(pod for pod in cluster.pods if is_coredns(pod.namespace, pod.labels) and not pod.finished)


def read_pod_logs(
    containers: Sequence[Container] | Absent | Unknown, logs: Mapping[LogKey, str | Absent | Unknown]
) -> CorednsPodLogs:
    """`logs`: the requested logs of the pod."""
    if isinstance(containers, Unknown):
        return CorednsPodLogs(not_read=(containers,))
    if isinstance(containers, Absent):
        return CorednsPodLogs(not_read=(Unknown(f"it is gone: {containers.said}"),))
    container = _coredns_container(containers)
    if container is None:
        return CorednsPodLogs(not_read=(Unknown("the pod has no container with a status"),))
    texts = [text for text in logs.values() if isinstance(text, str)]
    unread = tuple(text for text in logs.values() if isinstance(text, Unknown))
    return CorednsPodLogs(container, merge_symptoms(seen for text in texts for seen in log_symptoms(text)), unread)


def logs_to_read(pod: Pod, containers: Sequence[Container] | Absent | Unknown) -> tuple[LogKey, ...]:
    """The logs to read: of the running container, and of the previous one if it ended."""
    if isinstance(containers, (Absent, Unknown)):
        return ()
    container = _coredns_container(containers)
    if container is None:
        return ()
    running = LogKey(pod.namespace, pod.name, container.name)
    return (running, replace(running, previous=True)) if container.ended_before else (running,)


def _coredns_container(containers: Sequence[Container]) -> Container | None:
    """The container by its name, or else the first one, as for the Deployment (`read_deployment`)."""
    by_name = (each for each in containers if each.name == NAME)
    return next(by_name, containers[0] if containers else None)


# Handling of Spot notices for CoreDNS: the result of `interruption` in a clause.


def interruption_notices(plan: InterruptionPlan) -> InterruptionNotices | Unknown:
    """For Karpenter's nodes."""
    if plan.outage.handled is True:
        return InterruptionNotices(True, f"{plan.outage.handled_by} drains it at the notice")
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
        remedy = next((each for each in broken.remedy if each.command), next(iter(broken.remedy), None))
        reason = f"Karpenter does not receive its events ({broken.name}: {broken.what})"
        return InterruptionNotices(False, reason, remedy, _impact(install, broken))
    unknown_link = next((each for each in vital if each.status is Status.UNKNOWN), None)
    if unknown_link is None:
        return Unknown("what Karpenter receives is unknown")
    return Unknown(f"{unknown_link.name}: {unknown_link.what}", unknown_link.missing)


def _impact(install: KarpenterInstall, broken_link: Link) -> str:
    """A changed setting is a new pod template, so Karpenter restarts."""
    if broken_link.code.name == "interruption-setting":
        return "no node; the new setting rolls out Karpenter's Deployment"
    if broken_link.code.name not in ("interruption-queue", "interruption-rights"):
        return "no node"
    if install.version is None:
        return "no node; whether Karpenter restarts is unknown, as its version is"
    if install.version.older_than(logged := supported_since("missing-queue-is-logged")):
        return f"no node; Karpenter, older than {logged}, starts again until it can read the queue"
    return "no node; Karpenter keeps running and retries the queue by itself"
