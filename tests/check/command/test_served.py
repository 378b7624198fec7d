"""``check`` over HTTP to the API server and AWS: with all its rights, and each check alone with only its own rights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.check.checking import UpgradeCheck
from kubectl_eksdoc.check.registry import ALL_CHECKS
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.rights import Right, commands
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import RbacRule, ServedUser, TokenUsers, restricted
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.findings import Code
from tests.aws.test_live import prod
from tests.cli.terminal_user import Somebody
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
A_RIGHT = re.compile(r"(get|list) [a-z./]+\Z|[a-z0-9-]+:[A-Z]")


def own_rights(check: UpgradeCheck) -> tuple[Right, ...]:
    """The rights of the check, and those that every reading of a cluster needs."""
    listed = {*check.kinds, *(right.resource for right in rights.BY_COMMAND["check"] if right.required)}
    return (
        *(Right("list", each) for each in listed),
        *(r for need in check.needs for r in commands.RIGHTS_BY_NEED.get(need, ())),
    )


def user(name: str, held: tuple[Right, ...]) -> ServedUser:
    listed = [each for each in held if not each.permission_in("").is_url]
    rules = [RbacRule((each.verb,), (resource(each),), (each.resource.group,)) for each in listed]
    return restricted(
        name,
        [
            *rules,
            *(
                RbacRule((each.verb,), (), paths=(each.resource_name,))
                for each in held
                if each.permission_in("").is_url
            ),
        ],
    )


def resource(right: Right) -> str:
    return f"{right.resource.plural}/{right.subresource}" if right.subresource else right.resource.plural


def token(check: UpgradeCheck) -> str:
    return check.codes[0].name


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatedApiServer]:
    """A cluster in which each check has a user with only its own rights."""
    users = {token(check): user(token(check), own_rights(check)) for check in ALL_CHECKS}
    whole = user("whole", rights.BY_COMMAND["check"])
    api = Api(worlds.plane_of("rich", None), ApiSetup(TokenUsers({"whole": whole, **users})), ManualTime())
    with serving(api) as server:
        yield server
    assert list(api.internal_errors) == []


def found_by(cluster: SimulatedApiServer, aws: World, folder: Path, token: str, *argv: str) -> dict[str, Any]:
    config = kubeconfigs.one(folder / "config", cluster.url(token), name="lab")
    return Somebody(config, aws, "check").document("UpgradeCheck", *argv)


def test_what_is_planted_is_found(cluster: SimulatedApiServer, prod: World, tmp_path: Path) -> None:
    found = found_by(cluster, prod, tmp_path, "whole", "--target", "1.37")
    failing = {each["code"] for each in found["findings"] if each["status"] == "fail"}
    assert {"budget-never-allows", "pod-several-budgets", "dns-on-spot"} <= failing
    assert {each["state"] for each in found["metadata"]["kindsRead"]} <= {"read", "not-served"}
    assert [each for each in found["findings"] if A_RIGHT.match(each.get("missing", ""))] == []


ONE_IN = 8
"""Of the checks, so many are tried in the quick tests; the long ones try all."""


@pytest.mark.parametrize(
    "check",
    [pytest.param(each, marks=pytest.mark.long if n % ONE_IN else ()) for n, each in enumerate(ALL_CHECKS)],
    ids=token,
)
@pytest.mark.long
def test_each_check_alone_needs_its_own_rights_only(
    cluster: SimulatedApiServer, prod: World, tmp_path: Path, check: UpgradeCheck
) -> None:
    own = {
        *commands.IDENTITY_OPERATIONS,
        *(question for need in check.needs for question in commands.OPERATIONS_BY_NEED.get(need, ())),
    }
    allowed = {action for question in own for action in question.actions}
    for question in questions.ALL:
        for action in question.actions:
            if action not in allowed:
                prod.deny(action)
    prod.forget_calls()
    manifest = tmp_path / "web.yaml"
    manifest.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
    given = ("-f", str(manifest)) if check.codes == (Code.of("api-in-manifest"),) else ()
    only = ",".join(code.name for code in check.codes)
    found = found_by(cluster, prod, tmp_path, token(check), "--only", only, *given)
    missing = [each["missing"] for each in found["findings"] if each["status"] == "unknown"]
    assert [each for each in missing if A_RIGHT.match(each)] == []
    assert [read for read in found["metadata"]["kindsRead"] if read["state"] == "forbidden"] == []
    asked = {f"{call.service}:{call.operation}" for call in prod.calls}
    assert asked <= {f"{question.service}:{question.operation}" for question in own}
