"""Insights of EKS: what blocks the upgrade, how fresh an insight is, and when it clears after a fix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.check.checking import CheckFacts, Gate
from kubectl_eksdoc.check.node_steps import build_checklist
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.registry import choose_checks
from kubectl_eksdoc.check.steps import Phase
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import Addon, AddonVersion, AddonVersions, CompatibleVersion
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.eks import (
    ERROR,
    MISCONFIGURATION,
    WARNING,
    ApiClient,
    ApiDeprecation,
    IncompatibleAddon,
    Insight,
    InsightDetail,
)
from kubectl_eksdoc.model.findings import Severity, Status, Subject
from kubectl_eksdoc.model.kinds import Unknown
from tests.builders import a_node
from tests.check.healthy import IMAGES, a_program
from tests.check.of_aws import DENIED, an_insight, before, facts, find, one, text, told

ALL = (
    "insight-error",
    "insight-warning",
    "insight-stale",
    "insight-misconfiguration",
)

CALLS = InsightDetail(
    "Use newer APIs.",
    (
        ApiDeprecation(
            "/apis/x/v1beta1/y",
            "/apis/x/v1/y",
            "1.34",
            (ApiClient("curl/8", 3, before(days=4)), ApiClient("webhook/v0.9", None, before(days=2)), ApiClient("old")),
        ),
    ),
)


def test_an_error_tells_each_client_and_when_it_clears() -> None:
    found = one(facts(told(insights=(an_insight(status=ERROR, reason="used", detail=CALLS),))), "insight-error")
    assert (found.severity, found.status) == (Severity.HIGH, Status.FAIL)
    assert str(found.subject) == "Kubelet version skew (1.34)" and found.message == "used"
    said = text(found)
    assert "curl/8: 3 requests in 30 days, the last one 4 days ago" in said
    assert "webhook/v0.9: the last one 2 days ago" in said and "old: when is not told" in said
    clears = before(days=2 - 30).date().isoformat()
    assert f"last seen 2 days ago; if it is fixed, the insight clears on {clears}" in said
    assert "--force" in said and "confidence: low" in said and "Use newer APIs." in said


def test_addons_that_do_not_fit_are_looked_at_with_the_newest_that_does() -> None:
    detail = InsightDetail(
        "", (), (IncompatibleAddon("coredns", ("v1.13.2-eksbuild.19", "v1.12")), IncompatibleAddon("other")), ("a", "b")
    )
    found = one(facts(told(insights=(an_insight(status=WARNING, detail=detail),))), "insight-warning")
    assert found.severity is Severity.MEDIUM and found.remedy[0].command == (
        "kubectl eksdoc addon-diff coredns --to v1.13.2-eksbuild.19"
    )
    assert found.remedy[1].command == "kubectl eksdoc addon-diff other" and "a, b" in found.evidence


@pytest.mark.parametrize("code", ALL)
def test_what_may_not_be_asked_is_unknown_in_every_code(code: str) -> None:
    misconfigured = code == "insight-misconfiguration"
    lost, kept = ("other_insights", "insights")[:: 1 if misconfigured else -1]
    found = one(facts(told(**{lost: DENIED})), code)
    assert found.status is Status.UNKNOWN and found.missing == "eks:Something"
    assert not find(facts(told(**{kept: DENIED})), code), "the other list is nothing to it"


def test_what_eks_does_not_know_is_unknown() -> None:
    unsure = an_insight(status="UNKNOWN", reason="cannot look")
    found = one(facts(told(insights=(unsure,))), "insight-error")
    assert found.status is Status.UNKNOWN and "cannot look" in found.message
    assert one(facts(told(insights=(an_insight(status=""),))), "insight-error").status is Status.UNKNOWN


@pytest.mark.parametrize("unsure", [(an_insight(status="UNKNOWN"),), ()])
def test_asked_for_warnings_alone_what_may_be_one_is_unknown(unsure: tuple[Insight, ...]) -> None:
    """It passed before: an insight without a known status was reported only as a possible error."""
    only = frozenset({"insight-warning"})
    plan = plan_check(facts(told(insights=unsure)), choose_checks(only), CheckScope(only=only))
    assert {each.status for each in plan.findings} == {Status.UNKNOWN}


def test_a_misconfiguration_that_eks_could_not_look_for_is_unknown() -> None:
    """It passed before."""
    seen = (an_insight(version="", category=MISCONFIGURATION, status="UNKNOWN", name="No logs"),)
    found = one(facts(told(other_insights=seen)), "insight-misconfiguration")
    assert (found.status, found.severity, str(found.subject)) == (Status.UNKNOWN, Severity.LOW, "No logs")


def test_a_step_without_insights_is_no_pass() -> None:
    found = find(facts(told(insights=(an_insight(version="1.35"),)), target="1.36"), "insight-error")
    assert [(str(each.subject), each.severity, each.status) for each in found] == [
        ("1.34", Severity.MEDIUM, Status.UNKNOWN),
        ("1.36", Severity.INFO, Status.UNKNOWN),
    ]


def test_insights_about_other_versions_do_not_count() -> None:
    later = (an_insight(), an_insight(id="2", version="1.35", status=ERROR))
    assert not find(facts(told(insights=later)), "insight-error")
    here = (an_insight(status=ERROR), an_insight(id="2", status=WARNING, refreshed=before(days=9)))
    for code in ALL:
        assert not find(facts(told(insights=here), target="1.33"), code), "nothing is in the way of no step"


def test_old_insights_say_how_to_have_newer_ones() -> None:
    seen = (an_insight(), an_insight(id="2", refreshed=before(days=3)))
    found = one(facts(told(insights=seen)), "insight-stale")
    assert found.severity is Severity.LOW and "1 of 2 insights are older than a day" in found.message
    assert "3 days ago" in found.message
    by_hand = "aws eks start-insights-refresh --cluster-name prod --region eu-west-1"
    assert [each.command for each in found.remedy] == [by_hand], "of a snapshot nothing is asked anew"
    live = one(facts(told(insights=seen), source=Source.LIVE), "insight-stale")
    assert [each.command for each in live.remedy] == ["kubectl eksdoc check --refresh-insights", by_hand]
    assert not find(facts(told(insights=(an_insight(refreshed=before(hours=24)),))), "insight-stale")
    undated = one(facts(told(insights=(an_insight(refreshed=None),))), "insight-stale")
    assert undated.status is Status.UNKNOWN


def test_a_misconfiguration_blocks_no_step() -> None:
    seen = (an_insight(version="", category=MISCONFIGURATION, status=ERROR, name="No logs"),)
    given = facts(told(other_insights=seen), target="1.33")
    found = one(given, "insight-misconfiguration")
    assert str(found.subject) == "No logs" and found.severity is Severity.MEDIUM
    assert not find(given, "insight-error")


@pytest.mark.parametrize(
    ("detail", "cause"),
    [
        (CALLS, Subject("API", "x/v1beta1")),
        (InsightDetail(incompatible_addons=(IncompatibleAddon("coredns"),)), Subject("Addon", "coredns")),
        (InsightDetail(incompatible_addons=(IncompatibleAddon("coredns"), IncompatibleAddon("vpc-cni"))), None),
        (InsightDetail(resources=("nodes/blue-1", "nodes/blue-2")), Subject("Nodegroup", "blue")),
        (InsightDetail(resources=("nodes/blue-1", "nodes/spot")), None),
        (InsightDetail(resources=("nodes/blue-1", "nodes/gone")), None),
        (DENIED, None),
    ],
)
def test_what_names_one_thing_comes_from_that(detail: InsightDetail | Unknown, cause: Subject | None) -> None:
    nodes = [a_node("blue-1"), a_node("blue-2"), a_node("spot", group="")]
    given = facts(told(insights=(an_insight(status=ERROR, detail=detail),)), nodes=nodes)
    assert one(given, "insight-error").root_cause == cause


def gates(given: CheckFacts) -> dict[str, tuple[Gate | None, Status]]:
    """The gates of each insight that is found."""
    checks = choose_checks(("insight-error", "insight-warning"))
    found = plan_check(given, checks, CheckScope(frozenset({"insight-error", "insight-warning"}))).judged
    return {each.subject.name: (judged.check.gate, each.status) for judged in found for each in judged.findings}


def a_proxy(version: str) -> Any:
    return a_program("kube-proxy-0", f"{IMAGES}/eks/kube-proxy:{version}", "DaemonSet/kube-proxy", "blue-0")


SKEWS = tuple(an_insight(id=name, name=f"{name} version skew", status=WARNING) for name in ("Kubelet", "kube-proxy"))
BEFORE = (Gate.BEFORE_CONTROL_PLANE, Status.FAIL)


@pytest.mark.parametrize(
    ("kubelet", "proxy", "expected"),
    [
        ("v1.32.1", "v1.32.1-eksbuild.1", ((None, Status.PASS), (None, Status.PASS))),
        ("v1.30.1", "v1.32.1-eksbuild.1", (BEFORE, (None, Status.PASS))),
        ("v1.32.1", "v1.30.1-eksbuild.1", ((None, Status.PASS), BEFORE)),
        ("", "latest", (BEFORE, BEFORE)),
    ],
)
def test_an_insight_about_skew_stands_before_the_step_that_skew_blocks_and_before_no_other(
    kubelet: str, proxy: str, expected: tuple[Any, Any]
) -> None:
    held = {"nodes": [a_node("blue-0", version=kubelet)], "pods": [a_proxy(proxy)]}
    found = gates(facts(told(insights=SKEWS), **held))
    assert tuple(found[name] for name in sorted(found)) == expected


@pytest.mark.parametrize("unread", [[kinds.NODES], [kinds.PODS]])
def test_where_nodes_or_pods_are_not_read_an_insight_about_skew_stands_before_the_step(unread: Any) -> None:
    held = {"nodes": [a_node("blue-0", version="v1.33.1")], "pods": [a_proxy("v1.33.1")]}
    assert set(gates(facts(told(insights=SKEWS), unread=unread, **held)).values()) == {BEFORE}


def test_skew_that_eks_calls_an_error_is_ended_before_the_step_though_the_policy_allows_it() -> None:
    errors = tuple(replace(each, status=ERROR) for each in SKEWS)
    nodes = [a_node("blue-0", version="v1.32.1"), a_node("green-0", group="green", version="v1.33.1")]
    given = facts(told(insights=errors), target="1.35", nodes=nodes, pods=[a_proxy("v1.32.1-eksbuild.1")])
    assert {gates(given)[each.name + " (1.34)"] for each in SKEWS} == {BEFORE}
    early = [
        each for each in build_checklist(given) if each.phase is Phase.BEFORE_CONTROL_PLANE and "group" in each.title
    ]
    assert [each.title for each in early] == ["Update group blue in place to 1.33"]
    assert early[0].why.startswith("once the control plane has 1.34, its kubelets are too old by EKS's own insight; ")


def test_nodes_of_amazon_linux_2_block_no_step_of_the_control_plane_and_its_step_says_what_eks_may_do() -> None:
    al2 = an_insight(name="Amazon Linux 2 compatibility", status=ERROR)
    given = facts(told(insights=(al2, an_insight(id="2", name="Other", status=ERROR))))
    assert gates(given) == {
        "Amazon Linux 2 compatibility (1.34)": (None, Status.FAIL),
        "Other (1.34)": BEFORE,
    }
    (step,) = (each for each in build_checklist(given) if each.title.startswith("Upgrade the control plane"))
    assert (
        "An error of EKS that later steps fix is left (Amazon Linux 2 compatibility): whether EKS refuses" in step.why
    )


def test_an_insight_about_addons_that_can_only_follow_stands_before_no_step() -> None:
    follows, first = ("coredns", "v1", ("v2", "1.34")), ("vpc-cni", "v1", ("v2", "1.33 1.34"))
    addons = tuple(Addon(name, have, "ACTIVE") for name, have, _ in (follows, first))
    offered = {
        name: AddonVersions(
            name,
            "x",
            "eks",
            tuple(
                AddonVersion(version, tuple(map(CompatibleVersion, fits.split())))
                for version, fits in (to, (have, "1.33"))
            ),
        )
        for name, have, to in (follows, first)
    }

    def at(*names: str) -> tuple[Gate | None, Status]:
        detail = InsightDetail("", (), tuple(IncompatibleAddon(name) for name in names))
        seen = an_insight(name="EKS add-on version compatibility", status=ERROR, detail=detail)
        (found,) = gates(facts(told(insights=(seen,), addons=addons, addon_versions=offered))).values()
        return found

    assert at("coredns") == (None, Status.FAIL)
    assert at("coredns", "vpc-cni") == at("vpc-cni") == at("not-installed") == BEFORE
