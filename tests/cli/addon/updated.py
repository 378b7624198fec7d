"""``addon-diff --apply`` on a served cluster: the stand-in of EKS carries out what the tests' AWS is asked for."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.aws.asking import VerifiedCluster, believed
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.run_edges import DrainRunEdges
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from tests.addon.stand_in import hands
from tests.addon.stand_in.carried_out import carried_out
from tests.addon.stand_in.pod_template import INIT
from tests.addon.stand_in.served import Served
from tests.addon.stand_in.service import AddonService
from tests.aws.test_live import live
from tests.cli.running import Ran, Terminal
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.sessions import with_aws

if TYPE_CHECKING:
    from tests.aws.world.server import World

OLD, NEW = "v1.12.0-eksbuild.1", "v1.12.6-eksbuild.1"
NAMES = {"clusterName": "prod", "addonName": "vpc-cni"}


class Fast:
    """As fast as the cluster's own time."""

    def monotonic(self) -> float:
        return time.monotonic() * worlds.SPEED

    def now(self) -> datetime:
        return datetime.now(timezone.utc)


@dataclass
class Desk:
    """Somebody at a terminal, with a home of their own. `types`: what is typed, "" and nobody sits there; `happens`:
    before anything is typed. Mutable."""

    home: Path
    config: str
    aws: World
    service: AddonService
    types: str = ""
    happens: Callable[[], object] = lambda: None
    told: Callable[[], int] = lambda: 0
    environ: dict[str, str] = field(default_factory=dict)

    def run(self, *argv: str) -> Ran:
        return self._run("addon-diff", "vpc-cni", *argv)

    def changes(self, *argv: str) -> Ran:
        return self._run("changes", *argv)

    def _run(self, *argv: str) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        words = [*argv, "--kubeconfig", self.config]
        code = run(words, out, err, around=self._around(out, err))
        return Ran(code, out.getvalue(), err.getvalue())

    def apply(self, *argv: str) -> Ran:
        return self.run("--to", NEW, "--apply", *argv)

    @property
    def journals(self) -> list[Path]:
        return sorted((self.home / ".local/state/eksdoc/changes").glob("*.jsonl"))

    @property
    def env(self) -> tuple[Any, Any]:
        """What people have set in the two containers."""
        doc = self.service.objects.get("DaemonSet", "aws-node")
        assert doc is not None
        return hands.env_of(doc)["ENABLE_POD_ENI"], hands.env_of(doc, INIT)["DISABLE_TCP_EARLY_DEMUX"]

    def _around(self, out: io.StringIO, err: io.StringIO) -> CommandContext:
        @contextmanager
        def told() -> Iterator[Callable[[], int]]:
            yield lambda: self.told()

        return CommandContext(
            out,
            err,
            {"HOME": str(self.home), "USER": "ann", **self.environ},
            open_session=with_aws(self._believed),
            stdin=_Typist(self.types, self.happens) if self.types else io.StringIO(),
            run_edges=DrainRunEdges(told_to_stop=told, clock=Fast()),
            sleep=lambda seconds: time.sleep(seconds / worlds.SPEED),
        )

    def _believed(self) -> VerifiedCluster:
        aws = live(self.aws)
        return believed(aws, aws.access)


class _Typist(Terminal):
    def __init__(self, types: str, before: Callable[[], object]) -> None:
        super().__init__(types)
        self._before = before

    def readline(self, size: int | None = -1, /) -> str:
        self._before()
        return super().readline()


def desk(server: SimulatedApiServer, home: Path, aws: World) -> Desk:
    """vpc-cni v1.12.0, in which people have set two variables by hand."""
    objects = Served(server.url().rstrip("/"), worlds.ADMIN_TOKEN)
    service = AddonService(objects, OLD)
    assert service.update(OLD, resolve_conflicts="OVERWRITE").status == "Successful"
    hands.sets_env(objects, "ENABLE_POD_ENI", "true")
    hands.patches_init_env(objects, "DISABLE_TCP_EARLY_DEMUX", "true")
    client, role = aws.client("eks"), "arn:aws:iam::111122223333:role/any"
    client.create_cluster(name="prod", version="1.24", roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    client.create_addon(**NAMES, addonVersion=OLD)
    aws.eks().carry_out = carried_out(aws.eks(), service)
    home.mkdir()
    token = server.url(worlds.ADMIN_TOKEN)
    return Desk(home, kubeconfigs.one(home / "config", token, name="lab"), aws, service)
