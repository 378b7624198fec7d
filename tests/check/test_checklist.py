"""The upgrade as a checklist: the order of its steps, the fact that decides it, and the findings on which each step
waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.check.checking import Area, CheckFacts, Gate, UpgradeCheck
from kubectl_eksdoc.check.node_steps import build_checklist
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.steps import Phase, UpgradeStep
from kubectl_eksdoc.model.addons import Addon, AddonVersion, AddonVersions, CompatibleVersion
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Identity, NodeClass, NodePool
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.eks import ClusterVersion
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import CheckNeed, Unknown
from kubectl_eksdoc.model.machines import NodeGroup
from tests.builders import a_budget, a_node, a_pod, a_workload
from tests.check.healthy import IMAGES, a_healthy_cluster, a_program, healthy, with_aws

NEW = "v1.33.1-eks-1b3e656"
AL2 = "Amazon Linux 2"
AL2023 = "Amazon Linux 2023.7.20250609"


def titles(facts: CheckFacts, *phases: Phase) -> list[str]:
    return [each.title for each in build_checklist(facts) if not phases or each.phase in phases]


def the_step(facts: CheckFacts, begins: str) -> UpgradeStep:
    (found,) = (each for each in build_checklist(facts) if each.title.startswith(begins))
    return found


def of_kube_proxy(facts: CheckFacts) -> list[UpgradeStep]:
    return [each for each in build_checklist(facts) if "kube-proxy" in each.title]


def with_nodes(*nodes: Any, target: str = "1.34", **more: Any) -> CheckFacts:
    return healthy(target, cluster=a_healthy_cluster(nodes=list(nodes), **more))


def karpenters(name: str = "k-0") -> Any:
    return a_node(name, group="", version=NEW, os_image=AL2023, labels={"karpenter.sh/nodepool": "general"})


def offered(name: str, *versions: tuple[str, str]) -> AddonVersions:
    """``("v2", "1.33 1.34*")``: the newest first; * is EKS's default."""
    made = [
        AddonVersion(version, tuple(CompatibleVersion(fit.rstrip("*"), fit.endswith("*")) for fit in fits.split()))
        for version, fits in versions
    ]
    return AddonVersions(name, "networking", "eks", tuple(made))


def with_addon(target: str, name: str, have: str, *versions: tuple[str, str]) -> CheckFacts:
    told = {"addons": (Addon(name, have, "ACTIVE"),), "addon_versions": {name: offered(name, *versions)}}
    return with_aws(healthy(target), **told)


def test_every_minor_is_a_step_of_its_own_looked_at_before_and_left_to_run_after() -> None:
    found = titles(healthy("1.35"))
    marks = [
        each
        for each in found
        if each.startswith(("Check that nothing blocks 1", "Look", "Upgrade the control plane", "Let it run"))
    ]
    assert [each.split(" for some days")[0] for each in marks] == [
        "Check that nothing blocks 1.34",
        "Upgrade the control plane to 1.34",
        "Let it run with 1.34",
        "Look again before 1.35",
        "Upgrade the control plane to 1.35",
        "Let it run with 1.35",
    ]


def test_a_version_that_eks_does_not_offer_has_no_command() -> None:
    listed = tuple(ClusterVersion(each, "STANDARD_SUPPORT", False) for each in ("1.33", "1.34"))
    told = with_aws(healthy("1.35"), versions=listed)
    assert the_step(told, "Upgrade the control plane to 1.34").commands
    later = the_step(told, "Upgrade the control plane to 1.35")
    assert later.why.startswith("EKS does not offer 1.35") and later.commands == () == later.forms
    not_listed = with_aws(healthy("1.35"), versions=Unknown("denied"))
    assert the_step(not_listed, "Upgrade the control plane to 1.35").commands


def test_an_addon_that_fits_both_sides_only_in_another_version_goes_before_the_control_plane() -> None:
    facts = with_addon("1.34", "coredns", "v1", ("v3", "1.34*"), ("v2", "1.33 1.34"), ("v1", "1.33*"))
    assert "Update add-on coredns to v2" in titles(facts, Phase.BEFORE_CONTROL_PLANE)
    assert not [each for each in titles(facts, Phase.AFTER_CONTROL_PLANE) if "coredns" in each]


