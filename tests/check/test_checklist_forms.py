"""Each step is in the form of the tool that manages the resource, by tags and labels: awscli alone would cause
drift."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.check.checking import CheckFacts
from kubectl_eksdoc.check.node_steps import build_checklist
from kubectl_eksdoc.check.step_forms import StepForm
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.machines import NodeGroup, TemplateRef, manager_tags
from tests.builders import a_node
from tests.check.healthy import a_healthy_cluster, healthy, with_aws
from tests.check.test_checklist import AL2, AL2023, offered

OF_EKSCTL = {
    "alpha.eksctl.io/cluster-name": "prod",
    "alpha.eksctl.io/eksctl-version": "0.210.0",
    "aws:cloudformation:stack-name": "eksctl-prod-cluster",
    "eksctl.cluster.k8s.io/v1alpha1/cluster-name": "prod",
}
OF_TERRAFORM = {"managed-by": "terraform", "team": "platform"}
OF_A_STACK = {"aws:cloudformation:stack-name": "platform-eks"}
APPLIED = ("terraform plan -out=upgrade.tfplan", "terraform apply upgrade.tfplan")
CONTROL_PLANE, COREDNS, GROUP = "Upgrade the control plane to 1.34", "Update add-on coredns", "group blue"
_MAKES_DRIFT = re.compile(r"aws \S+ (?:create|update|delete|terminate|modify)-|addon-diff .* --apply")


def tags(of: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(of.items()))


def facts(
    cluster: dict[str, str] | None = None,
    group: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    os_image: str = AL2023,
    **more: Any,
) -> CheckFacts:
    """One group, blue, and a CoreDNS that is too old for 1.34. `cluster`, `group`: their tags; `labels`: of the
    node."""
    told = {"eks.amazonaws.com/nodegroup": "blue", **(labels or {})}
    node = a_node("a", version="v1.33.1", labels=told, os_image=os_image)
    found = healthy(cluster=a_healthy_cluster(nodes=[node]))
    assert isinstance(found.eks, EksCluster)
    blue = NodeGroup("blue", "AL2023_x86_64_STANDARD", version="1.33", tags=tags(group or {}), **more)
    return with_aws(
        replace(found, eks=replace(found.eks, tags=tags(cluster or {}))),
        node_groups={"blue": blue} if os_image == AL2023 else {},
        addons=(Addon("coredns", "v1", "ACTIVE"),),
        addon_versions={"coredns": offered("coredns", ("v2", "1.34*"), ("v1", "1.33*"))},
    )


def forms(of: CheckFacts, title: str) -> dict[str, StepForm]:
    (found,) = (each.forms for each in build_checklist(of) if title in each.title)
    return {each.tool: each for each in found}


LABELLED = {"alpha.eksctl.io/nodegroup-name": "blue", "alpha.eksctl.io/cluster-name": "prod"}


def test_what_eksctl_made_is_upgraded_by_eksctl() -> None:
    """awscli does not update the CloudFormation stacks of eksctl."""
    of = facts(OF_EKSCTL, {"alpha.eksctl.io/nodegroup-name": "blue", **OF_A_STACK}, LABELLED)
    at = "--cluster prod --region eu-west-1"
    plane, addon, group = (forms(of, title) for title in (CONTROL_PLANE, COREDNS, GROUP))
    assert plane["eksctl"].commands == (
        "eksctl upgrade cluster --name prod --region eu-west-1 --approve --version 1.34",
    )
    assert addon["eksctl"].commands == (f"eksctl update addon {at} --name coredns --version v2 --wait",)
    assert group["eksctl"].commands == (f"eksctl upgrade nodegroup {at} --name blue --kubernetes-version 1.34",)
    assert plane.keys() == group.keys() == {"eksctl"}, "its stacks are its own affair, and Terraform has none of it"


def test_what_is_tagged_for_terraform_is_set_there() -> None:
    of = facts(OF_TERRAFORM, OF_TERRAFORM)
    plane, addon, group = (forms(of, title) for title in (CONTROL_PLANE, COREDNS, GROUP))
    assert plane.keys() == addon.keys() == group.keys() == {"Terraform"}
    assert all(each["Terraform"].commands == APPLIED for each in (plane, addon, group))
    assert all(each["Terraform"].text.startswith("It is tagged managed-by=terraform. ") for each in (plane, group))
    assert 'version = "1.34" in its aws_eks_cluster' in plane["Terraform"].text
    assert 'version = "1.34" in its aws_eks_node_group' in group["Terraform"].text
    assert 'addon_version = "v2" in its aws_eks_addon' in addon["Terraform"].text


@pytest.mark.parametrize(
    ("of", "cluster", "group"),
    [
        (facts(OF_TERRAFORM, {}, LABELLED), {"Terraform"}, {"eksctl"}),  # eksctl adds groups to clusters of others
        (facts({}, {}, LABELLED), {"eksctl", "Terraform"}, {"eksctl"}),
        (facts(), {"Terraform"}, {"Terraform"}),
    ],
)
def test_whose_forms_there_are(of: CheckFacts, cluster: set[str], group: set[str]) -> None:
    assert (set(forms(of, CONTROL_PLANE)), set(forms(of, GROUP))) == (cluster, group)


def test_what_another_stack_made_is_set_in_its_template() -> None:
    of = facts(OF_A_STACK, {"aws:cloudformation:stack-name": "platform-blue"})
    for title, stack in ((CONTROL_PLANE, "platform-eks"), (COREDNS, "platform-eks"), (GROUP, "platform-blue")):
        (form,) = forms(of, title).values()
        assert form.tool == "CloudFormation" and form.text.startswith(f"Stack {stack} made it: change it in the")


@pytest.mark.parametrize("by", [{}, OF_TERRAFORM, OF_EKSCTL, OF_A_STACK])
@pytest.mark.parametrize(
    "way",
    [
        {},
        {"os_image": AL2},
        {"template": TemplateRef("lt-1", version="3")},
        {"labels": LABELLED},
        {"labels": {**LABELLED, "eks.amazonaws.com/nodegroup": "blue"}, "os_image": AL2},
    ],
)
def test_no_step_changes_aws_by_awscli_alone(by: dict[str, str], way: dict[str, Any]) -> None:
    steps = build_checklist(facts(by, by, **way))
    changing = [each for each in steps if any(map(_MAKES_DRIFT.search, each.commands))]
    assert len(changing) >= 3
    assert [each.title for each in changing if not each.forms] == []


RECORD = json.loads((Path(__file__).parents[1] / "data" / "commands.json").read_text(encoding="utf-8"))
_NAMED = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b|\b\w+(?= =)|\baddons(?=\[)")
WAYS: tuple[dict[str, Any], ...] = ({}, {"os_image": AL2}, {"os_image": "Ubuntu 22.04.5 LTS"})
"""In place, by a new group, by the launch template."""


def misnamed(text: str) -> list[str]:
    """Arguments and resources of a form that are not in the recorded schema of the provider or module."""
    module = RECORD["modules"]["terraform-aws-modules/eks"]
    own, _, of_module = text.partition("(terraform-aws-modules/eks: ")
    resources = RECORD["terraform"]["resources"]
    known = {*resources, *(each for name in {*re.findall(r"aws_\w+", own)} & {*resources} for each in resources[name])}
    wrong = [each for each in _NAMED.findall(own) if each not in known]
    new, renamed, old = of_module.partition(")")[0].partition("before v21 ")
    before, _, both = old.partition(",") if "," in old else old.partition(";")
    for version, said in (("21", new), ("20", before if renamed else new), ("21", both), ("20", both)):
        inputs = {*module[version]["inputs"], *module[version]["of_groups"], *module[version]["of_addons"]}
        wrong += [f"{version}: {each}" for each in _NAMED.findall(said) if each not in inputs]
    return wrong


def test_each_name_of_terraform_is_the_providers_and_the_modules() -> None:
    node = a_node("a", version="v1.33.1", group="", os_image=AL2023)
    clusters = [*(facts(**way) for way in WAYS), healthy(cluster=a_healthy_cluster(nodes=[node]))]
    steps = [step for each in clusters for step in build_checklist(each)]
    texts = {form.text for step in steps for form in step.forms if form.tool == "Terraform"}
    assert len(texts) == 6 and all("terraform-aws-modules/eks: " in each for each in texts)
    assert {each: wrong for each in texts if (wrong := misnamed(each))} == {}


def test_a_new_group_is_declared_drained_and_taken_out() -> None:
    """AL2 has no AMI for 1.34."""
    of = forms(facts(OF_TERRAFORM, os_image=AL2), "beside blue")["Terraform"]
    assert of.commands[:2] == of.commands[-2:] == APPLIED
    assert [each.split()[3] for each in of.commands[2:-2]] == ["plan", "run"]
    made = forms(facts(OF_EKSCTL, labels=LABELLED, os_image=AL2), "beside blue")["eksctl"].commands
    assert [each.split()[1] for each in made] == ["create", "eksdoc", "eksdoc", "delete"]


@pytest.mark.parametrize(
    ("told", "tools"),
    [
        ({"Terraform": "true"}, {"Terraform": "Terraform=true"}),
        ({"terraform": "false"}, {}),
        ({"GithubRepo": "terraform-aws-eks"}, {"Terraform": "GithubRepo=terraform-aws-eks"}),
        (OF_A_STACK, {"CloudFormation": "platform-eks"}),
        ({"alpha.eksctl.io/nodegroup-name": "a", **OF_A_STACK}, {"eksctl": "alpha.eksctl.io/nodegroup-name=a"}),
    ],
)
def test_a_tag_names_the_tool(told: dict[str, str], tools: dict[str, str]) -> None:
    assert manager_tags(tags(told)) == tools
