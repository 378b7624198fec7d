"""Clusters, and their resources in AWS, on which users with their own rights change something."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli.context import DrainRunEdges
from kubectl_eksdoc.embedded.probed import MetadataServices
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import ADMIN, ServedUser, TokenUsers
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.addon_diff.command import updated
from tests.cli.running import Fast, Ran, called
from tests.coredns_lameduck.command import served_changes as dns
from tests.coredns_lameduck.served_clusters import DnsLab, until
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.imds_probe.command.probed import ROLE, nodes_are_instances
from tests.permissions.command import sites
from tests.permissions.command.served_users import NAME, reaching
from tests.probes import stand_ins as probes
from tests.probes.stand_ins import Lab, a_node
from tools.demo.incidents import others

if TYPE_CHECKING:
    from tests.aws.world.server import World

RUN = "20261120-093000-abcd"
Users = dict[str, ServedUser]
"""By their tokens."""


@contextmanager
def _not_told() -> Iterator[Callable[[], int]]:
    yield lambda: 0


@dataclass
class Ground:
    """A served cluster whose time passes so many times as fast as the wall clock, the account, and a home."""

    server: SimulatedApiServer
    api: Api
    aws: World
    home: Path
    speed: float
    reaching: tuple[str, ...] = ()

    def run(self, words: str, token: str) -> Ran:
        """The output for the user of the token."""
        config = kubeconfigs.one(self.home / "config", self.server.url(token), name="lab")
        accepted = self.home / "accepted.yaml"
        accepted.write_text("- {code: kubelet-skew, reason: known, until: 2026-12-31}\n", encoding="utf-8")
        return called(
            *(*words.replace("ACCEPTED", str(accepted)).split(), "--kubeconfig", config, *self.reaching),
            environ={"HOME": str(self.home), "USER": "ann", "COLUMNS": "200"},
            stdin=io.StringIO(),
            run_edges=DrainRunEdges(stop_requests=_not_told, clock=Fast(self.speed), new_run_id=lambda now: RUN),
            sleep=lambda seconds: time.sleep(seconds / self.speed),
        )


Made = Callable[[Users, "World", Path], AbstractContextManager[Ground]]


def job_is_over(at: Ground) -> None:
    """Mark the Job that drains as complete; all its objects exist."""

    def over(plane: ControlPlane) -> None:
        for item in plane.store.list("jobs.batch"):
            done = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-20T09:00:00Z"}
            plane.registry.update(item, with_value(item.doc, ("status",), {"conditions": [done]}), status=True)

    at.api.run_locked(over)


_GREEN, _BLUE = {"eks.amazonaws.com/nodegroup": "green"}, {"eks.amazonaws.com/nodegroup": "blue"}
_KARPENTER = {"karpenter.sh/nodepool": "general", "karpenter.k8s.aws/ec2nodeclass": "default"}


@contextmanager
def metadata(users: Users, aws: World, folder: Path) -> Iterator[Ground]:
    """A node of EKS's own template, one of its owner's, and one of Karpenter's class; all are instances."""
    aws.client("eks").create_cluster(
        name=NAME, version="1.24", roleArn=ROLE, resourcesVpcConfig={"subnetIds": ["subnet-1"]}
    )
    aws.eks().ends_when_asked = 2
    one, two = MetadataOptions("required", 1), MetadataOptions("required", 2)
    pool = with_value(a_node("pool-0"), ("metadata", "labels"), _KARPENTER)
    nodes = [a_node("green-0", **_GREEN), a_node("new-0", **_BLUE), pool]
    lab = Lab(nodes, MetadataServices({"green-0": one, "new-0": two, "pool-0": one}), users=users, objects=_classes())
    with lab.served() as (server, api):
        nodes_are_instances(api, aws)
        yield Ground(server, api, aws, folder, probes.SPEED, reaching(aws))


def _classes() -> Mapping[str, Sequence[Doc]]:
    """Karpenter's node classes and their definitions."""
    made = {
        "CustomResourceDefinition": "customresourcedefinitions.apiextensions.k8s.io",
        "EC2NodeClass": "ec2nodeclasses.karpenter.k8s.aws",
        "NodePool": "nodepools.karpenter.sh",
    }
    return {of: [doc for doc in others() if doc["kind"] == kind] for kind, of in made.items()}


@contextmanager
def coredns(users: Users, aws: World, folder: Path, managed: bool = True) -> Iterator[Ground]:
    with dns.served(users) as at:
        made = dns.desk(at, folder / "made", aws, managed)
        yield Ground(at[0], at[1], aws, folder, dns.SPEED, reaching(aws))
        assert made.pods


@contextmanager
def by_hand(users: Users, aws: World, folder: Path) -> Iterator[Ground]:
    """A CoreDNS that EKS does not manage."""
    with coredns(users, aws, folder, managed=False) as made:
        yield made


@contextmanager
def measured(users: Users, aws: World, folder: Path) -> Iterator[Ground]:
    lab = DnsLab(users=users, speed=20.0)
    with lab.served() as (server, api):
        until(lambda: api.run_locked(_serving) >= 2)
        yield Ground(server, api, aws, folder, lab.speed)


def _serving(plane: ControlPlane) -> int:
    """So many CoreDNS pods are Ready; there are no others yet."""
    held = [item.doc["status"].get("conditions") or () for item in plane.store.list("pods")]
    return sum({"Ready": "True"}.items() <= {each["type"]: each["status"] for each in one}.items() for one in held)


@contextmanager
def addon(users: Users, aws: World, folder: Path) -> Iterator[Ground]:
    """vpc-cni with settings of users."""
    api = Api(
        worlds.plane_of("rich"),
        ApiSetup(TokenUsers({**users, worlds.ADMIN_TOKEN: ADMIN})),
        ScaledTime(time.monotonic, worlds.SPEED),
    )
    with serving(api) as server:
        updated.desk(server, folder / "made", aws)
        yield Ground(server, api, aws, folder, worlds.SPEED, reaching(aws))
    assert list(api.internal_errors) == []


@contextmanager
def rich(users: Users, aws: World, folder: Path) -> Iterator[Ground]:
    """The cluster on which `check` is run."""
    client, names = aws.client("eks"), {"clusterName": NAME}
    client.create_cluster(name=NAME, version="1.24", roleArn=ROLE, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    client.create_addon(addonName="vpc-cni", addonVersion=updated.OLD, **names)
    client.create_addon(addonName="coredns", **names)
    site = sites.rich(aws)
    site.users.update(users)
    with site.served():
        assert site.server is not None
        yield Ground(site.server, site.api, aws, folder, 100.0, reaching(aws))


@contextmanager
def small(users: Users, aws: World, folder: Path) -> Iterator[Ground]:
    api = Api(worlds.plane_of("small-traps"), ApiSetup(TokenUsers(users)), ScaledTime(time.monotonic, worlds.SPEED))
    with serving(api) as server:
        yield Ground(server, api, aws, folder, worlds.SPEED)
    assert list(api.internal_errors) == []