def test_an_addon_without_a_version_for_both_sides_goes_after_it() -> None:
    facts = with_addon("1.34", "coredns", "v1", ("v3", "1.34*"), ("v1", "1.33*"))
    step = the_step(facts, "Update add-on coredns")
    assert (step.phase, step.title) == (Phase.AFTER_CONTROL_PLANE, "Update add-on coredns to v3")
    assert "none for both 1.33 and 1.34" in step.why


def test_kube_proxy_follows_each_minor_and_does_not_go_before_one_that_serves_it() -> None:
    facts = with_addon("1.35", "kube-proxy", "v1.33", ("v1.35", "1.34 1.35*"), ("v1.34", "1.33 1.34*"))
    found = of_kube_proxy(facts)
    assert [(each.phase, each.title) for each in found] == [
        (Phase.AFTER_CONTROL_PLANE, "Update add-on kube-proxy to v1.34"),
        (Phase.AFTER_CONTROL_PLANE, "Update add-on kube-proxy to v1.35"),
    ]


def test_kube_proxy_that_the_next_minor_would_not_serve_is_brought_to_the_control_planes_first() -> None:
    versions = ("v1.34.1", "1.34*"), ("v1.33.2", "1.33*"), ("v1.30.0", "1.30*")
    facts = with_addon("1.34", "kube-proxy", "v1.30.0", *versions)
    found = of_kube_proxy(facts)
    assert [(each.phase, each.title) for each in found] == [
        (Phase.BEFORE_CONTROL_PLANE, "Update add-on kube-proxy to v1.33.2"),
        (Phase.AFTER_CONTROL_PLANE, "Update add-on kube-proxy to v1.34.1"),
    ]
    assert found[0].why == "once the control plane has 1.34, kube-proxy (1.30) is 4 minors behind, 3 are allowed"
    untold = with_addon("1.34", "kube-proxy", "v1.30.0", ("v1.34.1", "1.34*"))
    assert "Update add-on kube-proxy to its version for 1.33" in titles(untold, Phase.BEFORE_CONTROL_PLANE)


def test_after_the_control_plane_kube_proxy_vpc_cni_and_coredns_come_in_this_order() -> None:
    names = ("coredns", "aws-ebs-csi-driver", "vpc-cni", "kube-proxy")
    told = {name: offered(name, ("v1.34.0", "1.34*"), ("v1.33.0", "1.33*")) for name in names}
    facts = with_aws(healthy(), addons=tuple(Addon(n, "v1.33.0", "ACTIVE") for n in names), addon_versions=told)
    found = [each.split()[2] for each in titles(facts, Phase.AFTER_CONTROL_PLANE) if each.startswith("Update add-on")]
    assert found == ["kube-proxy", "vpc-cni", "coredns", "aws-ebs-csi-driver"]
    why = the_step(facts, "Update add-on kube-proxy").why
    assert "The EKS user guide updates nodes first, and the policy allows both" in why, "where this order differs"


def test_vpc_cni_goes_by_every_minor() -> None:
    facts = with_addon(
        "1.34", "vpc-cni", "v1.18.0", ("v1.20.0", "1.33 1.34*"), ("v1.19.2", "1.33"), ("v1.18.0", "1.33")
    )
    step = the_step(facts, "Update add-on vpc-cni")
    assert [each for each in step.commands if "--apply" not in each] == [
        "kubectl eksdoc addon-diff vpc-cni --to v1.19.2",
        "kubectl eksdoc addon-diff vpc-cni --to v1.20.0",
    ]
    (form,) = step.forms
    assert 'addon_version = "v1.19.2", then "v1.20.0" in its' in form.text and "apply each before the next" in form.text
    (form,) = the_step(with_addon("1.34", "coredns", "v1", ("v2", "1.33 1.34"), ("v1", "1.33*")), "Update add-on").forms
    assert "apply each" not in form.text


