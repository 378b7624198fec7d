"""CoreDNS's Deployment and ConfigMap as documents: what of them is judged.

Sources: core/v1 PodSpec, apps/v1 Deployment; the manifests of EKS 1.23 to 1.36 (aws/eksctl, assets).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.coredns import COREFILE, NAME, SYSTEM
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.core.plan.dns.shutdown import DEFAULT_GRACE_S
from kubectl_eksdoc.core.rules.api.ownership.entries import MalformedEntries, read
from kubectl_eksdoc.core.rules.corefile.config_map import CONFIG, EKS, owners_of, text_of

DEPLOYMENT = Named("apps/v1", "Deployment", SYSTEM, NAME)
KUBE_PROXY = Named("v1", "ConfigMap", SYSTEM, "kube-proxy-config")
"""As EKS calls it."""

PROPORTIONAL = tuple(
    Named("apps/v1", "Deployment", SYSTEM, name)
    for name in ("coredns-autoscaler", "dns-autoscaler", "kube-dns-autoscaler")
)
"""As the cluster-proportional-autoscaler is called that scales CoreDNS (kubernetes/kubernetes,
dns-horizontal-autoscaler; the charts of it)."""

OBJECTS = (DEPLOYMENT, CONFIG, KUBE_PROXY, *PROPORTIONAL)


@dataclass(frozen=True, slots=True)
class Probe:
    """An HTTP probe; `period_s` times `failures` until its word counts."""

    path: str
    port: str
    period_s: int = 10
    failures: int = 3


@dataclass(frozen=True, slots=True)
class Deployed:
    """`pre_stop_s` is Unknown where the hook is not a plain sleep. `readiness` is None for no HTTP probe; `memory` is
    the limit as written, "" for none. `spread_over`: topology keys that the scheduler is asked to spread over;
    `grace_by`: who owns the grace period, "" where nobody is told. `environment`: the variables that its container is
    given as they are; `alone`: beside the Corefile no other file is mounted, which it could import. `own_build`: its
    image is not known to be one that CoreDNS, Kubernetes or EKS build, so it may have plugins of its own."""

    replicas: int
    version: str
    grace_s: int = DEFAULT_GRACE_S
    pre_stop_s: int | Unknown = 0
    readiness: Probe | None = None
    memory: str = ""
    spread_over: tuple[str, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    grace_by: str = ""
    of_eks: bool = False
    liveness: Probe | None = None
    environment: tuple[tuple[str, str], ...] = ()
    alone: bool = False
    own_build: bool = False


def deployed(doc: Doc) -> Deployed:
    """Of the Deployment. What has another shape than the API's is taken as not there."""
    pod = at(doc, "spec", "template", "spec")
    pod = pod if isinstance(pod, dict) else {}
    container = _container(pod)
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
        not repository.endswith(_BUILDS),
    )


_BUILDS = ("eks/coredns", "coredns/coredns", "k8s.gcr.io/coredns", "registry.k8s.io/coredns")
"""As the repositories of those that build it without further plugins end, also where they are mirrored."""
_GRACE = ("f:spec", "f:template", "f:spec", "f:terminationGracePeriodSeconds")


def corefile_of(config: Doc | Absent | Unknown) -> str | Absent | Unknown:
    """The text of the ConfigMap."""
    if isinstance(config, (Absent, Unknown)):
        return config
    text = text_of(config)
    return Absent(f"ConfigMap {SYSTEM}/{NAME} has no key {COREFILE}") if text is None else text


def corefile_by(config: Doc | Absent | Unknown) -> str:
    """Who owns the Corefile's text by the managedFields, "" where nobody is told."""
    return "" if isinstance(config, (Absent, Unknown)) else ", ".join(owners_of(config))


def written_since(config: Doc | Absent | Unknown, moment: datetime) -> bool:
    """Whether the ConfigMap may have been written later than that, by the managedFields."""
    if isinstance(config, (Absent, Unknown)):
        return True
    try:
        times = [entry.time for entry in read(config).values()]
    except MalformedEntries:
        return True
    # RFC 3339 in UTC and whole seconds, so text compares as time does.
    return not times or not all(times) or max(times) > moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _managers(doc: Doc) -> set[str]:
    entries = at(doc, "metadata", "managedFields")
    return {str(each.get("manager")) for each in entries or () if isinstance(each, dict)}


def _image(image: str) -> tuple[str, str]:
    """Its repository and its tag, "" for none."""
    named = image.partition("@")[0]
    if ":" not in named.rpartition("/")[2]:
        return named, ""
    repository, _, tag = named.rpartition(":")
    return repository, tag


def _container(pod: Doc) -> Doc:
    listed = [each for each in pod.get("containers") or () if isinstance(each, dict)]
    return next((each for each in listed if each.get("name") == NAME), listed[0] if listed else {})


def _pre_stop(hook: Any) -> int | Unknown:
    if not isinstance(hook, dict) or not hook:
        return 0
    seconds = at(hook, "sleep", "seconds")
    if isinstance(seconds, int):
        return seconds
    command = at(hook, "exec", "command")
    words = " ".join(map(str, command)).split() if isinstance(command, list) else []
    if len(words) >= 2 and words[-2].rpartition("/")[2] == "sleep" and words[-1].isdigit():
        return int(words[-1])
    return Unknown(f"how long the preStop hook takes is not told by its spec ({', '.join(sorted(hook))})")


def _probe(probe: Any, container: Doc) -> Probe | None:
    path = at(probe, "httpGet", "path") if isinstance(probe, dict) else None
    if path is None:
        return None
    port, period, failures = at(probe, "httpGet", "port"), probe.get("periodSeconds"), probe.get("failureThreshold")
    named = {each.get("name"): each.get("containerPort") for each in _docs(container, "ports")}
    return Probe(
        str(path),
        str(named.get(port, port) or ""),
        period if isinstance(period, int) else 10,
        failures if isinstance(failures, int) else 3,
    )


_HOME = "/etc/coredns"


def _alone(pod: Doc, container: Doc) -> bool:
    """The manifests of EKS and kubeadm mount one key of one ConfigMap there."""
    mounts = [each for each in _docs(container, "volumeMounts") if str(each.get("mountPath")).startswith(_HOME)]
    if len(mounts) != 1 or str(mounts[0].get("mountPath")).rstrip("/") != _HOME:
        return False
    volume = next((each for each in _docs(pod, "volumes") if each.get("name") == mounts[0].get("name")), {})
    items = at(volume, "configMap", "items")
    return isinstance(items, list) and [at(each, "key") for each in items] == [COREFILE]


def _docs(of: Doc, key: str) -> list[Doc]:
    return [each for each in of.get(key) or () if isinstance(each, dict)]


def _spread_over(pod: Doc) -> Iterator[str]:
    """By constraints, and by anti-affinity among its own pods, whether required or preferred."""
    for each in pod.get("topologySpreadConstraints") or ():
        if isinstance(each, dict):
            yield str(each.get("topologyKey") or "")
    anti = at(pod, "affinity", "podAntiAffinity")
    for each in (anti or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        yield str(each.get("topologyKey") or "")
    for each in (anti or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ():
        yield str(at(each, "podAffinityTerm", "topologyKey") or "")
