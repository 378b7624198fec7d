"""``coredns-lameduck --apply`` on a served cluster: with a stand-in for EKS, and CoreDNS pods that reload a
Corefile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc.embedded.probed import CoreDnsPods
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.pod_logs import PodLogs
from kubectl_eksdoc.embedded.serving.requests import ADMIN, ServedUser, TokenUsers
from kubectl_eksdoc.model.api_objects import Doc
from tests.addon.stand_in import coredns
from tests.addon.stand_in.carried_out import carried_out
from tests.addon.stand_in.served import Served
from tests.addon.stand_in.service import AddonService
from tests.cli import terminal_user
from tests.cli.running import Ran
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

if TYPE_CHECKING:
    from kubectl_eksdoc.simulator.control_plane import ControlPlane
    from tests.aws.world.server import World

VERSION, KUBERNETES = "v1.10.1-eksbuild.11", "1.28"
TOKEN, HANDY = "admin-token", "handy-token"
SPEED = 60.0
PATIENT = ("--verify-for", "1h", "--watch-for", "2h")
"""In the cluster's own time, so that no machine is too slow."""


@dataclass
class Desk(terminal_user.Desk):
    objects: Served = field(kw_only=True)
    resolvers: CoreDnsPods = field(kw_only=True)
    api: Api = field(kw_only=True)
    service: AddonService | None = None
    listens: bool = False

    def apply(self, *argv: str) -> Ran:
        return self.run("--apply", *(PATIENT if "--verify-for" not in argv else ()), *argv)

    @property
    def corefile(self) -> str:
        """The live Corefile."""
        return str(self.map["data"]["Corefile"])

    @property
    def map(self) -> Doc:
        found = self.objects.get("ConfigMap", "coredns")
        assert found is not None
        return found

    @property
    def values(self) -> str:
        assert self.service is not None
        return self.service.values

    @property
    def updates(self) -> int:
        """The number of updates requested from EKS."""
        return sum(update.addon == "coredns" for update in self.aws.eks().updates)

    def edits(self, change: Callable[[str], str], manager: str = "kubectl-edit") -> None:
        """A user changes the live Corefile."""
        self.objects.patch("ConfigMap", "coredns", {"data": {"Corefile": change(self.corefile)}}, manager)

    @property
    def pods(self) -> list[str]:
        """CoreDNS's pods that are not being deleted."""

        def named(plane: ControlPlane) -> list[str]:
            found = []
            for item in plane.store.list("pods"):
                labels = item.doc["metadata"].get("labels") or {}
                if labels.get("k8s-app") == "kube-dns" and not item.deleting:
                    found.append(str(item.key[1]))
            return sorted(found)

        return self.api.run_locked(named)

    @contextmanager
    def hears(self) -> Iterator[Callable[[], int]]:
        assert not self.listens, "one within another hears nothing: Ctrl-C would be lost"
        self.listens = True
        try:
            yield lambda: self.told()
        finally:
            self.listens = False


@contextmanager
def served(users: dict[str, ServedUser] | None = None) -> Iterator[tuple[SimulatedApiServer, Api, CoreDnsPods]]:
    """The recorded cluster with its controllers, in which CoreDNS's pods reload their Corefile."""
    plane = worlds.plane_of("rich")
    resolvers = CoreDnsPods(plane)
    access = TokenUsers({TOKEN: ADMIN, **(users or {})})
    setup = ApiSetup(access, logs=PodLogs(aged=resolvers.lines), ports=resolvers.answer)
    api = Api(plane, setup, ScaledTime(time.monotonic, SPEED))
    with serving(api) as server:
        yield server, api, resolvers
    assert list(api.internal_errors) == []


def desk(
    at: tuple[SimulatedApiServer, Api, CoreDnsPods],
    home: Path,
    aws: World,
    managed: bool = True,
    version: str = VERSION,
    kubernetes: str = KUBERNETES,
    token: str = TOKEN,
) -> Desk:
    """CoreDNS as EKS installs it; `managed`: it is an add-on."""
    server, api, resolvers = at
    objects = Served(server.url().rstrip("/"), TOKEN)
    service = AddonService(objects, version, render=coredns.rendered)
    assert service.update(version, resolve_conflicts="OVERWRITE").status == "Successful"
    client, role = aws.client("eks"), "arn:aws:iam::111122223333:role/any"
    client.create_cluster(name="prod", version=kubernetes, roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    home.mkdir()
    config = kubeconfigs.one(home / "config", server.url(token), name="lab")
    found = Desk(
        config,
        aws,
        "coredns-lameduck",
        home=home,
        speed=SPEED,
        objects=objects,
        resolvers=resolvers,
        api=api,
        service=service if managed else None,
    )
    if managed:
        client.create_addon(clusterName="prod", addonName="coredns", addonVersion=version)
        aws.eks().carry_out = carried_out(aws.eks(), service, "coredns")
    deadline = time.monotonic() + 30
    while len(found.pods) < 2 or not _ready(found):
        assert time.monotonic() < deadline, "CoreDNS did not come up"
        time.sleep(0.05)
    aws.forget_calls()
    return found


def _ready(desk: Desk) -> bool:
    found = desk.objects.get("Deployment", "coredns") or {}
    status, generation = found.get("status") or {}, found["metadata"].get("generation", 0)
    whole = status.get("observedGeneration", 0) >= generation and status.get("availableReplicas", 0) >= 2
    return whole and status.get("updatedReplicas", 0) == status.get("replicas", 0)
