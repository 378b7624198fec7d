"""Remedies work: budgets and replicas are calculated first, and commands can be pasted whatever names they contain."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.kubernetes.budgets import allowed_at_full_health
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.model import connection, kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Namespace
from kubectl_eksdoc.model.findings import Remedy
from kubectl_eksdoc.model.network import Service
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod
from kubectl_eksdoc.model.workloads import Autoscaler, Workload
from tests.builders import (
    TOLERATES_ALL,
    a_budget,
    a_claimed,
    a_cluster,
    a_job,
    a_node,
    a_pod,
    a_workload,
    ago,
    an_amount,
    an_owner,
    pods,
)
from tests.drain.planning import finding, headroom, plan_of

FORCE = DrainPolicy(force=True, partial=True)


def deployment(replicas: int, name: str = "web", **more: Any) -> tuple[Workload, Workload]:
    return (
        a_workload(f"ReplicaSet/{name}", replicas=replicas, owner=f"Deployment/{name}"),
        a_workload(f"Deployment/{name}", replicas=replicas, **{"surges": True, **more}),
    )


def bare(count: int) -> list[Pod]:
    return [a_pod(f"bare-{i}", owner=None, labels={"app": "web"}) for i in range(count)]


def foreign(kind: str = "CloneSet", group: str = "apps.kruise.io") -> ControllerOwner:
    return an_owner(f"{kind}/web", group=group)


def advice(code: str = "budget-never-allows", **facts: Any) -> tuple[Remedy, ...]:
    return finding(plan_of(policy=FORCE, **facts), code).remedy


def commands(remedies: tuple[Remedy, ...]) -> list[str]:
    return [remedy.command for remedy in remedies]


def applied(budget: Budget, command: str) -> Budget:
    """The budget after the patch of a remedy."""
    spec = json.loads(shlex.split(command)[-1])["spec"]
    return replace(
        budget,
        min_available=an_amount(spec["minAvailable"]),
        max_unavailable=an_amount(spec["maxUnavailable"]),
    )


WORLDS: dict[str, tuple[dict[str, Any], list[Pod], tuple[Workload, ...]]] = {
    "bare pods, maxUnavailable": ({"max_unavailable": 1, "expected": 0}, bare(2), ()),
    "bare pods, minAvailable of all": ({"min_available": 2}, bare(2), ()),
    "one bare pod": ({"min_available": 1}, bare(1), ()),
    "a Job": ({"min_available": 1}, [a_pod("j", owner="Job/web")], ()),
    "a custom resource": ({"min_available": "100%"}, [a_pod("c", owner=foreign(), labels={"app": "web"})], ()),
    "a Deployment, nothing away": ({"max_unavailable": 0}, list(pods(3)), deployment(3)),
    "a Deployment, all of them": ({"min_available": "100%"}, list(pods(3)), deployment(3)),
    "a Deployment and bare pods": ({"min_available": 4}, [*pods(2), *bare(2)], deployment(2)),
    "an orphan": ({"min_available": 1}, [a_pod("o", owner="ReplicaSet/web")], ()),
}


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_loosened_budget_lets_exactly_one_go(world: str) -> None:
    rule, several, workloads = WORLDS[world]
    budget = a_budget(allowed=0, **{"expected": len(several), **rule})
    found = advice(pods=several, workloads=workloads, budgets=[budget], jobs=[a_job("web")])
    patched = [c for c in commands(found) if c.startswith("kubectl patch pdb")]
    assert len(patched) == 1
    changed = applied(budget, patched[0])
    assert (changed.min_available, changed.max_unavailable) != (budget.min_available, budget.max_unavailable)
    assert allowed_at_full_health(changed, several, ScaleIndex.of(workloads)) == 1
    back = re.search(r"'({.*})'", next(r.text for r in found if r.command == patched[0]))
    assert back is not None
    assert applied(changed, shlex.join(["-p", back[1]])) == budget


def test_of_several_workloads_the_one_that_needs_fewest_more_is_scaled() -> None:
    several = [*pods(4), *pods(2, app="other")]
    several = [replace(pod, labels={"team": "z"}) for pod in several]
    budget = a_budget("z", selector={"team": "z"}, min_available=6, allowed=0, expected=6)
    workloads = (*deployment(4), *deployment(2, "other"))
    found = commands(advice(pods=several, workloads=workloads, budgets=[budget]))
    assert found[0].startswith("kubectl scale deployment") and not any("rollout" in c for c in found)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "new pods are Ready elsewhere before old ones stop"),
        ({"rollout_unavailable": 1}, "lets 1 of its 3 pods be away"),
        ({"rollout_unavailable": 1, "surges": False}, "lets 1 of its 3 pods be away"),
        ({"rollout_unavailable": 3, "surges": False}, None),
        ({"paused": True}, None),
    ],
    ids=str,
)
def test_a_rollout_is_told_as_it_is(more: dict[str, Any], says: str | None) -> None:
    found = advice(workloads=deployment(3, **more), budgets=[a_budget(max_unavailable=0, allowed=0)])
    texts = [r.text for r in found if "rollout restart" in r.command]
    if says is None:
        assert not texts
    else:
        assert len(texts) == 1 and says in texts[0]


def test_a_rollout_of_one_workload_frees_only_its_own_pods() -> None:
    found = advice(pods=[*pods(2), *bare(1)], workloads=deployment(2), budgets=[a_budget(min_available=3, allowed=0)])
    assert not any("rollout" in c for c in commands(found))


def test_a_replicaset_of_an_unknown_controller_is_not_scaled() -> None:
    replica_set = replace(a_workload(replicas=1), owner=foreign("Rollout", "argoproj.io"))
    plan = plan_of(pods=pods(1), workloads=[replica_set], budgets=[a_budget(min_available=1, allowed=0, expected=1)])
    for code in ("budget-never-allows", "single-replica"):
        found = finding(plan, code)
        assert found.remedy[0].text.startswith("Have Rollout web run 2 replicas, by its own means")
        assert found.remedy[0].command == "kubectl get rollout.argoproj.io web -n default -o yaml"
        assert not any("scale" in c for c in commands(found.remedy))
    assert finding(plan, "single-replica").subject.kind == "Rollout"


def test_a_rollout_with_replicas_in_several_replicasets_has_no_single_replica() -> None:
    owner = foreign("Rollout", "argoproj.io")
    sets = [replace(a_workload(f"ReplicaSet/{name}", replicas=1), owner=owner) for name in ("web", "canary")]
    plan = plan_of(pods=pods(1), workloads=sets)
    assert plan.findings == ()


def test_the_maximum_of_an_autoscaler_is_raised_with_its_minimum() -> None:
    scalers = [Autoscaler("default", "web", "Deployment", "web", 1, 1)]
    plan = plan_of(pods=pods(1), workloads=deployment(1, surges=False), autoscalers=scalers)
    (remedy,) = finding(plan, "single-replica").remedy
    assert json.loads(shlex.split(remedy.command)[-1]) == {"spec": {"minReplicas": 2, "maxReplicas": 2}}
    assert "minimum 1, maximum 1" in remedy.text


def test_without_autoscalers_read_a_scale_may_be_undone() -> None:
    cluster = a_cluster(
        nodes=[a_node("old-0")],
        pods=pods(1),
        workloads=deployment(1, surges=False),
        budgets=[a_budget(min_available=1, allowed=0, expected=1)],
        unread=[kinds.AUTOSCALERS],
    )
    plan = plan_of(cluster)
    for code in ("budget-never-allows", "single-replica"):
        assert "horizontalpodautoscalers were not read" in finding(plan, code).remedy[0].text
    assert (
        "not read" not in finding(plan_of(replace(cluster, reads=a_cluster().reads)), "single-replica").remedy[0].text
    )


@pytest.mark.parametrize(
    ("surges", "away", "command"), [(True, 0, "rollout restart"), (True, 1, "scale"), (False, 1, "scale")]
)
def test_a_single_replica_is_restarted_only_where_it_is_never_away(surges: bool, away: int, command: str) -> None:
    plan = plan_of(pods=pods(1), workloads=deployment(1, surges=surges, rollout_unavailable=away))
    remedy, *more = finding(plan, "single-replica").remedy
    assert remedy.command.startswith(f"kubectl {command} deployment")
    assert any("--surge-singles" in each.text for each in more) is (command == "rollout restart")


def test_of_a_single_of_a_stateful_set_users_are_told_unless_an_autoscaler_can_make_another() -> None:
    facts: dict[str, Any] = {
        "pods": [a_pod("db-0", owner="StatefulSet/db")],
        "workloads": [a_workload("StatefulSet/db", replicas=1)],
    }
    (told,) = finding(plan_of(**facts), "single-replica").remedy
    assert not told.command and "StatefulSet" in told.text
    scaled = plan_of(autoscalers=[Autoscaler("default", "db", "StatefulSet", "db", 1, 3)], **facts)
    (raised,) = finding(scaled, "single-replica").remedy
    assert raised.command.startswith("kubectl patch hpa db")


# Unhealthy and failed budgets ------------------------------------------------------------------


def always_allow(cluster_facts: dict[str, Any]) -> bool:
    found = advice("budget-unhealthy", workloads=deployment(3), **cluster_facts)
    return any("AlwaysAllow" in c for c in commands(found))


def test_always_allow_is_advised_only_where_it_frees_a_pod() -> None:
    sick = [*pods(2), a_pod("web-sick", ready=False)]
    all_sick = pods(3, ready=False)
    blocked = a_budget(min_available=2, allowed=0, current=0, desired=2)
    assert always_allow({"pods": all_sick, "budgets": [blocked]})
    uncounted_already = a_budget(min_available=2, allowed=0, current=2, desired=2)
    assert not always_allow({"pods": sick, "budgets": [uncounted_already]})
    given = a_budget(min_available=2, allowed=0, current=1, desired=2, unhealthy_policy="AlwaysAllow")
    half_sick = [*pods(1), *(a_pod(f"sick-{i}", ready=False) for i in range(2))]
    assert not always_allow({"pods": half_sick, "budgets": [given]})


@pytest.mark.parametrize(("owner", "finishes"), [("Job/web", True), ("ReplicaSet/web", False)])
def test_only_jobs_pods_finish(owner: str, finishes: bool) -> None:
    budget = a_budget(min_available="50%", allowed=0, expected=0, condition_reason="SyncFailed")
    mine = [a_pod(owner=owner, labels={"app": "web"})]
    found = advice("budget-sync-failed", pods=mine, budgets=[budget], workloads=[])
    assert any(r.text.startswith("Let its pods finish") for r in found) is finishes
    assert '"minAvailable": 0' in found[0].command


def test_a_budget_that_never_allows_is_told_so_though_its_status_is_stale() -> None:
    stale = {"allowed": 1, "expected": 3, "generation": 2, "observed_generation": 1}
    never = plan_of(workloads=deployment(3), budgets=[a_budget(max_unavailable=0, **stale)])
    assert headroom(never).verdict is BudgetVerdict.BLOCKED_FOREVER
    assert "3 healthy of 3, 3 wanted; status is of generation 1" in finding(never, "budget-never-allows").message
    soon = plan_of(workloads=deployment(3), budgets=[a_budget(max_unavailable=1, **stale | {"allowed": 0})])
    assert headroom(soon).verdict is BudgetVerdict.STALE


def test_a_stale_count_says_nothing_of_a_new_spec_whose_owners_are_unknown() -> None:
    budget = a_budget(min_available="50%", allowed=0, current=2, desired=3, expected=3, generation=2)
    mine = pods(3, owner=foreign(), labels={"app": "web"})
    assert headroom(plan_of(pods=mine, budgets=[budget])).verdict is BudgetVerdict.STALE


# Merging -----------------------------------------------------------------------------------------


EVIL = "x;rm -rf / #$(reboot)`id`'\"\n&& ls > y"


def words(command: str) -> list[str]:
    """The command's words as a POSIX shell splits them; the shell's operators are separate words."""
    return list(shlex.shlex(command, posix=True, punctuation_chars=True))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (connection.kubectl("get", "pod", "web-0", "shop"), "kubectl get pod web-0 -n shop"),
        (connection.kubectl("get", "node", "n-1", "", "-o", "yaml"), "kubectl get node n-1 -o yaml"),
        (connection.kubectl("get", "pod", "-A", "shop"), "kubectl get pod/-A -n shop"),
        (connection.kubectl("get", "pod", "a b", "c;d"), "kubectl get pod 'a b' -n 'c;d'"),
        (connection.save_command("pdb", "web", "shop"), "kubectl get pdb web -n shop -o yaml > web.yaml"),
        (
            connection.patch("pdb", "web", "shop", '{"spec": {}}'),
            "kubectl patch pdb web -n shop --type merge -p '{\"spec\": {}}'",
        ),
        (connection.resource_word("Deployment", "apps"), "deployment"),
        (connection.resource_word("Rollout", "argoproj.io"), "rollout.argoproj.io"),
    ],
)
def test_commands(command: str, expected: str) -> None:
    assert command == expected


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("web-0", "web-0.yaml"),
        ("bare;rm -rf /", "bare_rm_-rf_.yaml"),
        ("../../etc/passwd", "_.._etc_passwd.yaml"),
        ("-rf", "rf.yaml"),
        ("..", "object.yaml"),
        ("x" * 999, "x" * 200 + ".yaml"),
    ],
)
def test_files_stay_in_the_folder(name: str, file: str) -> None:
    assert connection.file_name(name) == file


def evil_plans() -> list[Remedy]:
    """Every remedy of plans with hostile names."""
    ns, node = EVIL, replace(a_node("old-0"), name=f"old-{EVIL}")
    fargate = replace(a_node("old-1", labels={"eks.amazonaws.com/compute-type": "fargate"}), name=f"old-f{EVIL}")
    everything = [
        a_pod(f"bare{EVIL}", ns, owner=None, node=node.name),
        a_pod(f"a{EVIL}", ns, owner=f"ReplicaSet/{EVIL}", node=node.name, labels={"app": "a"}),
        a_pod(f"t{EVIL}", ns, owner=f"StatefulSet/{EVIL}", node=node.name, tolerations=(TOLERATES_ALL,)),
        a_pod(f"j{EVIL}", ns, owner=f"Job/{EVIL}", node=node.name, volumes=(a_claimed("c"),)),
        a_pod(f"d{EVIL}", ns, owner=None, node=node.name, deletion_deadline=ago(900)),
        a_pod(f"f{EVIL}", ns, owner=f"ReplicaSet/{EVIL}", node=fargate.name),
        a_pod(f"g{EVIL}", f"{ns}-gone", node=node.name),
        a_pod(f"p{EVIL}", ns, phase="Pending", node=""),
    ]
    workloads = [
        a_workload(f"ReplicaSet/{EVIL}", ns, replicas=1, owner=f"Deployment/{EVIL}"),
        a_workload(f"Deployment/{EVIL}", ns, replicas=1, surges=True),
        a_workload(f"StatefulSet/{EVIL}", ns, replicas=2, template_tolerations=(TOLERATES_ALL,)),
    ]
    budgets = [a_budget(f"b{EVIL}", ns, selector={"app": "a"}, min_available=1, allowed=0, expected=1)]
    found = []
    for several in (budgets, [*budgets, replace(budgets[0], name=f"c{EVIL}")]):
        plan = plan_of(
            nodes=[node, fargate],
            pods=everything,
            workloads=workloads,
            budgets=several,
            services=[Service(ns, EVIL, "LoadBalancer", {"app": "a"})],
            namespaces=[Namespace(f"{ns}-gone", terminating=True)],
            policy=DrainPolicy(partial=True),
        )
        found += [remedy for finding in plan.findings for remedy in finding.remedy]
    return found


def test_no_name_ends_a_word() -> None:
    found = [remedy.command for remedy in evil_plans() if remedy.command]
    assert len(found) > 10
    for command in found:
        split = words(command)
        operators = [word for word in split if set(word) <= set(";&|<>()") and word]
        assert all(op in ("&&", ">") for op in operators), command
        assert not {"rm", "reboot", "ls"} & set(split), command
        for at, word in enumerate(split):
            if word == ">":
                assert "/" not in split[at + 1]
