"""``coredns-lameduck`` over HTTP: with all its rights, and with each of them taken away."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.aws.asking import VerifiedCluster, believed
from kubectl_eksdoc.aws.refusals import LiveAws
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.embedded.serving.access import RbacRule, ServedUser, TokenUsers, restricted
from kubectl_eksdoc.embedded.serving.api import Api, Setup
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.model.eks import AwsAccess
from tests.aws.test_live import access, prod
from tests.cli.running import Ran
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.sessions import with_aws

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
JUDGE = jsonschema.Draft202012Validator(schemas.load("CorednsLameduck"))
RIGHTS = rights.BY_COMMAND["coredns-lameduck"]


@dataclass
class Somebody:
    """With a kubeconfig, and the keys of the account."""

    config: str
    aws: World
    access: AwsAccess

    def run(self, *argv: str) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        around = CommandContext(out, err, {}, open_session=with_aws(self._believed))
        code = run(["coredns-lameduck", *argv, "--kubeconfig", self.config], out, err, around=around)
        return Ran(code, out.getvalue(), err.getvalue())

    def _believed(self) -> VerifiedCluster:
        return believed(LiveAws(self.access, self.aws.endpoint, 1), self.access)


def user(name: str, held: tuple[Right, ...]) -> ServedUser:
    return restricted(name, [RbacRule((each.verb,), (resource(each),), (each.resource.group,)) for each in held])


def resource(right: Right) -> str:
    return f"{right.resource.plural}/{right.subresource}" if right.subresource else right.resource.plural


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatedApiServer]:
    """Each right has a user without it, in whichever namespace it is needed."""
    users = {
        f"without-{at}": user(str(right), tuple(r for r in RIGHTS if str(r) != str(right)))
        for at, right in enumerate(RIGHTS)
    }
    api = Api(worlds.plane_of("rich", None), Setup(TokenUsers({"whole": user("whole", RIGHTS), **users})), ManualTime())
    with serving(api) as server:
        yield server
    assert list(api.faults) == []


def somebody(cluster: SimulatedApiServer, aws: World, folder: Path, token: str = "whole") -> Somebody:
    return Somebody(kubeconfigs.one(folder / "config", cluster.url(token), name="lab"), aws, access(aws))


def document(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.out)
    assert [error.message for error in JUDGE.iter_errors(found)] == []
    return found


def test_what_is_planted_is_found(cluster: SimulatedApiServer, prod: World, tmp_path: Path) -> None:
    ran = somebody(cluster, prod, tmp_path).run("-o", "json")
    found = document(ran)
    assert ran.code == 1 and found["coredns"]["managedAddon"] is True
    said = {(each["code"], each["status"]) for each in found["findings"]}
    assert {("dns-lameduck-short", "unknown"), ("dns-on-spot", "fail")} <= said
    assert found["shutdown"]["lameduckSeconds"] == 5 and found["shutdown"]["advisedSeconds"] == 20
    assert sorted(pod["node"] for pod in found["pods"]) == ["old-11", "spot-0", "spot-1"]
    assert all("--kubeconfig" in each["command"] for each in found["steps"])


def test_what_may_be_unknown_does_not_count_and_a_word_is_refused(
    cluster: SimulatedApiServer, prod: World, tmp_path: Path
) -> None:
    asking = somebody(cluster, prod, tmp_path)
    assert "takes no name" in asking.run("coredns").err
    assert "did you mean dns-unread" in asking.run("--accept-unknown", "dns-unred").err
