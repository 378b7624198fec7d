"""Creation and deletion of nodes after the drain: by owner, with commands that can be pasted, and a comparison of
upgrade strategies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.rollover_offers import NodeGroupRollover, ReplacementMethod, ReplacementOption, instance_id
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, NodePool
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, EKSCTL_GROUP, NODE_POOL, PROVISIONER, Node, NodeOwner
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_workload, an_emptydir, pods
from tests.drain.planning import WEB, plan_of

BARE = a_pod("bare", owner=None)


def commands(handoff: NodeGroupRollover) -> list[str]:
    return [c for step in (*handoff.arrive, *handoff.leave) for c in step.commands]


def leaving(handoff: NodeGroupRollover) -> list[str]:
    return [c for step in handoff.leave for c in step.commands]


def only(plan: DrainPlan) -> NodeGroupRollover:
    assert len(plan.handoffs) == 1, [h.title for h in plan.handoffs]
    return plan.handoffs[0]


def way(plan: DrainPlan, which: ReplacementMethod) -> ReplacementOption:
    return next(option for option in only(plan).instead if option.way is which)


def one_of(labels: dict[str, str], **more: Any) -> NodeGroupRollover:
    """The node group rollover for a drain of one empty node with `labels`, of no managed node group."""
    node = a_node("old-0", group="", labels=labels, **more)
    return only(plan_of(nodes=[node, a_node("new-0", group="green")], pods=[]))


def test_a_whole_managed_group_is_deleted_and_its_update_is_named_with_the_clusters_version() -> None:
    handoff = only(plan_of())
    assert (handoff.owner, handoff.group, handoff.nodes, handoff.kept) == (NodeOwner.MANAGED, "blue", ("old-0",), ())
    assert leaving(handoff) == ["aws eks delete-nodegroup --cluster-name prod --nodegroup-name blue --region eu-west-1"]
    assert (
        "aws eks update-nodegroup-version --cluster-name prod --nodegroup-name blue --kubernetes-version 1.33 "
        "--region eu-west-1"
    ) in commands(handoff)
    said = "\n".join(handoff.beware)
    for text in ("takes the latest AMI", "Raising desiredSize", "perhaps a new one", "HeartbeatTimeout"):
        assert text in said
    assert "minimum size" not in said, "a group that is deleted has none to fall below"


def test_a_part_of_a_managed_group_ends_by_instance_id_in_the_plans_order() -> None:
    nodes = [a_node("old-0"), a_node("old-1"), a_node("blue-2")]
    plan = plan_of(nodes=nodes, pods=pods(3), workloads=WEB)
    handoff = only(plan)
    assert handoff.nodes == tuple(t.node.name for t in plan.targets)
    assert leaving(handoff) == [
        f"aws autoscaling terminate-instance-in-auto-scaling-group --instance-id i-{name} "
        "--should-decrement-desired-capacity --region eu-west-1"
        for name in handoff.nodes
    ]
    assert any("all 3 nodes of the group, 1 of them not targets here" in text for text in handoff.beware)


def test_nodes_with_pods_that_stay_are_never_ended() -> None:
    handoff = only(plan_of(nodes=[a_node("old-0"), a_node("old-1")], pods=[*pods(2, node="old-1"), BARE]))
    assert (handoff.nodes, handoff.kept) == (("old-1",), ("old-0",))
    assert not any("i-old-0" in command or "delete-nodegroup" in command for command in commands(handoff))
    none = only(plan_of(pods=[BARE]))
    assert none.nodes == () and leaving(none) == []
    assert "end none of them" in none.leave[0].text


def test_a_node_emptied_in_part_is_kept_and_its_pods_are_counted() -> None:
    handoff = only(plan_of(pods=[*pods(2), BARE], policy=DrainPolicy(partial=True)))
    assert (handoff.nodes, handoff.kept) == ((), ("old-0",))
    assert handoff.beware[0].startswith("old-0 is emptied in part: the 1 pod that stays would end with it")


@pytest.mark.parametrize(
    ("image", "told"),
    [("Amazon Linux 2", True), ("Amazon Linux 2023.7.20250609", False), ("Bottlerocket OS 1.40.0", False)],
)
def test_amazon_linux_2_needs_a_new_group(image: str, told: bool) -> None:
    handoff = only(of_version("v1.32.3", os_image=image))
    assert any("an update cannot change a group's AMI type" in text for text in handoff.beware) is told
    assert any("update-nodegroup-version" in each for each in commands(handoff)), "1.32 still has an AMI of it"


def of_version(version: str, **more: Any) -> DrainPlan:
    cluster = a_cluster(nodes=[a_node("old-0", **more)], pods=[])
    return plan_of(replace(cluster, identity=replace(cluster.identity, server_version=version)))


def test_the_newest_kubelet_tells_the_version_that_a_dump_does_not_hold() -> None:
    old, new = a_node("old-0", os_image="Amazon Linux 2"), a_node("new-0", group="green", version="v1.33.1-eks-1")
    plan = plan_of(nodes=[old, new], pods=[])
    assert not any("update-nodegroup-version" in each for each in commands(only(plan)))


def test_from_1_33_on_no_update_in_place_is_proposed_for_amazon_linux_2() -> None:
    """EKS has no such AMI for it (facts of the EKS user guide): only a new node group is proposed, before the drain and
    after it."""
    handoff = only(of_version("v1.33.1-eks-1", os_image="Amazon Linux 2"))
    assert not any("update-nodegroup-version" in each for each in commands(handoff)) and handoff.instead == ()
    (new,) = handoff.arrive
    assert "own update cannot bring newer nodes, as the last AMI of Amazon Linux 2 is for 1.32" in new.text
    assert "amiType of Amazon Linux 2023" in new.text and "create-nodegroup" in new.commands[1]
    assert handoff.after_drain.arrive == (new,)
    assert "own update" not in handoff.leave[0].text and not any("in place" in text for text in handoff.beware)
    assert any("imds-probe --nodegroup blue --assume ami=AL2023" in text for text in handoff.beware)


# Strategies compared -------------------------------------------------------------------------


def three_zones(count: int) -> list[Node]:
    return [
        a_node(f"old-{i}", labels={"topology.kubernetes.io/zone": f"eu-west-1{'abc'[i % 3]}"}) for i in range(count)
    ]


@pytest.mark.parametrize(("count", "surge"), [(1, 2), (2, 4), (3, 6), (9, 6)])
def test_the_update_adds_two_nodes_for_each_zone(count: int, surge: int) -> None:
    plan = plan_of(nodes=three_zones(count), pods=[])
    update = way(plan, ReplacementMethod.GROUP_UPDATE)
    assert (update.nodes, update.surge, update.least_seconds) == (count, surge, count * 60)
    assert (way(plan, ReplacementMethod.OWN_DRAIN).surge, way(plan, ReplacementMethod.BLUE_GREEN).surge) == (0, count)
    assert "no pod is named" in update.waits and "random" in update.order


def test_without_zones_the_surge_is_not_known() -> None:
    node = a_node("old-0")
    labels = {k: v for k, v in node.labels.items() if "zone" not in k}
    update = way(plan_of(nodes=[replace(node, labels=labels)], pods=[]), ReplacementMethod.GROUP_UPDATE)
    assert update.surge is None and "not known" in update.surge_why


@pytest.mark.parametrize(
    ("pod", "budgets", "field"),
    [
        (a_pod("web-0"), [a_budget("web", max_unavailable=0, allowed=0, expected=1)], "stopped_by"),
        (a_pod("web-0"), [a_budget("a", selector={"app": "web"}), a_budget("web")], "stopped_by"),
        (a_pod("web-0"), [a_budget("web", generation=2, observed_generation=1)], "may_be_stopped_by"),
        (a_pod("web-0", grace_seconds=900), [], "may_be_stopped_by"),
        (a_pod("web-0", volumes=(an_emptydir(),)), [], "unasked"),
        (a_pod("web-0", owner=None), [], "unasked"),
        (
            a_pod("web-0", volumes=(an_emptydir(),)),
            [a_budget("web", max_unavailable=0, allowed=0, expected=1)],
            "stopped_by",
        ),
        (a_pod("web-0"), [], ""),
    ],
)
def test_what_the_groups_update_does_to_a_pod(pod: Any, budgets: list[Any], field: str) -> None:
    workloads = [a_workload("ReplicaSet/web", replicas=2)]
    plan = plan_of(pods=[pod], budgets=budgets, workloads=workloads)
    update = way(plan, ReplacementMethod.GROUP_UPDATE)
    found = {name: getattr(update, name) for name in ("stopped_by", "may_be_stopped_by", "unasked", "not_judged")}
    assert found == dict.fromkeys(found, ()) | ({field: ("default/web-0",)} if field else {})


def test_what_was_not_judged_is_neither_stopped_nor_taken() -> None:
    unread = way(
        plan_of(a_cluster(nodes=[a_node("old-0")], pods=pods(1), unread=[kinds.BUDGETS])),
        ReplacementMethod.GROUP_UPDATE,
    )
    assert (unread.stopped_by, unread.unasked, unread.not_judged) == ((), (), ("default/web-0",))
    refused = way(plan_of(nodes=[a_node("old-0", ready="Unknown")], pods=pods(1)), ReplacementMethod.GROUP_UPDATE)
    assert refused.not_judged == ("default/web-0",)


# Other owners --------------------------------------------------------------------------------


def test_karpenter_nodes_leave_by_their_claims_and_come_by_pending_pods() -> None:
    nodes = [a_node(f"old-{i}", group="", labels={NODE_POOL: "general"}) for i in range(2)]
    pools = [NodePool("general", (("cpu", "1000"),)), NodePool("other", (("cpu", "1"),))]
    handoff = only(plan_of(nodes=nodes, pods=[], node_pools=pools))
    assert handoff.title == "NodePool general"
    assert "limits: cpu 1000." in handoff.arrive[0].text
    assert leaving(handoff) == [
        "kubectl delete nodeclaim "
        f"$(kubectl get nodeclaims -o jsonpath='{{.items[?(@.status.nodeName==\"{name}\")].metadata.name}}')"
        for name in handoff.nodes
    ]
    assert len(handoff.nodes) == 2 and handoff.instead == ()
    assert any("consolidated away while they are empty" in text for text in handoff.beware)
    assert not any("Spot" in text for text in handoff.beware)


def test_nodes_of_an_old_provisioner_are_deleted_themselves_as_they_have_no_claim() -> None:
    nodes = [a_node(f"old-{i}", group="", labels={PROVISIONER: "general"}) for i in range(2)]
    handoff = only(plan_of(nodes=nodes, pods=[]))
    assert leaving(handoff) == [f"kubectl delete node {name}" for name in handoff.nodes]
    assert handoff.arrive[0].commands == ("kubectl get nodes -l karpenter.sh/provisioner-name=general",)
    assert not any("claim" in text for text in handoff.beware)


def test_eksctl_makes_and_deletes_its_own_groups() -> None:
    handoff = one_of({EKSCTL_GROUP: "ng-1"})
    assert commands(handoff) == [
        "eksctl create nodegroup --cluster prod --region eu-west-1 --name ng-1-next --managed=false --nodes 1 "
        "--node-type m6i.xlarge",
        "eksctl delete nodegroup --cluster prod --region eu-west-1 --name ng-1",
    ]
    assert "--delete-emptydir-data" in handoff.beware[0]


def test_other_auto_scaling_groups_are_found_by_an_instance() -> None:
    handoff = one_of({})
    found, protect, grow = handoff.arrive[1].commands
    assert found.startswith("ASG=$(aws autoscaling describe-auto-scaling-instances --instance-ids i-old-0 ")
    assert "--new-instances-protected-from-scale-in" in protect
    assert "--desired-capacity $(($(" in grow and ") + 1)) --region eu-west-1" in grow
    assert "--instance-id i-old-0 --should-decrement-desired-capacity" in leaving(handoff)[0]
    assert "--no-new-instances-protected-from-scale-in" in leaving(handoff)[-1]


def test_nodes_without_an_instance_get_no_aws_command() -> None:
    assert commands(one_of({}, provider_id="kind://docker/kind/old-0")) == []


def test_hybrid_nodes_are_somebodys_machines() -> None:
    handoff = one_of({COMPUTE_TYPE: "hybrid"}, provider_id="eks-hybrid:///eu-west-1/prod/mi-0abc")
    assert leaving(handoff) == ["kubectl delete node old-0"]
    assert "Nothing in AWS" in handoff.arrive[0].text


@pytest.mark.parametrize("compute", ["auto", "fargate"])
def test_nodes_that_are_not_drained_get_no_command(compute: str) -> None:
    handoff = one_of({COMPUTE_TYPE: compute})
    assert (handoff.nodes, handoff.kept, commands(handoff)) == ((), ("old-0",), [])


def test_mixed_targets_are_one_hand_off_for_each_owner_and_group() -> None:
    nodes = [
        a_node("old-0", group="", labels={NODE_POOL: "general"}),
        a_node("old-1", group="green"),
        a_node("old-2", group="blue"),
        a_node("old-3", group="blue"),
        a_node("old-4", group=""),
        a_node("old-5", group="", labels={EKSCTL_GROUP: "blue"}),
    ]
    plan = plan_of(nodes=nodes, pods=[])
    assert [(h.owner.value, h.group, len(h.nodes)) for h in plan.handoffs] == [
        ("managed", "blue", 2),
        ("managed", "green", 1),
        ("eksctl", "blue", 1),
        ("karpenter", "general", 1),
        ("self-managed", "", 1),
    ]
    assert [h.owner for h in plan.handoffs if h.instead] == [NodeOwner.MANAGED] * 2


# Words in commands ---------------------------------------------------------------------------


def of_unknown(cluster: Cluster) -> Cluster:
    nodes = [replace(n, labels={k: v for k, v in n.labels.items() if "region" not in k}) for n in cluster.nodes]
    return replace(cluster, identity=Identity(), nodes=tuple(nodes))


def test_what_is_not_known_of_the_cluster_stands_as_a_placeholder_and_is_said_first() -> None:
    handoff = only(plan_of(of_unknown(a_cluster(nodes=[a_node("old-0")]))))
    assert leaving(handoff) == ["aws eks delete-nodegroup --cluster-name CLUSTER --nodegroup-name blue --region REGION"]
    assert [text.split()[0] for text in handoff.beware[:2]] == ["CLUSTER", "REGION"]
    assert "--kubernetes-version" not in "".join(commands(handoff))
    known = only(plan_of())
    assert not any("stands for" in text for text in known.beware)


@pytest.mark.parametrize("name", ["$(reboot)", "a;b", "a b", "x'y", "--force", "a\nb", ""])
def test_names_that_a_shell_reads_otherwise_are_never_pasted(name: str) -> None:
    cluster = replace(a_cluster(nodes=[a_node("old-0", group="blue")]), identity=Identity(cluster=name, region=name))
    handoff = only(plan_of(cluster))
    assert all("--cluster-name CLUSTER " in c for c in commands(handoff) if "--cluster-name" in c)
    for labels in ({NODE_POOL: name}, {EKSCTL_GROUP: name}, {"eks.amazonaws.com/nodegroup": name}):
        odd = replace(a_node("old-0", group="", labels=labels), name=f"old-{name}")
        for command in commands(only(plan_of(nodes=[odd], pods=[]))):
            assert not name or f" {name}" not in command


@pytest.mark.parametrize(
    ("provider_id", "found"),
    [
        ("aws:///eu-west-1a/i-0123456789abcdef0", "i-0123456789abcdef0"),
        ("aws:///eu-west-1a/i-0123; rm -rf /", ""),
        ("aws:///eu-west-1a/i-0123\n", ""),
        ("aws:///eu-west-1b/3c4d/fargate-ip-10-0-70-21", ""),
        ("kind://docker/kind/i-0", ""),
        ("", ""),
    ],
)
def test_instance_ids(provider_id: str, found: str) -> None:
    assert instance_id(a_node("old-0", provider_id=provider_id)) == found


# A recorded cluster --------------------------------------------------------------------------
