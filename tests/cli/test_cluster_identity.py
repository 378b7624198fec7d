"""The cluster that a report is about: names that AWS confirmed, and names from the command line alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.host.cache import decode_view
from kubectl_eksdoc.host.cache import encode_view as content_of
from kubectl_eksdoc.host.documents import DocumentFields
from kubectl_eksdoc.host.saved import parse_identity as saved
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.model.snapshots import LastView
from kubectl_eksdoc.report.command_result import ClusterResult
from tests.aws.test_live import prod
from tests.builders import NOW
from tests.embedded.clients import worlds
from tests.permissions.command.granted_users import Held
from tests.permissions.command.served_users import NAME, REGION, Desk, Site, desk
from tests.yaml_reader import printed

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]

ALL = (Held("*", "*", "*"), Held("get", "/metrics"))
MORE = ("imds-probe", "addon-diff --all", "check --only kubelet-skew")
BY_AWS = f"cluster {NAME} · account 111122223333 · region {REGION} · "
BY_FLAGS = f"cluster {NAME} (unverified) · account unknown · region {REGION} · "
"""The region is in the labels of the nodes."""


def whose(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out)["metadata"]["cluster"]
    return {key: found.get(key) for key in ("cluster", "account", "region", "unverified")}


def first(err: str) -> str:
    return next(line for line in err.splitlines() if line.startswith("context "))


@pytest.fixture
def at(prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with Site(worlds.plane_of("small-traps", None)).served() as site:
        yield desk(site, prod, tmp_path, monkeypatch)


@pytest.mark.parametrize("command", ("interruption", *(pytest.param(each, marks=pytest.mark.long) for each in MORE)))
def test_what_aws_confirmed_is_shown(command: str, at: Desk) -> None:
    ran, _ = at.run(f"{command} -o json", ALL)
    assert BY_AWS in first(ran.err)
    assert whose(ran.out) == {"cluster": NAME, "account": "111122223333", "region": REGION, "unverified": None}


@pytest.mark.parametrize(
    "command",
    (
        "interruption",
        "drain plan --nodegroup blue",
        *(pytest.param(each, marks=pytest.mark.long) for each in MORE if not each.startswith("addon-diff")),
        pytest.param("permissions --check drain plan", marks=pytest.mark.long),
    ),
)
def test_a_name_that_aws_did_not_confirm_is_marked(command: str, at: Desk) -> None:
    """AWS may not be queried for the cluster; `drain plan` and `permissions` do not query it."""
    at.aws.deny("eks:DescribeCluster")
    ran, _ = at.run(f"{command} -o json", ALL)
    if command.startswith("permissions"):  # which reads no nodes
        assert BY_FLAGS.replace(REGION, f"{REGION} (unverified)") in first(ran.err)
        assert whose(ran.out)["unverified"] == ["cluster", "region"]
    else:
        assert BY_FLAGS in first(ran.err)
        assert whose(ran.out) == {"cluster": NAME, "account": None, "region": REGION, "unverified": ["cluster"]}


def test_a_name_that_something_else_tells_is_not_marked() -> None:
    told = Identity(context="lab", cluster="prod")
    assert told.with_defaults("prod", "eu-west-1") == replace(told, region="eu-west-1", unverified=("region",))
    assert told.with_defaults("", "") == told
    twice = Identity().with_defaults("prod", "").with_defaults("prod", "eu-west-1")
    assert twice == Identity(cluster="prod", region="eu-west-1", unverified=("cluster", "region"))
    assert twice.verified_as("prod", "1", "eu-west-1").unverified == ()


def test_a_view_and_a_saved_answer_keep_the_mark() -> None:
    who = Identity("lab", "prod", region="eu-west-1", unverified=("cluster", "region"))
    view = decode_view(content_of(LastView(who, NOW, (), {})))
    assert view is not None and view.identity == who
    assert saved(DocumentFields(printed(ClusterResult.of(who)))) == who
