"""``check`` over HTTP on both sides: with all its rights, and each check alone with only its own."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.aws.asking import VerifiedCluster, believed
from kubectl_eksdoc.aws.refusals import LiveAws
from kubectl_eksdoc.check.checking import UpgradeCheck
from kubectl_eksdoc.check.registry import ALL
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.rights import Right, commands
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.embedded.serving.access import RbacRule, ServedUser, TokenUsers, restricted
from kubectl_eksdoc.embedded.serving.api import Api, Setup
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.model import questions
from kubectl_eksdoc.model.eks import AwsAccess
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.snapshot.apply import take
from tests.aws.test_live import access, prod
from tests.cli.running import Ran
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.sessions import with_aws

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
A_RIGHT = re.compile(r"(get|list) [a-z./]+\Z|[a-z0-9-]+:[A-Z]")
JUDGE = jsonschema.Draft202012Validator(schemas.load("UpgradeCheck"))


@dataclass
class Somebody:
    """With a kubeconfig, and the keys of the account."""

    config: str
    aws: World
    access: AwsAccess

    def run(self, *argv: str, **environ: str) -> Ran:
        return self.command("check", *argv, **environ)

    def command(self, *argv: str, **environ: str) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        around = CommandContext(out, err, environ, open_session=with_aws(self._believed), take_snapshot=self._take)
        code = run([*argv, "--kubeconfig", self.config], out, err, around=around)
        return Ran(code, out.getvalue(), err.getvalue())

    def document(self, *argv: str) -> dict[str, Any]:
        ran = self.run(*argv, "-o", "json")
        assert ran.out, ran.err
        found: dict[str, Any] = json.loads(ran.out)
        assert [error.message for error in JUDGE.iter_errors(found)] == []
        return found

    def _believed(self) -> VerifiedCluster:
        return believed(self._of_aws(), self.access)

    def _of_aws(self, *_: object) -> LiveAws:
        return LiveAws(self.access, self.aws.endpoint, 1)

    def _take(self, *asked: Any) -> Any:
        return take(*asked, self._of_aws)


def own_rights(check: UpgradeCheck) -> tuple[Right, ...]:
    """What it needs, and every look at a cluster."""
    listed = {*check.kinds, *(right.resource for right in rights.BY_COMMAND["check"] if right.required)}
    return (
        *(Right("list", each) for each in listed),
        *(r for need in check.needs for r in commands.OF_NEED.get(need, ())),
    )


def user(name: str, held: tuple[Right, ...]) -> ServedUser:
    listed = [each for each in held if not each.at("").is_url]
    rules = [RbacRule((each.verb,), (resource(each),), (each.resource.group,)) for each in listed]
    return restricted(
        name, [*rules, *(RbacRule((each.verb,), (), paths=(each.of,)) for each in held if each.at("").is_url)]
    )


def resource(right: Right) -> str:
    return f"{right.resource.plural}/{right.subresource}" if right.subresource else right.resource.plural


def token(check: UpgradeCheck) -> str:
    return check.codes[0].name


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatedApiServer]:
    """Each check has a user with its own rights only."""
    users = {token(check): user(token(check), own_rights(check)) for check in ALL}
    whole = user("whole", rights.BY_COMMAND["check"])
    api = Api(worlds.plane_of("rich", None), Setup(TokenUsers({"whole": whole, **users})), ManualTime())
    with serving(api) as server:
        yield server
    assert list(api.faults) == []


def somebody(cluster: SimulatedApiServer, aws: World, folder: Path, token: str = "whole") -> Somebody:
    return Somebody(kubeconfigs.one(folder / "config", cluster.url(token), name="lab"), aws, access(aws))


def test_what_is_planted_is_found_and_what_is_asked_of_aws_is_registered(
    cluster: SimulatedApiServer, prod: World, tmp_path: Path
) -> None:
    prod.forget_calls()
    found = somebody(cluster, prod, tmp_path).document("--target", "1.37")
    failing = {each["code"] for each in found["findings"] if each["status"] == "fail"}
    assert {"budget-never-allows", "pod-several-budgets", "dns-on-spot"} <= failing
    assert {each["state"] for each in found["metadata"]["kindsRead"]} <= {"read", "not-served"}
    assert [each for each in found["findings"] if A_RIGHT.match(each.get("missing", ""))] == []
    known = {f"{each.service}:{each.operation}" for each in rights.ASKED_OF_AWS["check"]}
    assert {f"{call.service}:{call.operation}" for call in prod.calls} <= known


ONE_IN = 8
"""Of the checks, so many are tried in the quick tests; the long ones try all."""


@pytest.mark.parametrize(
    "check", [pytest.param(each, marks=pytest.mark.long if n % ONE_IN else ()) for n, each in enumerate(ALL)], ids=token
)
@pytest.mark.long
def test_each_check_alone_needs_its_own_rights_only(
    cluster: SimulatedApiServer, prod: World, tmp_path: Path, check: UpgradeCheck
) -> None:
    asking = somebody(cluster, prod, tmp_path, token(check))
    own = {*commands.WHOSE, *(question for need in check.needs for question in commands.ASKED_OF_NEED.get(need, ()))}
    allowed = {action for question in own for action in question.actions}
    for question in questions.ALL:
        for action in question.actions:
            if action not in allowed:
                prod.deny(action)
    prod.forget_calls()
    manifest = tmp_path / "web.yaml"
    manifest.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
    given = ("-f", str(manifest)) if check.codes == (Code.of("api-in-manifest"),) else ()
    found = asking.document("--only", ",".join(code.name for code in check.codes), *given)
    missing = [each["missing"] for each in found["findings"] if each["status"] == "unknown"]
    assert [each for each in missing if A_RIGHT.match(each)] == []
    assert [read for read in found["metadata"]["kindsRead"] if read["state"] == "forbidden"] == []
    asked = {f"{call.service}:{call.operation}" for call in prod.calls}
    assert asked <= {f"{question.service}:{question.operation}" for question in own}
