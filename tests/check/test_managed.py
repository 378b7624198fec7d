"""Managed node groups: their health, pending changes, and the cause of a failed update, by pod."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import HealthIssue
from kubectl_eksdoc.model.eks import TemplateVersions
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import TemplateRef, TemplateVersion
from kubectl_eksdoc.model.nodes import Toleration
from tests.builders import a_budget, a_pod, pods
from tests.check.of_aws import (
    DENIED,
    a_group,
    an_update,
    before,
    facts,
    find,
    history,
    one,
    text,
    told,
)

ALL = (
    "nodegroup-health",
    "nodegroup-update",
    "nodegroup-template",
    "nodegroup-release",
)


@pytest.mark.parametrize("code", ALL)
def test_groups_that_may_not_be_asked_for_are_unknown(code: str) -> None:
    for given in (told(node_groups=DENIED, group_updates=DENIED), told(DENIED, group_updates={"red": DENIED})):
        found = one(facts(given), code)
        assert found.status is Status.UNKNOWN and found.missing == "eks:Something"


def test_issues_and_a_status() -> None:
    issue = HealthIssue("Ec2LaunchTemplateVersionMismatch", "somebody changed it", ("lt-1",))
    found = one(facts(told(a_group(status="DEGRADED", issues=(issue,)))), "nodegroup-health")
    assert found.severity is Severity.HIGH and str(found.subject) == "blue"
    assert found.message.startswith("its status is DEGRADED and EKS sees 1 health issue in it")
    assert "Ec2LaunchTemplateVersionMismatch: somebody changed it (lt-1)" in found.evidence
    assert "--nodegroup-name blue" in found.remedy[0].command
    assert find(facts(told(a_group(status="CREATE_FAILED"))), "nodegroup-health")
    assert not find(facts(told(a_group(status="UPDATING"))), "nodegroup-health")
    assert one(facts(told(a_group(status=""))), "nodegroup-health").status is Status.UNKNOWN


def test_an_update_that_is_under_way() -> None:
    running = an_update("InProgress", begun=before(hours=1), parameters=(("Version", "1.34"),))
    found = one(facts(told(group_updates={"blue": history(running)})), "nodegroup-update")
    assert found.severity is Severity.MEDIUM and "begun 1 hour ago" in found.message
    assert "asked for: Version 1.34" in found.evidence


def failed(code: str = "PodEvictionFailure", *resources: str, **more: Any) -> Any:
    said = more.pop("message", "Reached max retries while trying to evict pods from nodes in node group blue")
    update = an_update("Failed", begun=before(hours=23), errors=(HealthIssue(code, said, resources),))
    return told(group_updates={"blue": history(update, an_update(id="u-0"))})


def held(**more: Any) -> dict[str, Any]:
    """Budgets: one without allowed disruptions, on the first node, and one with some, on the second."""
    first = pods(2, "sale", node="blue-0", labels={"app": "sale"})
    second = pods(2, "web", node="blue-1", labels={"app": "web"})
    return {"pods": [*first, *second], "budgets": [a_budget("sale", allowed=0), a_budget("web")]} | more


def why(aws: Any, **more: Any) -> Finding:
    return next(each for each in find(facts(aws, **held(**more)), "nodegroup-update") if each.status is Status.FAIL)


def test_pods_that_hold_an_update_up_are_named() -> None:
    found = why(failed("PodEvictionFailure", "blue-0"))
    assert found.severity is Severity.HIGH and found.message.endswith("has failed: PodEvictionFailure")
    assert "pod default/sale-0 on blue-0 may not go now: budget sale" in found.evidence
    assert "web" not in "\n".join(found.evidence[:2])
    assert found.remedy[0].command == "kubectl eksdoc drain plan --nodegroup=blue"


def test_nodes_are_known_by_the_message_or_are_all_of_the_group() -> None:
    by_message = failed(message="could not evict pods from blue-1, sorry")
    assert "no budget holds a pod of blue-1 now; EKS waits 15 minutes" in why(by_message).evidence
    gone = why(failed("PodEvictionFailure", "ip-10-0-0-1.ec2.internal"))
    assert "pod default/sale-1 on blue-0 may not go now: budget sale" in gone.evidence


def test_two_budgets_and_all_taints_hold_a_pod_too() -> None:
    several = [a_budget("a", selector={"app": "web"}), a_budget("b", selector={"app": "web"})]
    found = why(failed(), budgets=several)
    assert "pod default/web-0 on blue-1 may not go now: budget a and b" in found.evidence
    everything = a_pod("relay", node="blue-0", tolerations=(Toleration(operator="Exists"),))
    daemon = a_pod("agent", node="blue-0", owner="DaemonSet/agent", tolerations=(Toleration(operator="Exists"),))
    back = why(failed(), pods=[everything, daemon], budgets=[])
    assert "pod default/relay on blue-0 tolerates every taint: it is rescheduled onto the same node" in back.evidence
    assert "agent" not in text(back)


def test_without_the_budgets_nobody_can_say_which_pod() -> None:
    found = find(facts(failed(), unread=[kinds.BUDGETS]), "nodegroup-update")
    assert [each.missing for each in found if each.status is Status.UNKNOWN] == ["list poddisruptionbudgets.policy"]


def test_another_failure_names_no_pods() -> None:
    found = why(failed("NodeCreationFailure", message="no capacity"))
    assert "NodeCreationFailure: no capacity" in found.evidence and len(found.remedy) == 1
    silent = told(group_updates={"blue": history(an_update("Failed"))})
    assert "EKS does not say why" in one(facts(silent), "nodegroup-update").message


REF = TemplateRef("lt-1", "own", "5")


def with_template(told_of: Any, ref: TemplateRef = REF) -> Any:
    return told(a_group(template=ref), templates={ref: told_of})


def version(number: int, image: str = "") -> TemplateVersion:
    return TemplateVersion("lt-1", "own", number, image=image)


def test_a_newer_template_version_is_pending() -> None:
    versions = TemplateVersions(version(7, "ami-2"), version(6), version(5, "ami-1"))
    found = one(facts(with_template(versions)), "nodegroup-template")
    assert found.severity is Severity.LOW and "uses version 5 of its launch template, and 7 is" in found.message
    assert "launch template own; version 6 is the default" in found.evidence
    assert "the newest names another AMI: ami-2 instead of ami-1" in found.evidence
    newest = TemplateVersions(version(5), version(4), version(5))
    assert not find(facts(with_template(newest)), "nodegroup-template")


def test_a_template_that_is_gone_or_not_told() -> None:
    gone = one(facts(with_template(Absent("no such template"))), "nodegroup-template")
    assert gone.severity is Severity.HIGH and "no such template" in gone.evidence
    assert one(facts(with_template(DENIED)), "nodegroup-template").missing == "eks:Something"
    lost = find(facts(with_template(TemplateVersions(version(7), version(7), Absent("gone")))), "nodegroup-template")
    assert [each.status for each in lost] == [Status.UNKNOWN, Status.FAIL]
    named = TemplateRef("lt-1", "own", "$Odd")
    odd = with_template(TemplateVersions(version(7), version(7), Unknown("no")), named)
    assert one(facts(odd), "nodegroup-template").status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("release", "recommended", "older"),
    [
        ("1.33.1-20250610", "1.33.5-20251106", True),
        ("1.33.5-20250610", "1.33.5-20251106", True),
        ("1.33.5-20251106", "1.33.5-20251106", False),
        ("1.33.10-20251206", "1.33.9-20251106", False),
        ("1.42.0-7a3e5f1c", "1.49.0-1111aaaa", True),
        ("1.49.0-7a3e5f1c", "1.49.0-1111aaaa", False),
        ("1.33.1-20250610", "1.49.0-1111aaaa", None),
        ("", "1.49.0-1111aaaa", None),
        ("latest", "newest", None),
    ],
)
def test_releases_are_compared_by_their_numbers(release: str, recommended: str, older: bool | None) -> None:
    kind = ("AL2023_x86_64_STANDARD", "1.33")
    given = told(a_group(release=release), releases={kind: recommended})
    found = find(facts(given, target="1.33"), "nodegroup-release")
    assert [each.status for each in found] == {True: [Status.FAIL], False: [], None: [Status.UNKNOWN]}[older]
    upgraded = find(facts(given), "nodegroup-release")
    assert [each.status for each in upgraded] == {True: [Status.PASS], False: [], None: [Status.UNKNOWN]}[older]
    if older:
        assert found[0].severity is Severity.LOW and recommended in found[0].message
        assert "--kubernetes-version 1.33" in found[0].remedy[0].command


def test_releases_that_nobody_tells() -> None:
    denied = Unknown("IAM does not allow it", "ssm:GetParameter")
    for why_not, severity in ((denied, Severity.LOW), (Absent("gone"), Severity.INFO), (Unknown("no"), Severity.INFO)):
        given = told(releases={("AL2023_x86_64_STANDARD", "1.33"): why_not})
        found = one(facts(given), "nodegroup-release")
        assert (found.status, found.severity) == (Status.UNKNOWN, severity)
    al2 = told(a_group(ami_type="AL2_x86_64"), releases={("AL2_x86_64", "1.33"): Absent("gone")})
    assert not find(facts(al2), "nodegroup-release"), "ami-al2 tells that"
    assert not find(facts(told(a_group(ami_type="CUSTOM"))), "nodegroup-release")
    assert one(facts(told(a_group(release=""))), "nodegroup-release").status is Status.UNKNOWN
