"""What pods themselves are given: a role, what their program looks for, or a new start."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

from kubectl_eksdoc.amazon.metadata_service import POD
from kubectl_eksdoc.imds_probe.affected import JudgedPods, PodEvidence
from kubectl_eksdoc.imds_probe.fixes.chooser import choices
from kubectl_eksdoc.imds_probe.fixes.fix import CONTROLLER_FLAGS, OWN_ROLE, RESTART_PODS, FixOptions
from kubectl_eksdoc.imds_probe.plan import plan_metadata
from kubectl_eksdoc.imds_probe.programs import ContainerCommand
from kubectl_eksdoc.imds_probe.sources import nodes_alike
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import PodIdentity
from kubectl_eksdoc.model.nodes import Calls, Pod
from tests.builders import NOW, a_pod
from tests.imds_probe.fixes.nodes_of_all_kinds import cloud

LBC = "public.ecr.aws/eks/aws-load-balancer-controller:v2.8.1"
NONE: frozenset[PodIdentity] = frozenset()


def controller(name: str = "aws-load-balancer-controller", image: str = LBC, owner: str = "ReplicaSet/{}-5d9f8") -> Pod:
    calls = Calls(service_account=name, images=(image,))
    labels = {"pod-template-hash": "5d9f8"}
    return a_pod(
        f"{name}-5d9f8-x", "kube-system", node="n0", calls=calls, labels=labels, owner=owner.format(name), ready=True
    )


def chosen(
    *pods: Pod,
    started: ContainerCommand | None = None,
    identities: frozenset[PodIdentity] | Unknown = NONE,
    kind: str = "managed",
    vpc: str = "vpc-1",
) -> FixOptions:
    of = cloud(kind)
    of.pods = pods
    of.inside = {pod.key: PodEvidence(started) for pod in pods}
    facts = of.facts()
    (alike,) = nodes_alike(facts)
    judged = JudgedPods(alike.here, alike.later, identities, NOW)
    found = [judged.affected(pod, PodEvidence(started)) for pod in pods]
    return choices(alike, facts, POD, [each for each in found if each is not None], vpc)


def test_the_load_balancer_controller_is_told_region_and_vpc() -> None:
    found = chosen(controller(), started=ContainerCommand(("--cluster-name=prod",)))
    flags = found.named(CONTROLLER_FLAGS)
    assert flags is not None and flags.when is When.NOW and flags.blast.size == (0, 1, 0)
    (patch,) = flags.commands
    test, *adds = json.loads(shlex.split(patch)[-1])
    assert test == {"op": "test", "path": "/spec/template/spec/containers/0/image", "value": LBC}
    assert [each["value"] for each in adds] == ["--aws-region=eu-west-1", "--aws-vpc-id=vpc-1"]
    assert flags.back == ("kubectl rollout undo deployment aws-load-balancer-controller -n kube-system --context prod",)
    role = found.named(OWN_ROLE)
    assert role is not None and [each.name for each in found.fixes][-1] == "new-group"


def test_where_variables_do_it_they_are_set() -> None:
    found = chosen(controller(), started=ContainerCommand(("--aws-vpc-id=vpc-1",))).named(CONTROLLER_FLAGS)
    assert found is not None and found.commands == (
        "kubectl set env deployment/aws-load-balancer-controller -n kube-system --context prod AWS_REGION=eu-west-1",
    )


def test_what_it_was_given_is_not_given_again() -> None:
    found = chosen(controller(), started=ContainerCommand(("--aws-region=eu-west-1", "--aws-vpc-id=vpc-1")))
    assert found.named(CONTROLLER_FLAGS) is None and found.named(OWN_ROLE) is not None


def test_a_vpc_that_is_not_known_makes_no_line() -> None:
    assert chosen(controller(), started=ContainerCommand(), vpc="").named(CONTROLLER_FLAGS) is None


def test_a_role_by_pod_identity_with_its_agent_and_back() -> None:
    scaler = controller("cluster-autoscaler", "registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.0")
    fix = chosen(scaler, started=ContainerCommand(("--cloud-provider=aws",))).named(OWN_ROLE)
    assert fix is not None and fix.when is When.LATER
    agent, role, associate, restart = fix.commands
    assert "create-addon" in agent and "eks-pod-identity-agent" in agent
    assert role.startswith("ROLE=$(aws iam create-role --role-name prod-kube-system-cluster-autoscaler")
    assert "pods.eks.amazonaws.com" in role
    assert "--service-account cluster-autoscaler" in associate and associate.endswith('--role-arn "$ROLE"')
    assert restart == "kubectl rollout restart deployment cluster-autoscaler -n kube-system --context prod"
    assert "delete-pod-identity-association" in fix.back[0]
    assert any("attach-role-policy" in each for each in fix.cautions)


def test_where_the_agent_runs_it_is_not_made_again() -> None:
    agent = controller("agent", "public.ecr.aws/eks/eks-pod-identity-agent:v1", owner="DaemonSet/agent")
    found = chosen(controller(), agent, started=ContainerCommand()).named(OWN_ROLE)
    assert found is not None and not any("create-addon" in line for line in found.commands)


def test_a_role_that_came_after_the_start_needs_a_restart_alone() -> None:
    known = frozenset({PodIdentity("kube-system", "aws-load-balancer-controller")})
    found = chosen(controller(), started=ContainerCommand(), identities=known)
    again = found.named(RESTART_PODS)
    assert again is not None and again.commands == (
        "kubectl rollout restart deployment aws-load-balancer-controller -n kube-system --context prod",
    )
    assert found.named(OWN_ROLE) is None


def test_auto_mode_leaves_the_pods_own_ways() -> None:
    found = chosen(controller(), started=ContainerCommand(), kind="auto")
    assert [each.name for each in found.fixes] == [CONTROLLER_FLAGS, OWN_ROLE] and found.cannot


def test_of_merely_possible_ones_nobody_knows_what_they_need() -> None:
    assert chosen(a_pod("web", node="n0", calls=Calls(images=("nginx",)))).named(OWN_ROLE) is None


def test_fargate_has_irsa_and_no_pod_identity() -> None:
    found = chosen(controller(), started=ContainerCommand(), kind="fargate").named(OWN_ROLE)
    assert found is not None and not any("pod-identity" in line for line in (*found.commands, *found.back))
    provider, role, annotate, restart = found.commands
    assert provider == "eksctl utils associate-iam-oidc-provider --cluster prod --region eu-west-1 --approve"
    assert "--role-only" in role and role.endswith('--attach-policy-arn "${POLICY_ARN:?}"')
    assert annotate.startswith("kubectl annotate serviceaccount aws-load-balancer-controller -n kube-system")
    assert found.back[0].endswith(" eks.amazonaws.com/role-arn-") and found.back[-1] == restart


def test_on_fargate_an_association_is_no_role() -> None:
    of = cloud("fargate", "managed")
    started = ContainerCommand(("--aws-region=eu-west-1", "--aws-vpc-id=vpc-1"))
    there = [replace(controller(), name=f"p{at}", uid=f"u{at}", node=f"n{at}") for at in (0, 1)]
    of.pods, of.inside = there, {pod.key: PodEvidence(started) for pod in there}
    facts = of.facts()
    known = frozenset({PodIdentity("kube-system", "aws-load-balancer-controller")})
    plan = plan_metadata(replace(facts, told=replace(facts.told, identities=known)), POD)
    effect = {group.alike.owner.value: [each.pod.name for each in group.affected] for group in plan.groups}
    assert effect == {"fargate": ["p0"], "managed": []}


def test_auto_mode_has_the_agent_built_in() -> None:
    found = chosen(controller(), started=ContainerCommand(), kind="auto").named(OWN_ROLE)
    assert found is not None and not any("create-addon" in line for line in found.commands)
