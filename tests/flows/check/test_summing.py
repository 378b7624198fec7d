"""What other commands find, summed: one add-on that is not known takes nothing from the others, and does not pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.core.model import codes
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.addons import Addon
from kubectl_eksdoc.core.model.check_needs import Need
from kubectl_eksdoc.core.model.findings import Finding
from kubectl_eksdoc.flows.check import summing
from kubectl_eksdoc.flows.check.around import CheckAround
from tests.core.plan.check.healthy import EKS, healthy

DENIED = Unknown("IAM does not allow it", "eks:DescribeAddonConfiguration")
ODD = Unknown("EKS says nothing of it")


def nobody(*_: Any) -> Any:
    raise AssertionError("this is not asked")


def of(addons: Any, sides: dict[str, Any], eks: Any = EKS) -> tuple[Finding, ...] | Unknown:
    facts = healthy()
    told = replace(facts.aws, addons=addons)
    around = CheckAround(eks, nobody, nobody, lambda name, _: sides[name], nobody, nobody, nobody)  # type: ignore[arg-type]
    summed = summing.summed(facts.cluster, facts.way, told, around, frozenset([Need.PLAN_ADDONS]), ())
    assert summed.drain is None, "nobody asked for it"
    return summed.findings[Need.PLAN_ADDONS]


def test_addons_that_eks_does_not_manage_are_not_spoken_of() -> None:
    assert of((Addon("coredns", "v1", "ACTIVE"),), {"coredns": Absent("it is none")}) == ()


def test_what_is_not_known_of_some_is_told_once_for_each_reason() -> None:
    names = ("coredns", "kube-proxy", "vpc-cni")
    found = of(
        tuple(Addon(name, "v1", "ACTIVE") for name in names), dict(zip(names, (DENIED, ODD, DENIED), strict=True))
    )
    assert not isinstance(found, Unknown)
    told = [(each.code.name, each.status.value, str(each.subject), each.missing) for each in found]
    assert told == [
        ("check-addons", "unknown", "coredns, vpc-cni", DENIED.missing),
        ("check-addons", "unknown", "kube-proxy", "what its update would change"),
    ]


def test_one_that_could_not_be_described_does_not_pass() -> None:
    found = of((DENIED,), {})
    assert not isinstance(found, Unknown)
    assert [(each.status.value, each.missing) for each in found] == [("unknown", DENIED.missing)]


@pytest.mark.parametrize(("addons", "eks"), [(DENIED, EKS), ((Addon("coredns", "v1", "ACTIVE"),), DENIED)])
def test_without_the_list_or_the_cluster_nothing_is_known(addons: Any, eks: Any) -> None:
    assert of(addons, {}, eks) == DENIED


def test_the_plan_of_the_drain_is_kept_with_its_findings() -> None:
    facts = healthy()
    around = CheckAround(EKS, nobody, nobody, nobody, nobody, nobody, nobody)  # type: ignore[arg-type]
    summed = summing.summed(facts.cluster, facts.way, facts.aws, around, frozenset([Need.PLAN_DRAIN]), ())
    assert summed.drain is not None
    assert {target.node.name for target in summed.drain.targets} == {node.name for node in facts.cluster.nodes}
    told = summed.findings[Need.PLAN_DRAIN]
    assert not isinstance(told, Unknown)
    assert set(told) == {each for each in summed.drain.findings if each.code is not codes.NEEDS_NODES}


def test_where_no_node_is_behind_there_is_no_plan_and_nothing_is_found() -> None:
    facts = healthy(target="1.33")
    around = CheckAround(EKS, nobody, nobody, nobody, nobody, nobody, nobody)  # type: ignore[arg-type]
    summed = summing.summed(facts.cluster, facts.way, facts.aws, around, frozenset([Need.PLAN_DRAIN]), ())
    assert (summed.drain, summed.findings) == (None, {Need.PLAN_DRAIN: ()})
