"""One node group of each kind: for each the true cause, now and for the next node, out of the answers of AWS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.aws.asking import believed
from kubectl_eksdoc.imds_probe.affected import Effect
from kubectl_eksdoc.imds_probe.plan import MetadataPlan
from kubectl_eksdoc.imds_probe.read import NEEDS, plan_imds
from kubectl_eksdoc.imds_probe.sources import NodesAlike
from kubectl_eksdoc.model import questions
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.model.questions import AwsOperation
from kubectl_eksdoc.session.aws import DemoAnswers
from tests.sessions import of_the_demo

ONE, TWO, OLD = MetadataOptions("required", 1), MetadataOptions("required", 2), MetadataOptions("optional", 2)
CUT, FREE = Reach.CUT_OFF, Reach.REACHABLE


@pytest.fixture(scope="module")
def plan() -> MetadataPlan:
    return plan_imds(of_the_demo(NEEDS))


def group(plan: MetadataPlan, owner: NodeOwner, name: str) -> NodesAlike:
    (found,) = (each.alike for each in plan.groups if (each.alike.owner, each.alike.name) == (owner, name))
    return found


KINDS_OF_NODES = [
    (NodeOwner.MANAGED, "blue", OLD, OLD, FREE, FREE, "EKS, in the launch template that it makes", "AL2_x86_64"),
    (NodeOwner.MANAGED, "green", ONE, ONE, CUT, CUT, "EKS, in the launch template that it makes", "AL2023_x86_64"),
    (NodeOwner.MANAGED, "search", TWO, TWO, FREE, FREE, "the AMI (ImdsSupport v2.0)", ""),
    (NodeOwner.MANAGED, "payments", ONE, ONE, CUT, CUT, "launch template demo-shop-payments version 3", ""),
    (NodeOwner.KARPENTER, "general", ONE, ONE, CUT, CUT, "EC2NodeClass default", ""),
    (NodeOwner.KARPENTER, "reports", TWO, ONE, FREE, CUT, "EC2NodeClass reports", ""),
    (NodeOwner.EKSCTL, "tools", TWO, TWO, FREE, FREE, "launch template eksctl-demo-shop-nodegroup-tools version 1", ""),
    (NodeOwner.SELF_MANAGED, "", ONE, ONE, CUT, CUT, "launch template batch-", "version 4"),
    (NodeOwner.AUTO_MODE, "general-purpose", ONE, ONE, CUT, CUT, "EKS Auto Mode", ""),
]


@pytest.mark.parametrize(("owner", "name", "now", "later", "here", "there", *["by", "end"]), KINDS_OF_NODES)
def test_each_kind_has_its_cause(
    plan: MetadataPlan,
    owner: NodeOwner,
    name: str,
    now: MetadataOptions,
    later: MetadataOptions,
    here: Reach,
    there: Reach,
    by: str,
    end: str,
) -> None:
    found = group(plan, owner, name)
    assert (found.now.options, found.next.options) == (now, later)
    assert (found.here.reach, found.later.reach) == (here, there)
    assert found.next.by.startswith(by) and end in found.next.by
    assert found.changes is (here is not there)


@pytest.mark.parametrize("owner", [NodeOwner.FARGATE, NodeOwner.HYBRID])
def test_where_there_is_none(plan: MetadataPlan, owner: NodeOwner) -> None:
    (found,) = (each.alike for each in plan.groups if each.alike.owner is owner)
    assert found.now.options is found.next.options is None


def test_every_kind_is_there_once(plan: MetadataPlan) -> None:
    assert len(plan.groups) == len(KINDS_OF_NODES) + 2
    assert {each.alike.owner for each in plan.groups} == set(NodeOwner)


def effect(plan: MetadataPlan, how: Effect) -> dict[str, set[str]]:
    """The groups of those that suffer so, by the beginning of their pods' names."""
    found: dict[str, set[str]] = {}
    for each in plan.groups:
        for one in each.of(how):
            found.setdefault(one.pod.name.rsplit("-", 2)[0], set()).add(each.alike.name)
    return found


def test_who_suffers_and_who_does_not(plan: MetadataPlan) -> None:
    assert effect(plan, Effect.BROKEN) == {"aws-load-balancer-controller": {"green"}}
    assert effect(plan, Effect.WILL_BREAK) == {"cluster-autoscaler": {"reports"}}
    unlikely = effect(plan, Effect.NO_KNOWN_NEED)
    assert unlikely["fraud"] == {"payments"} and unlikely["exports"] == {"reports"} and unlikely["nightly"] == {""}
    fine = {"invoices", "thumbnailer", "external-dns", "ebs-csi-controller", "karpenter", "suggest", "wiki"}
    assert not fine & set(unlikely) and not effect(plan, Effect.POSSIBLE)


def test_the_controller_is_told_by_its_log(plan: MetadataPlan) -> None:
    (broken,) = (finding for finding in plan.findings if finding.code.name == "imds-pods-broken")
    assert broken.subject.name == "aws-load-balancer-controller"
    assert "its log says that it lacks its region" in broken.message and "the hop limit is 1" in broken.message


class SetSince(DemoAnswers):
    """The demo's account with a default of its own."""

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> dict[str, Any]:
        if question == questions.METADATA_DEFAULTS:
            return {"AccountLevel": {"ManagedBy": "account", "HttpPutResponseHopLimit": 1}}
        return super().ask(question, parameters)


def test_a_default_of_the_account_comes_before_the_ami() -> None:
    """Somebody sets it: of what nobody else says, the next nodes are otherwise than those that run."""
    session, aws = of_the_demo(NEEDS), SetSince("imds-probe")
    session.aws = believed(aws, aws.access)
    plan = plan_imds(session)
    search = group(plan, NodeOwner.MANAGED, "search")
    assert (search.now.options, search.next.options) == (TWO, ONE) and search.changes
    assert search.next.by.startswith("hop limit by the account's default, tokens by the AMI (ImdsSupport v2.0)")
    assert "confidence: low" in search.next.by
    assert group(plan, NodeOwner.EKSCTL, "tools").next.options == TWO, "its template says all of it"