def test_versions_that_nobody_tells_are_asked_for_in_the_step() -> None:
    told = {"addons": (Addon("coredns", "v1", "ACTIVE"),), "addon_versions": {"coredns": Unknown("no", "eks:X")}}
    step = the_step(with_aws(healthy(), **told), "Update add-on coredns")
    asked = "aws eks describe-addon-versions --addon-name coredns --kubernetes-version 1.34 --region eu-west-1"
    assert step.commands == (asked,)


@pytest.mark.parametrize(
    ("name", "image", "phase"),
    [
        ("Karpenter", "public.ecr.aws/karpenter/controller:1.5.0", Phase.BEFORE_CONTROL_PLANE),  # not made for 1.34
        ("cluster-autoscaler", "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0", Phase.AFTER_CONTROL_PLANE),
    ],
)
def test_a_program_goes_before_a_minor_that_it_is_not_made_for_or_follows(name: str, image: str, phase: Phase) -> None:
    cluster = a_healthy_cluster()
    cluster = replace(cluster, pods=(*cluster.pods, a_program(f"{name.lower()}-0", image)))
    step = the_step(healthy(cluster=cluster), f"Update {name}")
    assert step.phase is phase and step.source is not None


def test_a_cluster_autoscaler_that_a_step_scales_to_nothing_gets_its_replicas_back() -> None:
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0"
    owner, replicated = "Deployment/cluster-autoscaler", "ReplicaSet/cluster-autoscaler-1"
    cluster = a_healthy_cluster(
        nodes=[a_node("a", version="v1.33.1-eks-1", os_image=AL2023)],
        pods=[a_program("cluster-autoscaler-0", image, replicated, node="a")],
        workloads=[
            a_workload(owner, "kube-system", replicas=3),
            a_workload(replicated, "kube-system", replicas=3, owner=owner),
        ],
    )
    steps = build_checklist(healthy(cluster=cluster))
    scaled = [(each.title.split()[0], command) for each in steps for command in each.commands if " scale " in command]
    scale = "kubectl scale deployment cluster-autoscaler -n kube-system --replicas="
    assert scaled == [("Keep", f"{scale}0"), ("Give", f"{scale}3")]
    groups = [at for at, each in enumerate(steps) if each.title.startswith("Update group")]
    back = next(at for at, each in enumerate(steps) if each.title.startswith("Give the Cluster Autoscaler"))
    assert groups and max(groups) < back


def test_nodes_that_are_too_old_for_a_step_go_before_it_to_the_version_before() -> None:
    facts = with_nodes(a_node("a", version="v1.31.0-eks-1", os_image=AL2023), target="1.35")
    (step,) = (
        each for each in build_checklist(facts) if each.phase is Phase.BEFORE_CONTROL_PLANE and "group" in each.title
    )
    assert step.title == "Update group blue in place to 1.34"
    assert step.why.startswith("once the control plane has 1.35")


def test_a_group_with_some_nodes_of_amazon_linux_2_is_not_updated_in_place() -> None:
    """Its amiType may still be AL2, and then EKS has no AMI for it."""
    mixed = [a_node("a", version="v1.32.1-eks-1", os_image=AL2), a_node("b", version=NEW, os_image=AL2023)]
    why = the_step(with_nodes(*mixed), "Make a new group beside blue").why
    assert "Amazon Linux 2" in why and "AWS CLI 2" in why


def test_programs_that_eks_does_not_manage_follow_in_the_order_of_add_ons() -> None:
    images = (("a-coredns", "coredns:v1.11.4-eksbuild.2", "ReplicaSet/coredns-1"),)
    more = [a_program(name, f"{IMAGES}/eks/{image}", owner) for name, image, owner in images]
    facts = with_aws(with_nodes(a_node("n", version=NEW), pods=[*more, *a_healthy_cluster().pods]), addons=())
    found = [each.title.split()[1] for each in build_checklist(facts) if each.phase is Phase.AFTER_CONTROL_PLANE]
    assert [each for each in found if each in ("kube-proxy", "vpc-cni", "coredns")] == [
        "kube-proxy",
        "vpc-cni",
        "coredns",
    ]


