"""Findings of other commands in the summary, and a refresh of EKS's insights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.corefile import COREDNS_CONFIG_MAP
from kubectl_eksdoc.amazon.versions import format_version
from kubectl_eksdoc.check import read
from kubectl_eksdoc.check.read import MAX_WAIT_S, POLL_INTERVAL_S, refresh_insights
from kubectl_eksdoc.errors import AwsDenied
from kubectl_eksdoc.model.addons import (
    Addon,
    AddonUpdateFacts,
    AddonVersion,
    AddonVersionDetails,
    AddonVersions,
    CompatibleVersion,
)
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.eks import InsightsRefresh
from kubectl_eksdoc.model.findings import Code, Finding
from kubectl_eksdoc.model.kinds import Absent, CheckNeed, Unknown
from tests.builders import NOW
from tests.check.healthy import EKS, healthy
from tests.sessions import Answered, AppliesNothing

DENIED = Unknown("IAM does not allow it", "eks:DescribeAddonConfiguration")
ODD = Unknown("EKS says nothing of it")


def nobody(*_: Any) -> Any:
    raise AssertionError("this is not asked")


def of(addons: Any, sides: dict[str, Any], eks: Any = EKS) -> tuple[Finding, ...] | Unknown:
    facts = healthy()
    told = replace(facts.aws, addons=addons)
    session = Answered(facts.cluster, lambda name, _: sides[name], eks=eks)
    summed = read.read_command_findings(session, facts.path, told, frozenset([CheckNeed.PLAN_ADDONS]), ())
    assert summed.drain is None, "nobody asked for it"
    return summed.findings[CheckNeed.PLAN_ADDONS]


def test_addons_that_eks_does_not_manage_are_not_spoken_of() -> None:
    assert of((Addon("coredns", "v1", "ACTIVE"),), {"coredns": Absent("it is none")}) == ()


class _Objects(AppliesNothing):
    """A cluster with only a Corefile that CoreDNS refuses since 1.5.0."""

    def read_object(self, of: ObjectName) -> Any:
        if of != COREDNS_CONFIG_MAP:
            return Absent("it is not there")
        entry = {"f:data": {"f:Corefile": {}}}
        owner = {"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
        metadata = {"name": "coredns", "namespace": "kube-system", "managedFields": [{**owner, "fieldsV1": entry}]}
        text = ".:53 {\n    proxy . /etc/resolv.conf\n}\n"
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"Corefile": text}}


def test_the_corefile_is_judged_by_the_version_that_only_the_target_has() -> None:
    """EKS offers this version for the target only: an update on the current cluster version keeps today's CoreDNS."""
    facts = healthy()
    new, now = "v1.13.1-eksbuild.1", AddonVersionDetails("v1.11.4-eksbuild.2", ODD, ODD)
    fits = (CompatibleVersion(format_version(facts.path.target), default=True),)
    offered = AddonVersions("coredns", "networking", "eks", (AddonVersion(new, fits),))
    listed = (Addon("coredns", now.version, "ACTIVE"),)
    side = AddonUpdateFacts(listed[0], now, now, {}, True, ())
    session = Answered(facts.cluster, lambda *_: side, _Objects(), EKS)
    told = replace(facts.aws, addons=listed, addon_versions={"coredns": offered})
    summed = read.read_command_findings(session, facts.path, told, frozenset([CheckNeed.PLAN_ADDONS]), ())
    found = summed.findings[CheckNeed.PLAN_ADDONS]
    assert not isinstance(found, Unknown)
    (refused,) = (each for each in found if each.code is Code.of("addon-corefile-refused"))
    assert new in refused.message and "Unknown directive 'proxy'" in refused.message


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
    session = Answered(facts.cluster, nobody)
    summed = read.read_command_findings(session, facts.path, facts.aws, frozenset([CheckNeed.PLAN_DRAIN]), ())
    assert summed.drain is not None
    assert {target.node.name for target in summed.drain.targets} == {node.name for node in facts.cluster.nodes}
    told = summed.findings[CheckNeed.PLAN_DRAIN]
    assert not isinstance(told, Unknown)
    assert set(told) == {each for each in summed.drain.findings if each.code is not Code.of("needs-nodes")}


def test_where_no_node_is_behind_there_is_no_plan_and_nothing_is_found() -> None:
    facts = healthy(target="1.33")
    session = Answered(facts.cluster, nobody)
    summed = read.read_command_findings(session, facts.path, facts.aws, frozenset([CheckNeed.PLAN_DRAIN]), ())
    assert (summed.drain, summed.findings) == (None, {CheckNeed.PLAN_DRAIN: ()})


GOES_ON, DONE = InsightsRefresh("IN_PROGRESS"), InsightsRefresh("COMPLETED")


@dataclass
class Eks:
    """EKS answers in turn, and repeats the last answer; time passes only in `sleep`."""

    states: list[InsightsRefresh | Unknown]
    begins: InsightsRefresh | AwsDenied = GOES_ON
    time: datetime = NOW
    slept: list[float] = field(default_factory=list)
    begun: int = 0

    def begin(self) -> InsightsRefresh:
        self.begun += 1
        if isinstance(self.begins, AwsDenied):
            raise self.begins
        return self.begins

    def state(self) -> InsightsRefresh | Unknown:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def now(self) -> datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += timedelta(seconds=seconds)


def run(eks: Eks) -> str:
    return refresh_insights(eks, eks.now, eks.sleep)  # type: ignore[arg-type]


def test_it_is_waited_for() -> None:
    eks = Eks([GOES_ON, GOES_ON, DONE])
    assert run(eks) == "EKS has refreshed its insights."
    assert eks.begun == 1 and eks.slept == [POLL_INTERVAL_S] * 3
    at_once = Eks([GOES_ON], DONE)
    assert run(at_once) == "EKS has refreshed its insights." and not at_once.slept


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            InsightsRefresh("FAILED", "no access"),
            "EKS could not refresh its insights: no access. What follows is older.",
        ),
        (Unknown("IAM does not allow it"), "is unknown: IAM does not allow it. What follows may be older."),
        (GOES_ON, "has not refreshed its insights within 10 minutes"),
        (InsightsRefresh("A_NEW_WORD"), "has not refreshed its insights within 10 minutes"),
    ],
)
def test_however_it_ends_it_is_told(state: InsightsRefresh | Unknown, said: str) -> None:
    eks = Eks([state])
    assert said in run(eks)
    assert sum(eks.slept) <= MAX_WAIT_S


def test_what_is_not_allowed_is_an_error() -> None:
    with pytest.raises(AwsDenied):
        run(Eks([DONE], AwsDenied("no", missing="eks:StartInsightsRefresh")))
