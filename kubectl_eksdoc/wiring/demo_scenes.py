"""The demo as each command sees it: the cluster, its ports, and its account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.core.model.asked import NOT_ASKED
from kubectl_eksdoc.core.model.cluster_answers import ClusterAnswers
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.flows.beside import Ports
from kubectl_eksdoc.kube.aws_access import AwsWanted
from kubectl_eksdoc.objects.held_answers import HeldAnswers
from kubectl_eksdoc.wiring.addons import Reading, open_addons
from kubectl_eksdoc.wiring.aws import DemoAnswers
from kubectl_eksdoc.wiring.checks import CheckReading, open_check
from kubectl_eksdoc.wiring.dns import DnsReading, open_dns
from kubectl_eksdoc.wiring.interruption import open_interruption
from kubectl_eksdoc.wiring.metadata import open_metadata
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.model.kinds import Resource
    from kubectl_eksdoc.embedded.demo.reader import Extend

DEMO = SourceChoice(demo=True)
_NOBODYS, _NOTHING = Connection(), AwsWanted()


@dataclass(frozen=True, slots=True)
class DemoScene:
    """`extend`: what the incident adds to the demo's own objects."""

    cluster: Cluster
    kinds: Sequence[Resource]
    ports: Ports
    aws: DemoAnswers
    extend: Extend | None = None


def demo_scene(scene: str) -> DemoScene:
    """That of a command, "" for that of all others."""
    return {"": _plain, "check": _check, "imds-probe": _metadata, "interruption": _interruption}[scene]()


def _plain() -> DemoScene:
    """As plans of drains, ``addon-diff`` and ``coredns-lameduck`` see it."""
    from kubectl_eksdoc.flows.addon_after import HISTORIES
    from kubectl_eksdoc.flows.snapshot import every_kind, single_objects

    kinds, names = every_kind(), single_objects()
    addons = open_addons(DEMO, _NOBODYS, _NOTHING, None, Reading(kinds, names, HISTORIES))
    inside = open_dns(DEMO, _NOBODYS, _NOTHING, None, DnsReading(kinds, names)).inside
    nobody = _nobody()
    ports = Ports(addons.objects, addons.histories, inside, nobody, nobody, nobody)
    return DemoScene(addons.cluster, kinds, ports, DemoAnswers())


def _check() -> DemoScene:
    from kubectl_eksdoc.embedded.demo.upgrade.cluster import extend
    from kubectl_eksdoc.flows.snapshot import every_kind, single_objects

    kinds = every_kind()
    world = open_check(DEMO, _NOBODYS, _NOTHING, None, CheckReading(kinds, single_objects(), past=True))
    of, nobody = world.karpenter, _nobody()
    ports = Ports(of.objects, nobody, of.inside, of.signs, world.signs, world.past or nobody)
    return DemoScene(world.cluster, kinds, ports, DemoAnswers(), extend)


def _metadata() -> DemoScene:
    from kubectl_eksdoc.embedded.demo.metadata.cluster import extend
    from kubectl_eksdoc.embedded.demo.metadata.world import ESTATE
    from kubectl_eksdoc.flows.metadata import KINDS

    world, nobody = open_metadata(DEMO, _NOBODYS, _NOTHING, None, KINDS), _nobody()
    ports = Ports(nobody, nobody, world.inside or nobody, nobody, nobody, nobody)
    return DemoScene(world.cluster, KINDS, ports, DemoAnswers(ESTATE), extend)


def _interruption() -> DemoScene:
    from kubectl_eksdoc.embedded.demo.interruption.cluster import extend
    from kubectl_eksdoc.flows.interruption import KINDS

    world, nobody = open_interruption(DEMO, _NOBODYS, _NOTHING, None, KINDS), _nobody()
    ports = Ports(world.objects, nobody, world.inside, world.signs, nobody, nobody)
    return DemoScene(world.cluster, KINDS, ports, DemoAnswers(), extend)


def _nobody() -> HeldAnswers:
    """For what the commands of a scene do not ask."""
    return HeldAnswers(ClusterAnswers(), "the demo", lambda pods: dict.fromkeys(pods, NOT_ASKED))