def test_a_budget_that_lets_nobody_go_makes_a_new_group_of_an_update_in_place() -> None:
    stuck = Finding(
        Code.of("budget-never-allows"),
        Severity.HIGH,
        Status.FAIL,
        Subject("PodDisruptionBudget", "web", "default"),
        "never",
    )
    node = a_node("a", version=NEW, os_image=AL2023)
    budget: Budget = a_budget("web", allowed=0)
    facts = with_nodes(node, pods=[a_pod(node="a")], budgets=[budget])
    facts = replace(facts, command_findings={**facts.command_findings, CheckNeed.PLAN_DRAIN: (stuck,)})
    step = the_step(facts, "Make a new group beside blue")
    assert "15 minutes" in step.why
    assert "default/web" in step.why


def test_a_group_of_which_the_ami_is_not_known_is_not_said_to_go_in_place() -> None:
    mixed = (a_node("a", version=NEW, os_image="Bottlerocket OS 1.42"), a_node("b", version=NEW, os_image=AL2023))
    assert titles(with_nodes(*mixed), Phase.NODES)[-1] == "Update group blue to 1.34, in place if its AMI allows it"


def test_what_eks_tells_of_a_group_goes_before_what_its_nodes_look_like() -> None:
    facts = with_nodes(a_node("a", version=NEW, os_image=AL2023))
    told = with_aws(facts, node_groups={"blue": NodeGroup("blue", "CUSTOM")})
    assert the_step(told, "Give the launch template of group blue").commands
    old = with_aws(facts, node_groups={"blue": NodeGroup("blue", "AL2_x86_64")})
    assert the_step(old, "Make a new group beside blue")


def test_karpenter_is_held_back_before_the_control_plane_and_let_go_at_the_end() -> None:
    facts = with_nodes(karpenters())
    held = the_step(facts, "Hold Karpenter back")
    let_go = the_step(facts, "Let Karpenter replace the nodes of NodePool general")
    update = the_step(facts, "Upgrade the control plane")
    assert held.number < update.number < let_go.number
    assert '"nodes": "0"' in held.commands[1]
    assert held.commands[0].startswith("kubectl get nodepool general -o yaml >") and "not hold expiry" in held.why


def pooled(ami: str) -> CheckFacts:
    """A node of a pool whose class selects that AMI."""
    classes = [NodeClass("default", amis=(ami,))]
    return with_nodes(karpenters(), node_pools=[NodePool("general", node_class="default")], node_classes=classes)


def test_amis_are_pinned_by_id_as_no_budget_holds_expiry() -> None:
    facts = pooled("alias=al2023@latest")
    pinned, back = the_step(facts, "Pin the AMIs of EC2NodeClass default"), the_step(facts, "Let Karpenter replace")
    assert "expireAfter" in pinned.why and not any("budgets" in each for each in pinned.commands)
    assert pinned.commands[1].endswith("-o 'jsonpath={.items[*].status.imageID}'")
    assert back.commands == (
        "kubectl patch ec2nodeclass default --type merge -p "
        """'{"spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]}}'""",
    )
    of_one_release = the_step(pooled("alias=al2023@v20250610"), "Pin the AMIs").why
    gone = "no new node comes once the control plane has it"
    assert gone in of_one_release and gone not in pinned.why


def test_amis_that_karpenter_is_told_by_id_are_changed_and_need_no_holding() -> None:
    facts = pooled("id=ami-1")
    assert "ami-1" in the_step(facts, "Name AMIs of 1.34 in EC2NodeClass default").why
    old = a_node("k", group="", version=NEW, labels={"karpenter.sh/provisioner-name": "default"})
    of_a_provisioner = with_nodes(old)
    assert the_step(of_a_provisioner, "Let Karpenter replace the nodes of NodePool default")
    for each in (facts, of_a_provisioner):  # which has no budgets
        assert not [title for title in titles(each) if title.startswith("Hold")]


