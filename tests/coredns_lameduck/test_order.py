"""The duration of a shutdown, and the order and tools of the fixes: every number and every command is correct."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.coredns_lameduck.deployed import (
    InterruptionNotices,
    interruption_notices,
    logs_to_read,
    read_pod_logs,
)
from kubectl_eksdoc.coredns_lameduck.plan import plan_dns
from kubectl_eksdoc.coredns_lameduck.shutdown import (
    CLOSING_S,
    MARGIN_S,
    Shutdown,
    budget_sum_text,
    needed_grace_s,
    propagation_s,
    shutdown_budget,
)
from kubectl_eksdoc.kubernetes.corefile_edits import COREDNS_CONFIG_MAP
from kubectl_eksdoc.model.coredns import EndpointPropagation
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.interruption import DeliveryMetrics
from kubectl_eksdoc.model.kinds import Absent
from kubectl_eksdoc.model.nodes import Container
from tests.builders import ago
from tests.coredns_lameduck.made import (
    COREFILE,
    NODES,
    PODS,
    a_zoned,
    deployment,
    dns_pod,
    facts,
    inside_of,
    lameduck,
    without,
)
from tests.coredns_lameduck.test_judging import SPOT, UNHEARD, findings, on_spot
from tests.interruption.healthy import LEADER, an_install, planned
from tests.interruption.test_installs import FAILED


def test_auto_mode_without_a_node_needs_no_core_dns() -> None:
    bare = replace(facts(nodes=(), pods=()), auto_mode=True)
    found = plan_dns(without(bare, deployment=Absent("none"))).findings
    assert [(each.code.name, each.status) for each in found] == [("dns-elsewhere", Status.PASS)]


@pytest.mark.parametrize("text", [lameduck("30"), COREFILE.replace("    ready\n", "")])
def test_nothing_that_makes_pods_anew_is_a_step_while_none_would_come_up(text: str) -> None:
    made = replace(on_spot(both=True, notices=UNHEARD), objects=facts(text=text).objects)
    pods = (PODS[0], replace(PODS[1], ready=False))
    commands = [step.command for step in plan_dns(replace(made, cluster=replace(made.cluster, pods=pods))).steps]
    assert "kubectl edit configmap coredns -n kube-system" in commands
    assert commands[-1] == "kubectl eksdoc coredns-lameduck"
    assert not [each for each in commands if "--place" in each or "scale" in each]


def test_first_aid_is_more_than_there_are_and_reads_a_log_that_is_there() -> None:
    bad = [dns_pod(f"coredns-{at}", "n-b", ready=False) for at in "34"]
    made = facts(doc=deployment(replicas=3), pods=(PODS[0], *bad))
    more, log = findings(made)["dns-failing"].remedy
    assert more.command.endswith("--replicas=5")
    assert log.command == "kubectl logs -n kube-system coredns-3"
    ended = replace(made, inside=inside_of(bad, ended_before=True))
    assert findings(ended)["dns-failing"].remedy[1].command == f"{log.command} --previous"


def test_more_pods_are_no_first_aid_where_none_is_made_or_finds_a_node() -> None:
    unmade = findings(facts(doc=deployment(replicas=3)))["dns-failing"]
    assert unmade.evidence == ("1 pod of 3 is not made",)
    assert [each.command.split()[1:3] for each in unmade.remedy] == [["describe", "replicasets"]]
    lost = facts(pods=(PODS[0], dns_pod("coredns-2", "", ready=False)))
    assert [each.command.split()[1] for each in findings(lost)["dns-failing"].remedy] == ["describe"]


def test_only_what_nobody_drains_is_said_to_die() -> None:
    managed = {"eks.amazonaws.com/capacityType": "SPOT", "eks.amazonaws.com/nodegroup": "g"}
    made = facts(nodes=(a_zoned("n-a", "a", **SPOT), a_zoned("n-b", "b", **managed)))
    dies, drained = plan_dns(replace(made, notices=UNHEARD)).outlook
    assert dies.startswith("When EC2 takes back n-a: it is not drained") and "1 of 2 lookups fail" in dies
    assert drained.startswith("When EC2 takes back n-b: it is drained")


def test_where_nobody_answers_no_share_of_lookups_is_foretold() -> None:
    gone = facts(text=lameduck("5s"), doc=deployment(replicas=0), pods=())
    assert plan_dns(gone).outlook == ()
    assert "it has 0 replicas; EKS" in findings(gone)["dns-too-few"].message


def test_who_leaves_is_no_part_of_those_that_are_asked() -> None:
    going = replace(PODS[0], name="coredns-0", uid="going", deletion_deadline=ago(5))
    assert "1 of 2 lookups" in plan_dns(facts(text=lameduck(""), pods=(*PODS, going))).outlook[0]


def test_one_replica_becomes_two_before_anything_is_moved() -> None:
    made = facts(doc=deployment(replicas=1), pods=PODS[:1], nodes=(a_zoned("n-a", "a", **SPOT), NODES[1]))
    commands = [step.command for step in plan_dns(replace(made, notices=UNHEARD)).steps]
    assert [each.split()[1] for each in commands[:2]] == ["scale", "eksdoc"] and "--place" in commands[1]


def test_a_container_of_another_name_is_looked_into() -> None:
    other = Container("dns", ended_before=True)
    assert [log.container for log in logs_to_read(PODS[0], [other])] == ["dns", "dns"]
    assert read_pod_logs([other], {}).container == other
    assert read_pod_logs([], {}).not_read


def test_each_zone_has_its_nodes_and_its_pods() -> None:
    nodes = (*NODES, a_zoned("n-a2", "a"), a_zoned("n-a3", "a"))
    told = plan_dns(facts(nodes=nodes, pods=(PODS[0], replace(PODS[1], ready=False)))).zones
    assert [(each.name, each.nodes, each.pods, each.ready, each.serving) for each in told] == [
        ("a", 3, 1, 1, 1),
        ("b", 1, 1, 0, 0),
    ]


@pytest.mark.parametrize(
    ("version", "missing", "moves"),
    [
        ("1.5.0", "queue", "no node; Karpenter keeps running and retries the queue by itself"),
        ("1.3.0", "queue", "no node; Karpenter, older than v1.4.0, starts again until it can read the queue"),
        ("", "queue", "no node; whether Karpenter restarts is unknown, as its version is"),
        ("1.5.0", "rule", "no node"),
        ("1.5.0", "setting", "no node; the new setting rolls out Karpenter's Deployment"),
    ],
)
def test_what_the_fix_of_the_queue_restarts_depends_on_what_is_missing(version: str, missing: str, moves: str) -> None:
    """`interruption` reports the same for this Karpenter."""
    plan = {
        "setting": lambda: planned(an_install(version, variable=Absent("it has no such variable"))),
        "queue": lambda: planned(an_install(version), queue=Absent("SQS has none of this name")),
        "rule": lambda: planned(an_install(version), rules=()),
    }[missing]()
    told = interruption_notices(plan)
    assert isinstance(told, InterruptionNotices) and not told.received and told.impact == moves
    assert plan_dns(on_spot(notices=told)).steps[-1].moves == moves
    keeps = "Karpenter keeps running" in " ".join(each.what for each in plan.links)
    assert keeps is (missing == "queue" and version == "1.5.0")


def test_what_is_proposed_against_unheard_notices_says_what_its_command_does() -> None:
    """A command that only shows the log is not described as one that creates missing resources."""
    only_logged = planned(an_install(), logs={LEADER: FAILED}, figures=DeliveryMetrics())
    (link,) = (each for each in only_logged.links if each.failed and each.vital)
    told = interruption_notices(only_logged)
    assert isinstance(told, InterruptionNotices) and told.remedy == link.remedy[0]
    plan = plan_dns(on_spot(notices=told))
    (finding,) = (each for each in plan.findings if each.code.name == "dns-notices-unheard")
    assert finding.remedy[0] == link.remedy[0] and "To see it:" in finding.remedy[0].text
    assert plan.steps[-1].what.endswith("To see it:") and plan.steps[-1].command == link.remedy[0].command


EKS = Shutdown(grace_s=30, lameduck_s=5)


def test_what_eks_ships_may_be_too_short_and_the_usual_advice_does_not_fit() -> None:
    """Only a lameduck shorter than the delay of any node is certainly too short; the rest is an estimate."""
    found = shutdown_budget(EKS, nodes=100)
    assert (found.propagation.seconds, found.least_s, found.advised_s, found.most_s) == (2, 7, 20, 25)
    assert found.may_be_too_short and not found.is_too_short and not found.is_too_long and found.has_safe_value
    assert shutdown_budget(Shutdown(30), 100).is_too_short
    usual = shutdown_budget(Shutdown(30, lameduck_s=30), nodes=100)
    assert usual.is_too_long and needed_grace_s(30) == 40
    assert budget_sum_text(30, EKS) == "lameduck 30 s + closing 5 s + margin 5 s = 40 s of a grace period of 30 s"


def test_from_21_to_25_s_only_the_margin_is_broken() -> None:
    for seconds in (21, 22, 25):
        found = shutdown_budget(Shutdown(30, lameduck_s=seconds), 100)
        assert found.is_tight and not found.is_too_long
    assert (
        shutdown_budget(Shutdown(30, lameduck_s=26), 100).is_too_long
        and not shutdown_budget(Shutdown(30, lameduck_s=20), 100).is_tight
    )


def test_a_hook_before_the_end_is_counted() -> None:
    held = Shutdown(30, pre_stop_s=10)
    assert shutdown_budget(held, 10).advised_s == 10 and needed_grace_s(20, 10) == 40
    assert budget_sum_text(20, held).startswith("preStop 10 s + lameduck 20 s")


def test_news_of_endpoints_takes_one_to_ten_seconds() -> None:
    assert [propagation_s(nodes) for nodes in (0, 1, 1000, 5000)] == [1, 2, 10, 10]


_SECONDS = some.integers(0, 600)


@given(grace=_SECONDS, hook=_SECONDS, lameduck=some.integers(0, 600), nodes=some.integers(0, 10_000))
def test_what_is_advised_ends_in_time_and_is_the_most_that_does(
    grace: int, hook: int, lameduck: int, nodes: int
) -> None:
    of = Shutdown(grace, hook, lameduck)
    found = shutdown_budget(of, nodes)
    if found.advised_s > 0:
        assert needed_grace_s(found.advised_s, hook) <= grace < needed_grace_s(found.advised_s + 1, hook)
    assert found.is_too_long is (hook + lameduck + CLOSING_S > grace)
    assert found.has_safe_value is (propagation_s(nodes) + MARGIN_S <= max(0, grace - hook - CLOSING_S - MARGIN_S))
    assert propagation_s(nodes) <= propagation_s(nodes + 1)


WHEN = datetime(2026, 11, 20, tzinfo=timezone.utc)


def test_a_measurement_replaces_the_estimate() -> None:
    """Without loss it needs no margin; with a loss it is certain, and needs one."""
    enough = EndpointPropagation(5, 100, WHEN)
    assert (
        not shutdown_budget(EKS, 100, enough).may_be_too_short
        and shutdown_budget(Shutdown(30, lameduck_s=4), 100, enough).may_be_too_short
    )
    lost = shutdown_budget(EKS, 100, EndpointPropagation(6, 100, WHEN, lost=True))
    assert lost.is_too_short and lost.least_s == 6 + MARGIN_S
    assert not shutdown_budget(Shutdown(30, lameduck_s=6), 100, lost.propagation).is_too_short


def test_a_measurement_says_nothing_about_a_much_larger_cluster() -> None:
    enough = EndpointPropagation(5, 100, WHEN)
    assert not shutdown_budget(EKS, 200, enough).may_be_too_short and shutdown_budget(EKS, 201, enough).may_be_too_short


MEASURED = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("seconds", "days", "written", "short"),
    [
        (7, 0, "2026-11-20T11:00:00Z", False),
        (7, 0, "2026-11-20T11:58:00Z", True),
        (7, 0, "2026-01-01T11:00:00Z", False),
        (15, 0, "2026-01-01T11:00:00Z", True),
        (7, 100, "2026-01-01T11:00:00Z", True),
        (7, -1, "2026-01-01T11:00:00Z", True),
    ],
)
def test_no_answer_was_lost_with_the_lameduck_that_is_still_there(
    seconds: int, days: int, written: str, short: bool
) -> None:
    """Pods were observed to answer for 7 s; that 5 s were enough is known only if the Corefile is unchanged since then.
    Pods that answered for 15 s were held by more than a lameduck of 5 s."""
    found = facts(text=lameduck("5s"))
    doc = found.objects[COREDNS_CONFIG_MAP]
    assert isinstance(doc, dict)
    doc["metadata"]["managedFields"][0]["time"] = written
    cluster = replace(found.cluster, observed_at=MEASURED)
    measured = EndpointPropagation(seconds, len(cluster.nodes), MEASURED - timedelta(days=days))
    plan = plan_dns(replace(found, cluster=cluster, measured=measured))
    assert ("dns-lameduck-short" in {each.code.name for each in plan.findings}) is short
