"""Nodes on which a pod that drains nodes must not run, and whether any other node remains."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.in_cluster.objects import AvoidedNodes, affinity, count_usable_nodes, nodes_to_avoid
from kubectl_eksdoc.model.nodes import Node, Taint
from tests.builders import a_node

OS = {"kubernetes.io/os": "linux"}


def node(name: str, group: str = "blue", **more: Any) -> Node:
    return a_node(name, group=group, labels={**OS, **more.pop("labels", {})}, **more)


def test_targets_are_avoided_and_groups_that_go_as_a_whole() -> None:
    old, new = [node("old-1"), node("old-2")], [node("new-1", "green")]
    found = nodes_to_avoid(old, [*old, *new])
    assert found == AvoidedNodes(("old-1", "old-2"), (("eks.amazonaws.com/nodegroup", ("blue",)),))
    assert count_usable_nodes([*old, *new], found) == 1


def test_a_group_of_which_some_stay_is_not_avoided() -> None:
    nodes = [node("old-1"), node("old-2")]
    found = nodes_to_avoid(nodes[:1], nodes)
    assert found == AvoidedNodes(("old-1",)) and count_usable_nodes(nodes, found) == 1


def test_hosts_are_known_by_their_label_whatever_the_node_is_called() -> None:
    odd = node("ip-10-0-0-1.ec2.internal", labels={"kubernetes.io/hostname": "ip-10-0-0-1"})
    assert nodes_to_avoid([odd], [odd]).hosts == ("ip-10-0-0-1",)
    bare = Node("n", "u", {})
    assert (
        nodes_to_avoid([bare], [bare]) == AvoidedNodes(unlabeled=("n",))
        and count_usable_nodes([bare], nodes_to_avoid([bare], [bare])) == 0
    )


def test_no_target_is_required_and_a_group_only_disliked_lest_nothing_is_left_for_ever() -> None:
    found = affinity(AvoidedNodes(("old-1",), (("eks.amazonaws.com/nodegroup", ("blue",)),), ("bare",)))["nodeAffinity"]
    (term,) = found["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "NotIn", "values": ["bare"]}]
    (liked,) = found["preferredDuringSchedulingIgnoredDuringExecution"]
    (group,) = liked["preference"]["matchExpressions"]
    assert (group["key"], group["values"]) == ("eks.amazonaws.com/nodegroup", ["blue"])
    assert [(each["key"], each["operator"], each["values"]) for each in term["matchExpressions"]] == [
        ("kubernetes.io/os", "In", ["linux"]),
        ("eks.amazonaws.com/compute-type", "NotIn", ["fargate"]),
        ("kubernetes.io/hostname", "NotIn", ["old-1"]),
    ]


def test_a_new_node_of_the_only_pool_has_room() -> None:
    old, new = (node(name, "", labels={"karpenter.sh/nodepool": "all"}) for name in ("old-1", "new-1"))
    assert nodes_to_avoid([old], [old]).groups == (("karpenter.sh/nodepool", ("all",)),)
    assert count_usable_nodes([old, new], nodes_to_avoid([old], [old])) == 1


def test_what_cannot_take_it_is_no_room() -> None:
    away = AvoidedNodes()
    unfit = [
        node("cordoned", unschedulable=True),
        node("down", ready="Unknown"),
        node("tainted", taints=(Taint("dedicated", "gpu", "NoSchedule"),)),
        node("windows", labels={"kubernetes.io/os": "windows"}),
        node("fargate", labels={"eks.amazonaws.com/compute-type": "fargate"}),
    ]
    assert count_usable_nodes(unfit, away) == 0
    assert count_usable_nodes([node("soft", taints=(Taint("a", "b", "PreferNoSchedule"),))], away) == 1
