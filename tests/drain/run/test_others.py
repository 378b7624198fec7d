"""Drains of others: who drains which node, which pods are left, what they wait for, and about how long yet."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.drain.run.others import drained_by_others
from kubectl_eksdoc.model.nodes import RunNote, Taint
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node


def test_cordoned_nodes_and_those_of_autoscalers_are_drained_by_somebody() -> None:
    karpenters = replace(a_node("k"), taints=(Taint("karpenter.sh/disrupted", "", "NoSchedule"),))
    nodes = [a_node("free"), replace(a_node("c"), unschedulable=True), karpenters]
    found = drained_by_others(a_cluster(nodes=nodes))
    assert [(node.node, node.who, node.empty) for node in found] == [
        ("c", "another client (it is cordoned)", True),
        ("k", "Karpenter (taint karpenter.sh/disrupted)", True),
    ]
    assert [node.left_s for node in found] == [0.0, 0.0]


def test_a_run_of_ours_is_known_by_its_notes() -> None:
    note = RunNote("20261120-1930-4f2a", "ops")
    nodes = [
        replace(a_node("a"), unschedulable=True, note=note),
        replace(a_node("b"), unschedulable=True, note=replace(note, drains=False, protects=True)),
        replace(a_node("c"), note=note),
    ]
    found = drained_by_others(a_cluster(nodes=nodes))
    assert [(node.node, node.who, node.run) for node in found] == [
        ("a", "run 20261120-1930-4f2a of eksdoc", note),
        ("b", "another client (it is cordoned)", None),
    ]


def test_named_nodes_are_shown_whoever_drains_them() -> None:
    (found,) = drained_by_others(a_cluster(nodes=[a_node("free"), a_node("b")]), frozenset(("free",)))
    assert (found.node, found.who) == ("free", "no client yet")


def test_each_pod_says_what_it_waits_for() -> None:
    old = replace(a_node("old"), unschedulable=True)
    pods = [
        replace(a_pod("web-1", node="old"), labels={"app": "web"}),
        replace(a_pod("api-1", node="old"), labels={"app": "api"}),
        replace(a_pod("both", node="old"), labels={"app": "web", "of": "api"}),
        replace(a_pod("free", node="old"), labels={}),
    ]
    cluster = a_cluster(nodes=[old, a_roomy_node()], pods=pods)
    cluster = replace(cluster, budgets=(a_budget("web", allowed=0), a_budget("api", allowed=1)))
    (found,) = drained_by_others(cluster)
    why = {pod.pod.rpartition("/")[2]: pod.why for pod in found.pods}
    assert why["free"] == "nothing keeps it"
    assert "lets none go" in why["web-1"] and why["api-1"].endswith("would allow its eviction now")
