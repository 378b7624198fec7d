"""Where Karpenter runs, and how it is configured: out of Deployments as they are.

Sources: Karpenter's chart (labels, the container ``controller``, INTERRUPTION_QUEUE), core/v1 EnvVar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.interruption import KarpenterInstall, Setting
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.core.model.pods import Pod, RoleBy
from kubectl_eksdoc.core.model.versions import Version, parse
from kubectl_eksdoc.core.rules.karpenter_versions import ARGUMENT, CONFIG_KEY, CONFIG_MAP, VARIABLE

NAME_LABEL, VERSION_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/version"
KARPENTER = "karpenter"
_RELEASE = "meta.helm.sh/release-name"
_ROLE_ARN = "eks.amazonaws.com/role-arn"
_IMAGE = re.compile(r"(?:^|/)karpenter/(?:karpenter/)?controller(?:[:@]|$)")


def deployments(cluster: Cluster) -> tuple[Named, ...]:
    """Those of Karpenter, the ones that have pods first: by their label or, of pods, by their image."""
    running = {key for pod in cluster.pods if is_karpenter(pod) and (key := deployment_of(pod)) is not None}
    there = {
        (each.namespace, each.name)
        for each in cluster.workloads
        if each.kind == "Deployment" and each.template_labels.get(NAME_LABEL) == KARPENTER
    }
    return tuple(Named("apps/v1", "Deployment", *key) for key in (*sorted(running), *sorted(there - running)))


def is_karpenter(pod: Pod) -> bool:
    return pod.labels.get(NAME_LABEL) == KARPENTER or any(_IMAGE.search(image) for image in pod.calls.images)


def deployment_of(pod: Pod) -> tuple[str, str] | None:
    """Namespace and name; None where no Deployment made it."""
    return (pod.namespace, pod.deployment) if pod.deployment else None


def pods_of(cluster: Cluster, of: Named) -> tuple[Pod, ...]:
    return tuple(pod for pod in cluster.pods if deployment_of(pod) == (of.namespace, of.name) and not pod.finished)


def config_map(of: Named) -> Named:
    """In which older versions are configured."""
    return Named("v1", "ConfigMap", of.namespace, CONFIG_MAP)


def service_account(of: Named, deployment: Doc) -> Named:
    name = at(deployment, "spec", "template", "spec", "serviceAccountName")
    return Named("v1", "ServiceAccount", of.namespace, name if isinstance(name, str) and name else "default")


def installed(
    of: Named,
    deployment: Doc,
    settings: Doc | Absent | Unknown,
    account: Doc | Absent | Unknown,
    pods: Iterable[Pod],
) -> KarpenterInstall:
    """What the documents say, whatever they look like. `settings`: the ConfigMap; `account`: the ServiceAccount."""
    container = _container(deployment)
    tag = _tag(_text(container.get("image")))
    running = tuple(pods)
    replicas = at(deployment, "spec", "replicas")
    return KarpenterInstall(
        of.namespace,
        of.name,
        _version(tag, deployment),
        tag,
        _argument(container),
        _variable(container, VARIABLE),
        _in_config_map(settings),
        _text(container.get("name")),
        _cluster_name(container),
        service_account(of, deployment).name,
        _role(account),
        _role_by(running),
        _text(at(deployment, "metadata", "annotations", _RELEASE)),
        tuple(pod.key for pod in running),
        replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else 1,
        _port(container),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _each(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (each for each in _list(value) if isinstance(each, dict))


def _container(deployment: Doc) -> Mapping[str, Any]:
    """By its image, then by its name, else the first: others are sidecars."""
    found = list(_each(at(deployment, "spec", "template", "spec", "containers")))
    by_image = [each for each in found if _IMAGE.search(_text(each.get("image")))]
    by_name = [each for each in found if each.get("name") == "controller"]
    return next(iter((*by_image, *by_name, *found)), {})


def _tag(image: str) -> str:
    """``1.5.0`` of ``…/controller:1.5.0@sha256:…``."""
    last = image.partition("@")[0].rpartition("/")[2]
    return last.partition(":")[2]


def _version(tag: str, deployment: Doc) -> Version | None:
    said = (tag, _text(at(deployment, "metadata", "labels", VERSION_LABEL)))
    return next((version for text in said if (version := parse(text)) is not None), None)


def _argument(container: Mapping[str, Any]) -> Setting | Absent | Unknown:
    words = [_text(word) for name in ("command", "args") for word in _list(container.get(name))]
    for place, word in enumerate(words):
        following = next(iter(words[place + 1 :]), "")
        name, equals, value = word.partition("=")
        if f"--{name.lstrip('-')}" == ARGUMENT and name.startswith("-"):
            given = value if equals else following
            if "$(" in given:
                return Unknown(f"its argument {ARGUMENT} is taken from {given}")
            return Setting(given, f"argument {ARGUMENT}")
    return Absent(f"it has no argument {ARGUMENT}")


def _variable(container: Mapping[str, Any], name: str) -> Setting | Absent | Unknown:
    for each in reversed(list(_each(container.get("env")))):  # of several the last one counts
        if each.get("name") != name:
            continue
        if each.get("valueFrom") is not None:
            return Unknown(f"its variable {name} is taken from {_source(each['valueFrom'])}")
        if "$(" in (value := _text(each.get("value"))):  # the kubelet puts another variable there
            return Unknown(f"its variable {name} is made of others: {value}")
        return Setting(value, f"variable {name}")
    if container.get("envFrom"):
        return Unknown(f"its variables come from {_source(container['envFrom'])} as a whole, {name} perhaps too")
    return Absent(f"it has no variable {name}")


def _source(said: Any) -> str:
    """``ConfigMap settings, key queue``."""
    for each in (said,) if isinstance(said, dict) else _each(said):
        for field, kind in (
            ("configMapKeyRef", "ConfigMap"),
            ("secretKeyRef", "Secret"),
            ("configMapRef", "ConfigMap"),
            ("secretRef", "Secret"),
        ):
            ref = each.get(field)
            if isinstance(ref, dict):
                key = f", key {ref['key']}" if isinstance(ref.get("key"), str) else ""
                return f"{kind} {_text(ref.get('name'))}{key}"
    return "somewhere else"


def _in_config_map(settings: Doc | Absent | Unknown) -> Setting | Absent | Unknown:
    if isinstance(settings, (Absent, Unknown)):
        return settings
    value = at(settings, "data", CONFIG_KEY)
    if not isinstance(value, str):
        return Absent(f"ConfigMap {CONFIG_MAP} has no {CONFIG_KEY}")
    return Setting(value, f"ConfigMap {CONFIG_MAP}, {CONFIG_KEY}")


def _port(container: Mapping[str, Any]) -> int:
    """By the name that the chart gives it."""
    for each in _each(container.get("ports")):
        number = each.get("containerPort")
        if each.get("name") == "http-metrics" and isinstance(number, int) and not isinstance(number, bool):
            return number
    return 0


def _cluster_name(container: Mapping[str, Any]) -> str:
    said = _variable(container, "CLUSTER_NAME")
    return said.queue if isinstance(said, Setting) else ""


def _role(account: Doc | Absent | Unknown) -> str | Absent | Unknown:
    if isinstance(account, (Absent, Unknown)):
        return account
    arn = at(account, "metadata", "annotations", _ROLE_ARN)
    return arn if isinstance(arn, str) and arn else Absent("its service account names no role")


def _role_by(pods: Iterable[Pod]) -> RoleBy:
    """What the pods that run have got; NOBODY where none has anything."""
    found = {pod.calls.role for pod in pods}
    return next((by for by in RoleBy if by in found), RoleBy.NOBODY)
