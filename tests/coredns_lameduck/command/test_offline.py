"""``coredns-lameduck`` on the demo, on dumps, and on a served cluster with the AWS stand-in."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.coredns_lameduck.deployed import InterruptionNotices
from kubectl_eksdoc.coredns_lameduck.read import NEEDS, complete_facts, dns_facts, read_notices
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.coredns import EndpointPropagation
from tests.aws.test_live import prod
from tests.cli.running import run_cli
from tests.cli.terminal_user import Somebody
from tests.embedded.clients import worlds
from tests.embedded.clients.worlds import archive
from tests.fakes import kubeconfigs
from tests.sessions import of_the_demo

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]


@cache
def document(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_cli("coredns-lameduck", *words, "-o", "json").out)
    return found


def test_the_demo_is_the_incident() -> None:
    """CoreDNS on Spot, lameduck 5 s of a grace period of 30 s: one page, with the remedies in order."""
    ran = run_cli("coredns-lameduck", "--demo")
    assert ran.code == 1
    found = document("--demo")
    assert found["shutdown"] | {"lameduckSeconds": 5, "graceSeconds": 30} == found["shutdown"]
    assert {"dns-lameduck-short", "dns-on-spot"} <= {each["code"] for each in found["findings"]}
    commands = [each["command"] for each in found["steps"]]
    assert [each.split(" --demo")[0] for each in commands[:2]] == [
        "kubectl eksdoc coredns-lameduck --set lameduck=20s --apply",
        "kubectl eksdoc coredns-lameduck --place on-demand --apply",
    ]
    assert all(each in ran.out for each in commands)


def test_what_makes_the_queue_goes_to_the_account_that_was_asked() -> None:
    session = of_the_demo(NEEDS)
    words = ("--context", "lab", "--profile", "ops")
    facts = complete_facts(session, lambda: read_notices(session, words, True)).notices
    assert isinstance(facts, InterruptionNotices) and not facts.received
    assert facts.remedy is not None
    ours, _, aws = facts.remedy.command.partition(" && ")
    assert "--profile ops" in ours and "aws cloudformation create-stack" in aws and "--profile ops" in aws
    assert CommandTarget(words, words, words).add_to(facts.remedy.command) == facts.remedy.command, (
        "no word is said twice"
    )


def test_what_was_measured_from_this_machine_changes_nothing_in_the_demo() -> None:
    """A measurement of its rehearsal has the same Deployment; the demo and snapshots answer the same everywhere."""
    session = of_the_demo(NEEDS)
    kept = EndpointPropagation(1, 15, session.cluster.observed_at)
    assert dns_facts(session, lambda uid, context: kept).measured is None


def test_commands_of_the_demo_change_nothing_anywhere() -> None:
    """A user who copies one of them acts on the demo, and not on the current cluster."""
    for step in document("--demo")["steps"]:
        assert "--demo" in step["command"]
        assert "--apply" not in step["command"] or "--dry-run" in step["command"]


def test_what_a_dump_does_not_hold_is_no_pass() -> None:
    """medium has no Deployments and no ConfigMaps."""
    ran = run_cli("coredns-lameduck", "--snapshot", str(archive("medium")))
    assert ran.code == 5 and "holds no ConfigMap" in ran.out


def test_what_is_planted_in_a_served_cluster_is_found(prod: World, tmp_path: Path) -> None:
    with worlds.served("rich", ManualTime(), pace=None) as (server, _):
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN), name="lab")
        found = Somebody(config, prod, "coredns-lameduck").document("CorednsLameduck")
    assert found["coredns"]["managedAddon"] is True
    said = {(each["code"], each["status"]) for each in found["findings"]}
    assert {("dns-lameduck-short", "unknown"), ("dns-on-spot", "fail")} <= said
    assert found["shutdown"]["lameduckSeconds"] == 5 and found["shutdown"]["advisedSeconds"] == 20
    assert sorted(pod["node"] for pod in found["pods"]) == ["old-11", "spot-0", "spot-1"]
    assert all("--kubeconfig" in each["command"] for each in found["steps"])


def test_a_word_is_refused() -> None:
    assert "takes no name" in run_cli("coredns-lameduck", "coredns").err
    assert "did you mean dns-unread" in run_cli("coredns-lameduck", "--accept-unknown", "dns-unred").err
