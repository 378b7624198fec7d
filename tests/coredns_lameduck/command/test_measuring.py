"""``coredns-lameduck --measure``: the plan, the typed confirmation, the measurement, the report, and the deletion."""

from __future__ import annotations

import base64
import json

import pytest

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.placement import ProbeFailure
from tests.cli.running import run_cli
from tests.coredns_lameduck.command.virtual_measurements import Desk, document
from tests.coredns_lameduck.worlds import World, in_zone
from tests.yaml_reader import yaml_documents

ROLLOUT, EVICTION = "--measure=rollout", "--measure=eviction"
TYPED = {"--measure": "prod 2\n", ROLLOUT: "prod 4\n", EVICTION: "prod 3\n"}


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("happening", TYPED)
def test_it_is_shown_typed_back_and_measured(happening: str) -> None:
    desk = Desk(types=TYPED[happening])
    ran = desk.run(happening)
    assert ran.code == 0, ran.err
    assert "This would make 2 pods" in ran.err and f"Type {TYPED[happening].strip()!r} to make or end" in ran.err
    assert "Asked through the service from 2 zones, 0 of" in words(ran.out)
    assert desk.world.made == {}


def test_as_data() -> None:
    found = document(Desk(World(lame_s=0)).run(ROLLOUT, "--yes", "--expect-changes", "4", "-o", "json").out)
    assert found["measurement"]["happening"] == "rollout"
    assert found["measurement"]["affected"] == ["coredns-1", "coredns-2"]
    assert found["notApplicable"] == [{"family": "v6", "why": "the service has no IPv6 address"}]
    one = found["measured"][0]
    stream = one["streams"][0]
    assert (stream["target"], stream["transport"]) == ("service-v4", "udp")
    assert sum(each["lost"] for each in stream["seconds"]) == stream["total"]["lost"] > 0
    assert {"told to end", "left the endpoints", "gone"} <= {each["what"] for each in one["marks"]}
    assert found["done"]["finished"] is True and found["cleanup"]["left"] == []
    assert found["metadata"]["options"]["measure"] == "rollout"


def test_what_changes_while_it_is_typed_is_not_what_was_shown() -> None:
    desk = Desk(types="prod 4\n")
    desk.happens = lambda: desk.world.pods.pop()
    ran = desk.run(ROLLOUT)
    assert ran.code == 7 and "not as they were when they were shown" in ran.err, ran.err
    assert desk.world.made == {} and desk.world.done == []


@pytest.mark.parametrize("typed", ["\n", "prod 3\n", "yes\n"])
def test_nothing_is_made_unless_it_is_typed(typed: str) -> None:
    desk = Desk(types=typed)
    assert desk.run(ROLLOUT).code == 2
    assert desk.world.made == {} and desk.world.done == []


def test_an_environment_that_refuses_changes() -> None:
    desk = Desk(types="prod 2\n")
    ran = desk.run("--measure", EKSDOC_READ_ONLY="1")
    assert ran.code == 2 and "EKSDOC_READ_ONLY" in ran.err and desk.world.done == []
    assert desk.run("--measure", "--dry-run", EKSDOC_READ_ONLY="1").code == 0


@pytest.mark.parametrize(
    ("happening", "right"),
    [("--measure", "create pods"), (ROLLOUT, "patch deployments.apps"), (EVICTION, "create pods/eviction")],
)
def test_rights_are_asked_for_before_anything_is_made(happening: str, right: str) -> None:
    desk = Desk(lacks=lambda asked: tuple(each for each in asked if each.right == right))
    ran = desk.run(happening)
    assert ran.code == 3 and "the cluster does not let you" in ran.err and right.split()[1].split(".")[0] in ran.err
    assert desk.world.done == [] and desk.world.made == {}


def test_a_rollout_right_is_no_matter_where_nothing_is_rolled_out() -> None:
    desk = Desk(lacks=lambda asked: tuple(each for each in asked if each.verb == "patch"), types="prod 2\n")
    assert desk.run("--measure").code == 0


def test_a_dry_run_prints_what_kubectl_takes() -> None:
    desk = Desk()
    ran = desk.run(ROLLOUT, "--dry-run")
    docs: list[Doc] = yaml_documents(ran.out)
    assert [doc["kind"] for doc in docs] == ["ConfigMap", "Pod", "Pod"]
    assert base64.b64decode(docs[0]["binaryData"]["dns-load.pyz"]) == b"program"
    asked = json.loads(docs[1]["spec"]["containers"][0]["command"][-1])
    assert [each["name"] for each in asked["targets"]] == ["service-v4", "coredns-1-v4", "coredns-2-v4"]
    assert "replaces 2 pods" in words(ran.err) and desk.world.done == []
    listed = json.loads(desk.run(ROLLOUT, "--dry-run", "-o", "json").out)
    assert [item["kind"] for item in listed["items"]] == ["ConfigMap", "Pod", "Pod"]


def test_a_dry_run_of_the_server_asks_it() -> None:
    assert Desk().run(EVICTION, "--dry-run=server").code == 0
    found = document(
        Desk(World(refuses={"pod": ProbeFailure("no")})).run(EVICTION, "--dry-run=server", "-o", "json").out
    )
    assert [each["name"] for each in found["refused"]] == ["eksdoc-dns-measure-cafe-0", "eksdoc-dns-measure-cafe-1"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--for", "30s"), "without --measure"),
        (("--measure=reboot",), "no thing to happen"),
        (("--measure", "--for", "2h"), "too long"),
        (("--measure", "--demo"), "--demo and --snapshot have none"),
    ],
)
def test_flags_that_do_not_go_together(argv: tuple[str, ...], said: str) -> None:
    ran = run_cli("coredns-lameduck", *argv)
    assert ran.code == 2 and said in ran.err


def test_an_expectation_that_is_wrong_or_missing() -> None:
    desk = Desk()
    assert desk.run(ROLLOUT, "--yes", "--expect-changes", "3").code == 7
    assert desk.run(ROLLOUT, "--yes").code == 2
    ran = desk.run(ROLLOUT)
    assert ran.code == 2 and "--yes --expect-changes N" in ran.err
    assert desk.world.done == []


def test_no_node_to_ask_from_is_unknown_and_makes_nothing() -> None:
    desk = Desk(nodes=[in_zone("n0", "a", unschedulable=True)])
    ran = desk.run(ROLLOUT)
    assert ran.code == 5 and "the node is cordoned" in words(ran.out)
    assert desk.world.done == [] and desk.world.made == {}
