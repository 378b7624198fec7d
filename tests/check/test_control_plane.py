"""The control plane itself: its health, updates in progress, and until when its last upgrade can be rolled back."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.amazon.versions import ROLLBACK_CONDITIONS
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import HealthIssue
from kubectl_eksdoc.model.eks import ERROR, ROLLBACK
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE
from tests.builders import a_node
from tests.check.of_aws import (
    DENIED,
    an_insight,
    an_update,
    before,
    eks,
    facts,
    find,
    history,
    nodes,
    one,
    text,
    told,
)


def test_health_issues_and_a_status() -> None:
    issue = HealthIssue("Ec2SubnetNotFound", "a subnet is gone", ("subnet-1",))
    found = one(facts(eks=eks(issues=(issue,))), "cluster-health")
    assert found.severity is Severity.HIGH and "1 health issue" in found.message
    assert found.evidence == ("Ec2SubnetNotFound: a subnet is gone (subnet-1)",)
    failed = one(facts(eks=eks(status="FAILED", issues=(issue, issue))), "cluster-health")
    assert failed.message == "its status is FAILED and EKS sees 2 health issues in it"
    assert one(facts(eks=eks(status="UPDATING")), "cluster-health").severity is Severity.MEDIUM


def test_a_cluster_that_could_not_be_described_is_unknown() -> None:
    assert one(facts(eks=DENIED), "cluster-health").missing == "eks:Something"
    assert one(facts(eks=eks(status="")), "cluster-health").status is Status.UNKNOWN


def test_the_last_update_has_failed() -> None:
    failed = an_update("Failed", errors=(HealthIssue("IpNotAvailable", "no addresses", ("subnet-a",)),))
    found = one(facts(told(cluster_updates=history(failed, an_update(id="u-0")))), "cluster-update")
    assert found.severity is Severity.HIGH and "IpNotAvailable: no addresses (subnet-a)" in found.evidence
    other = an_update("Failed", type="LoggingUpdate")
    assert one(facts(told(cluster_updates=history(other))), "cluster-update").severity is Severity.MEDIUM
    mended = history(an_update(id="u-2"), failed)
    assert not find(facts(told(cluster_updates=mended)), "cluster-update"), "it went well since"


@pytest.mark.parametrize("code", ["cluster-update", "rollback-window"])
def test_updates_that_may_not_be_asked_for_are_unknown(code: str) -> None:
    for updates in (DENIED, history(DENIED)):
        found = one(facts(told(cluster_updates=updates)), code)
        assert found.status is Status.UNKNOWN and found.missing == "eks:Something"


FRESH = history(an_update(begun=before(days=2)))


def test_a_fresh_upgrade_can_be_taken_back() -> None:
    way, lost = find(facts(told(cluster_updates=FRESH)), "rollback-window")
    assert (way.status, way.severity) == (Status.PASS, Severity.INFO)
    until = before(days=2 - 7).strftime("%Y-%m-%d %H:%M")
    assert f"can be taken back to 1.32 until {until} UTC" in way.message
    assert "the upgrade to 1.34 ends it" in text(way)
    assert all(each.clause in text(way) for each in ROLLBACK_CONDITIONS) and "confidence: medium" in text(way)
    assert (lost.status, lost.severity) == (Status.FAIL, Severity.LOW)
    assert "2 nodes newer than 1.32 already: blue-0, blue-1" in lost.evidence
    auto = a_node("auto-1", group="", labels={COMPUTE_TYPE: "auto"}, version="v1.33.2-eks-1")
    _, lost = find(facts(told(cluster_updates=FRESH), nodes=[*nodes(1), auto]), "rollback-window")
    assert "1 node newer than 1.32 already: blue-0" in lost.evidence, "EKS Auto Mode takes its own down"


def test_a_cluster_that_was_just_upgraded_and_gave_nothing_up_does_not_fail() -> None:
    old = nodes(2, version="v1.32.3-eks-1")
    found = find(facts(told(cluster_updates=FRESH), nodes=old), "rollback-window")
    assert [each.status for each in found] == [Status.PASS, Status.PASS]
    assert found[0].message.endswith("if all of the conditions hold") and "in its way" not in text(found[0])


def test_who_is_in_the_way_back() -> None:
    fargate = a_node("fargate-1", group="", labels={COMPUTE_TYPE: "fargate"})
    old = nodes(1, version="v1.32.3-eks-1")
    seen = (an_insight(category=ROLLBACK, status=ERROR, name="Kubelets", reason="too new"),)
    aws = told(cluster_updates=FRESH, other_insights=seen)
    way, lost = find(facts(aws, nodes=[*old, fargate]), "rollback-window")
    assert "EKS reports that these block a rollback: Kubelets is ERROR: too new" in way.evidence
    assert "once what is in its way now is gone" in way.message
    assert "in its way now: there are pods on Fargate, which a rollback does not support: fargate-1" in way.evidence
    assert [each for each in lost.evidence if "Fargate" in each] and "newer than" not in text(lost).split("\n")[1]
    unread = find(facts(aws, unread=[kinds.NODES], nodes=[]), "rollback-window")
    assert [each.missing for each in unread if each.status is Status.UNKNOWN] == ["list nodes"]
    blind = find(facts(told(cluster_updates=FRESH, other_insights=DENIED), target="1.33"), "rollback-window")
    assert "what blocks a rollback in EKS is unknown" in text(blind[0]) and "ends it" not in text(blind[0])


def test_what_is_older_or_was_taken_back_is_nothing_to_take_back() -> None:
    back = an_update(type="VersionRollback", begun=before(days=1))
    for updates in (
        history(an_update(begun=before(days=7))),
        history(),
        history(back, *FRESH.updates),
        history(an_update("Failed", begun=before(days=1))),
        history(an_update(type="LoggingUpdate", begun=before(days=8)), unseen=3),
    ):
        assert not find(facts(told(cluster_updates=updates)), "rollback-window")


def test_what_was_not_looked_at_may_be_an_upgrade() -> None:
    many = history(an_update(type="LoggingUpdate", begun=before(days=1)), unseen=3)
    assert one(facts(told(cluster_updates=many)), "rollback-window").status is Status.UNKNOWN
    undated = history(an_update(begun=None))
    assert one(facts(told(cluster_updates=undated)), "rollback-window").status is Status.UNKNOWN
    ahead = history(an_update(begun=before(days=-1)))
    assert one(facts(told(cluster_updates=ahead)), "rollback-window").status is Status.UNKNOWN


def test_where_all_have_followed_the_fresh_upgrade_nothing_is_to_be_mended() -> None:
    way, lost = find(facts(told(cluster_updates=FRESH), target="1.33"), "rollback-window")
    assert (way.status, lost.status, lost.severity) == (Status.PASS, Status.PASS, Severity.INFO)
    assert "nodes were upgraded" in lost.message and "blue-0, blue-1" in text(lost)
    assert len(find(facts(told(cluster_updates=FRESH), target="1.33", nodes=[]), "rollback-window")) == 1
    for version in ("v1.32.3-eks-1", "latest"):
        old = nodes(1, version=version)
        _, lost = find(facts(told(cluster_updates=FRESH), target="1.33", nodes=old), "rollback-window")
        assert (lost.status, lost.severity) == (Status.PASS, Severity.LOW)
        assert "makes a rollback impossible" in lost.message
