"""The scenes of the demo: the cluster, logs and account that each command reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import LogKey
from tools.demo import dns_logs, incidents, objects
from tools.demo.aws.pools import DEMO, Estate
from tools.demo.interruption import cluster as interruption
from tools.demo.meta import Json
from tools.demo.metadata import cluster as metadata
from tools.demo.metadata.world import ESTATE
from tools.demo.upgrade import cluster as upgrade

Extend = Callable[[dict[Resource, list[Json]], list[Json]], None]
"""Adds to its arguments: the objects that a plan of a drain reads, and the others."""


@dataclass(frozen=True, slots=True)
class Maker:
    """`logs`: of pods; `metrics`: of the API server; `estate`: the machines of the account."""

    extend: Extend = lambda held, others: None
    logs: Callable[[Sequence[Json]], Mapping[LogKey, str]] = dns_logs.logs
    metrics: str = ""
    estate: Estate = DEMO


MAKERS = {
    "": Maker(),
    "check": Maker(upgrade.extend, upgrade.logs, upgrade.METRICS),
    "imds-probe": Maker(metadata.extend, lambda pods: metadata.logs(), estate=ESTATE),
    "interruption": Maker(interruption.extend, lambda pods: interruption.logs()),
}
"""By the names of scenes."""


def held(scene: str) -> tuple[dict[Resource, list[Json]], list[Json]]:
    """The objects of a scene that a plan of a drain reads, and the others; each call builds them again."""
    found, others = objects.objects(), list(incidents.others())
    MAKERS[scene].extend(found, others)
    return found, others


def objects_of(scene: str) -> list[Json]:
    """All objects of a scene."""
    found, others = held(scene)
    return [*(each for several in found.values() for each in several), *others]


def logs_of(scene: str) -> Mapping[LogKey, str]:
    return MAKERS[scene].logs(held(scene)[0][kinds.PODS])


def by_name(several: Iterable[Json]) -> dict[str, dict[str, Json]]:
    """Objects by their kind (``apps/v1 Deployment``), then by their namespace and name (``shop/web``)."""
    found: dict[str, dict[str, Json]] = {}
    for each in several:
        meta = each["metadata"]
        of_kind = found.setdefault(f"{each['apiVersion']} {each['kind']}", {})
        of_kind[f"{meta.get('namespace', '')}/{meta['name']}"] = each
    return found
