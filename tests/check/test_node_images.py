"""The images of nodes, according to the nodes themselves and to EKS's answer about their group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.check.checking import UpgradePath
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.eks import TemplateVersions
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.machines import TemplateRef, TemplateVersion
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, NODE_POOL
from kubectl_eksdoc.model.quantities import Version
from tests.builders import a_node
from tests.check.of_aws import DENIED, a_group, facts, find, nodes, one, text, told

ALL = ("ami-al2", "ami-al2023-moves", "ami-unknown", "cgroup-v1")
AL2 = {"os_image": "Amazon Linux 2"}
OLD = a_group(ami_type="AL2_x86_64")


@pytest.mark.parametrize("code", ALL)
def test_what_was_not_read_is_unknown(code: str) -> None:
    unread = find(facts(target="1.35", unread=[kinds.NODES], nodes=[]), code)
    assert "list nodes" in {each.missing for each in unread if each.status is Status.UNKNOWN}
    groups = find(facts(told(node_groups=DENIED), target="1.35"), code)
    assert [(each.status, each.severity, each.missing) for each in groups] == [
        (Status.UNKNOWN, Severity.LOW, "eks:Something")
    ], "nodes tell the rest"


def test_al2_beyond_its_last_version() -> None:
    found = one(facts(told(OLD), nodes=nodes(2, **AL2)), "ami-al2")
    assert found.severity is Severity.HIGH and "2 nodes have Amazon Linux 2" in found.message
    assert "2025-11-26" in text(found) and "make a new group and drain the old one" in text(found).lower()


def test_al2_of_others_than_eks() -> None:
    pool = [a_node("spot-1", group="", labels={NODE_POOL: "general"}, **AL2)]
    own = [a_node("own-1", group="", **AL2)]
    fargate = [a_node("fargate-1", group="", labels={COMPUTE_TYPE: "fargate"}, **AL2)]
    found = find(facts(nodes=[*pool, *own, *fargate]), "ami-al2")
    assert {str(each.subject) for each in found} == {"general", "self-managed"}
    assert "EC2NodeClass" in text(next(each for each in found if str(each.subject) == "general"))


def test_a_group_without_nodes_is_known_by_its_type() -> None:
    found = one(facts(told(a_group(), a_group("empty", ami_type="AL2_ARM_64"))), "ami-al2")
    assert str(found.subject) == "empty" and "it has no nodes now, and its amiType is AL2_ARM_64" in found.evidence


def test_an_al2_image_of_ones_own_gets_into_its_template() -> None:
    ref = TemplateRef("lt-1", "own", "5")
    used = TemplateVersion("lt-1", "own", 5, image="ami-own")
    group = a_group(ami_type="AL2_x86_64", template=ref)
    given = told(group, templates={ref: TemplateVersions(used, used, used)})
    assert "launch template" in text(one(facts(given, nodes=nodes(1, **AL2)), "ami-al2"))


def test_an_update_in_place_does_not_mend_amazon_linux_2_where_there_is_an_ami_of_it() -> None:
    ref = TemplateRef("lt-1", "own", "5")
    for group in (OLD, a_group(ami_type="AL2_x86_64", template=ref)):
        way = UpgradePath(Version(1, 31), Version(1, 32), (Version(1, 32),), "as a test says")
        found = one(replace(facts(told(group), nodes=nodes(1, **AL2)), path=way), "ami-al2")
        assert found.remedy[0].text == "Make new nodes of Amazon Linux 2023 or Bottlerocket, and drain these."


def test_what_al2023_brings_is_one_finding_that_points_to_the_probe() -> None:
    others = [a_node("own-1", group="", **AL2)]
    found = one(facts(told(OLD), nodes=[*nodes(2, **AL2), *others]), "ami-al2023-moves")
    assert found.remedy[0].command == "kubectl eksdoc imds-probe" and "2 groups" in found.message
    assert all(word in text(found) for word in ("IMDSv2", "cgroup v2", "vpc-cni 1.16.2", "nodeadm"))


def test_ubuntu_and_others_are_unknown_with_whom_to_ask() -> None:
    ubuntu = nodes(1, "ubuntu", os_image="Ubuntu 22.04.4 LTS")
    flatcar = nodes(1, "", os_image="Flatcar Container Linux 3975")
    found = find(facts(nodes=[*ubuntu, *flatcar]), "ami-unknown")
    assert {each.status for each in found} == {Status.UNKNOWN}
    said = {str(each.subject): text(each) for each in found}
    assert "Ask Canonical" in said["ubuntu"] and "Ask its builder" in said["self-managed"]


def test_a_system_that_nobody_knows_goes_by_the_type_of_its_group() -> None:
    odd = nodes(1, os_image="")
    assert not find(facts(nodes=odd), "ami-unknown")
    assert find(facts(told(a_group(ami_type="CUSTOM")), nodes=odd), "ami-unknown")


def test_cgroup_v1_is_refused_from_135_on() -> None:
    al2, odd = nodes(1, **AL2), nodes(1, "", os_image="Flatcar")
    assert not find(facts(told(OLD), target="1.34", nodes=[*al2, *odd]), "cgroup-v1")
    unsure, fails = find(facts(told(OLD), target="1.35", nodes=[*al2, *odd]), "cgroup-v1")
    assert (fails.status, fails.severity, str(fails.subject)) == (Status.FAIL, Severity.HIGH, "blue")
    assert "confidence: medium" in text(fails)
    assert unsure.status is Status.UNKNOWN and "stat -fc %T" in text(unsure)


@pytest.mark.parametrize("code", ALL)
@pytest.mark.parametrize("target", ["1.33", "1.34", "1.35"])
def test_nothing_is_found_of_newer_families(code: str, target: str) -> None:
    bottlerocket = nodes(1, "green", os_image="Bottlerocket OS 1.42.0 (aws-k8s-1.33)")
    windows = nodes(1, "win", os_image="Windows Server 2022 Datacenter")
    assert not find(facts(target=target, nodes=[*nodes(), *bottlerocket, *windows]), code)
