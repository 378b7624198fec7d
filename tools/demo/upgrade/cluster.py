"""The demo before the next step of its upgrade: Karpenter after the incident, the load balancer controller on the new
nodes, logs of CoreDNS, clients of a removed API, and API extensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import LogKey
from tools.demo import dns_logs
from tools.demo.interruption import cluster as interruption
from tools.demo.meta import Json
from tools.demo.metadata import applications
from tools.demo.metadata import cluster as metadata
from tools.demo.upgrade import extensions
from tools.demo.upgrade.old_apis import METRICS, old_apis

__all__ = ["METRICS", "extend", "logs"]

_MOVED = "kube-system/aws-load-balancer-controller"
_FIRST_VERSION = 188_001


def extend(held: dict[Resource, list[Json]], others: list[Json]) -> None:
    """The `scenes.Extend` of this demo."""
    interruption.extend(held, others)
    for version, pod in enumerate(_moved(), _FIRST_VERSION):
        pod["metadata"]["resourceVersion"] = str(version)
        held[kinds.PODS].append(pod)
    for pod in held[kinds.PODS]:
        metadata.with_role(pod)
    held[kinds.PODS].sort(key=lambda each: (each["metadata"]["namespace"], each["metadata"]["name"]))
    others += old_apis()
    extensions.extend(held, others)


def logs(pods: Sequence[Json]) -> Mapping[LogKey, str]:
    """The logs of those of `pods` that are read."""
    moved = {(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in _moved()}
    last = {log: text for log, text in metadata.logs().items() if (log.namespace, log.pod) in moved}
    return {**interruption.logs(), **dns_logs.logs(pods), **last}


def _moved() -> list[Json]:
    return [pod for each, made in applications.pods() if each.app.key == _MOVED for pod in made]
