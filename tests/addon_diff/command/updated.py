"""``addon-diff --apply`` on a served cluster: the stand-in of EKS carries out the requests to the AWS stand-in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from tests.addon.stand_in import hands
from tests.addon.stand_in.carried_out import carried_out
from tests.addon.stand_in.pod_template import INIT
from tests.addon.stand_in.served import Served
from tests.addon.stand_in.service import AddonService
from tests.cli import terminal_user
from tests.cli.running import Ran
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

if TYPE_CHECKING:
    from tests.aws.world.server import World

OLD, NEW = "v1.12.0-eksbuild.1", "v1.12.6-eksbuild.1"


@dataclass
class Desk(terminal_user.Desk):
    service: AddonService = field(kw_only=True)

    def apply(self, *argv: str) -> Ran:
        return self.run("--to", NEW, "--apply", *argv)

    @property
    def env(self) -> tuple[Any, Any]:
        """The env that users have set in the two containers."""
        doc = self.service.objects.get("DaemonSet", "aws-node")
        assert doc is not None
        return hands.env_of(doc)["ENABLE_POD_ENI"], hands.env_of(doc, INIT)["DISABLE_TCP_EARLY_DEMUX"]


def desk(server: SimulatedApiServer, home: Path, aws: World) -> Desk:
    """vpc-cni v1.12.0, in which users have set two variables by hand."""
    objects = Served(server.url().rstrip("/"), worlds.ADMIN_TOKEN)
    service = AddonService(objects, OLD)
    assert service.update(OLD, resolve_conflicts="OVERWRITE").status == "Successful"
    hands.sets_env(objects, "ENABLE_POD_ENI", "true")
    hands.patches_init_env(objects, "DISABLE_TCP_EARLY_DEMUX", "true")
    client, role = aws.client("eks"), "arn:aws:iam::111122223333:role/any"
    client.create_cluster(name="prod", version="1.24", roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    client.create_addon(clusterName="prod", addonName="vpc-cni", addonVersion=OLD)
    aws.eks().carry_out = carried_out(aws.eks(), service)
    home.mkdir()
    config = kubeconfigs.one(home / "config", server.url(worlds.ADMIN_TOKEN), name="lab")
    return Desk(config, aws, "addon-diff vpc-cni", home=home, speed=worlds.SPEED, service=service)