@pytest.mark.parametrize(
    ("labels", "begins"),
    [
        ({"eks.amazonaws.com/compute-type": "auto"}, "Let EKS Auto Mode"),
        ({"eks.amazonaws.com/compute-type": "hybrid"}, "Upgrade 1 hybrid node"),
        ({"alpha.eksctl.io/nodegroup-name": "old"}, "Make a new group with eksctl beside old"),
        ({}, "Replace 1 self-managed node"),
    ],
)
def test_whoever_makes_nodes_has_a_step(labels: dict[str, str], begins: str) -> None:
    assert the_step(with_nodes(a_node("n", group="", version=NEW, labels=labels)), begins).phase is Phase.NODES


def test_pods_on_fargate_go_before_a_step_that_their_kubelets_are_too_old_for() -> None:
    node = a_node("f", group="", version="v1.32.1-eks-1", labels={"eks.amazonaws.com/compute-type": "fargate"})
    pod = a_pod("web-1", node="f", owner="ReplicaSet/web-5d8f")
    steps = build_checklist(with_nodes(node, pods=[pod], target="1.36"))
    early, late = (each for each in steps if each.title.startswith("Restart the owners of 1 pod on Fargate"))
    assert (early.phase, early.done_when) == (Phase.BEFORE_CONTROL_PLANE, "every Fargate node has 1.35")
    assert early.why.startswith("once the control plane has 1.36, ")
    upgrade = next(each for each in steps if each.title == "Upgrade the control plane to 1.36")
    assert early.number < upgrade.number < late.number
    assert late.done_when == "every Fargate node has 1.36"


def test_nodes_that_are_there_need_no_step() -> None:
    assert titles(with_nodes(a_node("a", version="v1.34.0-eks-1")), Phase.NODES) == []


def test_a_control_plane_at_its_target_leaves_what_is_to_follow() -> None:
    facts = replace(healthy("1.33"), cluster=a_healthy_cluster(nodes=[a_node("a", version="v1.32.0")]))
    assert not [each for each in build_checklist(facts) if each.phase is Phase.CONTROL_PLANE]
    assert titles(facts, Phase.NODES)


def test_what_nobody_tells_of_the_cluster_is_to_be_filled_in() -> None:
    facts = with_nodes(a_node("n", group="", labels={"alpha.eksctl.io/nodegroup-name": "old"}), a_node("m", group=""))
    cluster = replace(facts.cluster, identity=Identity())
    text = "\n".join(
        c for each in build_checklist(replace(facts, eks=Unknown("x"), cluster=cluster)) for c in each.commands
    )
    assert "--cluster-name NAME-OF-THE-CLUSTER" in text and "--cluster NAME-OF-THE-CLUSTER" in text
    assert "''" not in text and "--region" not in text


def test_what_drains_is_told_as_it_is_done_on_a_live_cluster() -> None:
    facts = with_nodes(a_node("a", version="v1.32.1-eks-1", os_image=AL2), target="1.34")
    commands = [each for step in build_checklist(facts, CommandTarget(("--snapshot", "x"))) for each in step.commands]
    assert "kubectl eksdoc drain plan --nodegroup blue --snapshot x" in commands
    assert "kubectl eksdoc drain run --nodegroup blue" in commands
    of_the_demo = [each for step in build_checklist(facts, CommandTarget(("--demo",))) for each in step.commands]
    assert "kubectl eksdoc rehearse --nodegroup blue --demo" in of_the_demo


def test_a_step_of_nodes_does_not_wait_for_what_it_mends() -> None:
    behind = found_at(Gate.AFTER, "nodes-behind", Subject("Nodegroup", "blue"))
    held = found_at(Gate.BEFORE_NODES, "node-slow", Subject("NodeGroup", "blue"))
    plan = plan_check(with_nodes(a_node("a", version=NEW, os_image=AL2023)), [behind, held], CheckScope())
    (step,) = (each for each in plan.checklist if each.title.startswith("Update group blue"))
    assert [each.code.name for each in plan.blocking_findings(step)] == ["node-slow"]


def found_at(gate: Gate | None, code: str, subject: Subject) -> UpgradeCheck:
    finding = Finding(Code.of(code), Severity.HIGH, Status.FAIL, subject, "bad")
    return UpgradeCheck((finding.code,), Area.ADDONS, gate, lambda _: [finding])


def test_the_first_step_waits_for_what_is_found_before_the_control_plane() -> None:
    check = found_at(Gate.BEFORE_CONTROL_PLANE, "program-before-control-plane", Subject("Deployment", "x", "y"))
    plan = plan_check(healthy("1.35"), [check], CheckScope())
    waiting = {each.title: len(plan.blocking_findings(each)) for each in plan.checklist}
    assert waiting["Check that nothing blocks 1.34"] == 1
    assert waiting["Look again before 1.35"] == 0


def test_the_update_of_an_addon_waits_for_what_is_wrong_with_it_alone() -> None:
    facts = with_addon("1.34", "coredns", "v1", ("v2", "1.33 1.34"), ("v1", "1.33*"))
    checks = [
        found_at(Gate.BEFORE_CONTROL_PLANE, "check-addon-health", Subject("Addon", "coredns")),
        found_at(Gate.BEFORE_CONTROL_PLANE, "check-addon-health", Subject("Addon", "vpc-cni")),
    ]
    plan = plan_check(facts, checks, CheckScope())
    (step,) = (each for each in plan.checklist if each.title.startswith("Update add-on coredns"))
    assert [each.subject.name for each in plan.blocking_findings(step)] == ["coredns"]


def test_of_a_part_no_checklist_is_made() -> None:
    assert plan_check(healthy(), [], CheckScope(gate=Gate.AFTER)).checklist == ()
    assert plan_check(healthy(), [], CheckScope(only=frozenset(["kubelet-skew"]))).checklist == ()


def test_kube_proxy_that_eks_does_not_manage_is_brought_to_the_control_planes_first_too() -> None:
    old = a_program("kube-proxy-0", f"{IMAGES}/eks/kube-proxy:v1.30.0", "DaemonSet/kube-proxy")
    facts = with_aws(with_nodes(a_node("n", version=NEW), pods=[old]), addons=())
    found = of_kube_proxy(facts)
    assert [(each.phase, each.title) for each in found] == [
        (Phase.BEFORE_CONTROL_PLANE, "Update kube-proxy (DaemonSet kube-system/kube-proxy) to 1.33 or newer"),
        (Phase.AFTER_CONTROL_PLANE, "Update kube-proxy (DaemonSet kube-system/kube-proxy) to 1.34 or newer"),
    ]
    assert found[0].why == "once the control plane has 1.34, kube-proxy (1.30) is 4 minors behind, 3 are allowed"


def test_auto_mode_begins_at_once_so_its_nodes_are_looked_at_before() -> None:
    auto = a_node("n", group="", version=NEW, labels={"eks.amazonaws.com/compute-type": "auto"})
    assert phases_of_looks(auto) == [Phase.BEFORE_CONTROL_PLANE], "once: there is nothing between"
    own = a_node("own", group="blue", version=NEW)
    assert phases_of_looks(auto, own) == [Phase.BEFORE_CONTROL_PLANE, Phase.NODES]
    waiting = [
        each for each in build_checklist(with_nodes(auto, own)) if each.gate is Gate.BEFORE_NODES and not each.about
    ]
    assert [each.phase for each in waiting] == [Phase.BEFORE_CONTROL_PLANE], "findings are counted once"


def test_a_drain_is_rehearsed_where_there_are_nodes_that_a_drain_takes() -> None:
    auto = a_node("n", group="", version=NEW, labels={"eks.amazonaws.com/compute-type": "auto"})
    rehearsed = "Rehearse the replacement of the nodes"
    assert rehearsed not in titles(with_nodes(auto)), "rehearse leaves nodes of Auto Mode to EKS, and would exit with 1"
    assert rehearsed in titles(with_nodes(auto, a_node("own", group="blue", version=NEW)))


def phases_of_looks(*nodes: Any) -> list[Phase]:
    """The phase of the step that checks what blocks the replacement of nodes."""
    looks = ("Check that nothing blocks the replacement", "Look again before nodes")
    return [each.phase for each in build_checklist(with_nodes(*nodes)) if each.title.startswith(looks)]
