"""The updates of add-ons beside an earlier answer: which add-ons either was about, and what hides a field."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.addon_diff.plan import AddonPlan, against
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode
from kubectl_eksdoc.baseline.changes import outline_of
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.findings import Finding, Severity, Status, Subject
from tests.addon_diff.test_plan import UNREAD, facts, planned
from tests.builders import NOW, a_cluster

CLUSTER = replace(a_cluster(), identity=Identity("prod", "shop"), source=Source.LIVE)
PLAN = planned(facts(), AddonUpdateRequest(Mode.OVERWRITE))
QUIET = replace(PLAN, findings=())
FIELD = next(outline_of(each) for each in PLAN.findings if each.status is Status.FAIL)
TARGET = PLAN.facts.target.version
OF_ADDON = FindingOutline("addon-not-active", Subject("Addon", "vpc-cni"), Severity.HIGH, Status.FAIL, "DEGRADED")


def of_object(kind: str, name: str) -> FindingOutline:
    return replace(FIELD, subject=Subject(kind, name, "kube-system"))


def became(of: FindingOutline, names: set[str], plans: list[AddonPlan], whole: bool = False) -> str:
    earlier = SavedResult(
        "x", CLUSTER.identity, CLUSTER.source, NOW, "1", findings=(of,), addons=dict.fromkeys(names, TARGET)
    )
    told = against(earlier, CLUSTER, plans, {}, whole)
    return next(each.became.value for each in told.changes if each.before == of)


@pytest.mark.parametrize(
    ("of", "names", "plans", "whole", "expected"),
    [
        (FIELD, {"vpc-cni"}, [QUIET], False, "fixed"),
        (FIELD, {"vpc-cni", "coredns"}, [QUIET], False, "fixed"),
        (of_object("ConfigMap", "coredns"), {"vpc-cni", "coredns"}, [QUIET], False, "not-judged-this-time"),
        (of_object("Role", "x"), {"vpc-cni", "coredns"}, [QUIET], False, "not-judged-this-time"),
        (FIELD, {"vpc-cni", "coredns"}, [QUIET], True, "fixed"),
        (OF_ADDON, {"vpc-cni", "coredns"}, [QUIET], False, "fixed"),
        (OF_ADDON, {"vpc-cni"}, [], False, "not-judged-this-time"),
        (OF_ADDON, {"vpc-cni"}, [], True, "fixed"),
    ],
)
def test_an_addon_that_was_not_looked_at_is_not_judged(
    of: FindingOutline, names: set[str], plans: list[AddonPlan], whole: bool, expected: str
) -> None:
    assert became(of, names, plans, whole) == expected


@pytest.mark.parametrize(
    ("of", "target", "expected"),
    [
        (FIELD, TARGET, "fixed"),
        (FIELD, "v1.0.0", "not-judged-this-time"),
        (OF_ADDON, "v1.0.0", "not-judged-this-time"),
        (replace(OF_ADDON, subject=Subject("Addon", "coredns")), "v1.0.0", "fixed"),
        (of_object("ConfigMap", "coredns"), "v1.0.0", "fixed"),
        (of_object("Role", "x"), "v1.0.0", "not-judged-this-time"),
    ],
)
def test_an_update_to_another_version_is_another_question(of: FindingOutline, target: str, expected: str) -> None:
    """Though the same was asked: EKS's default version has moved."""
    addons = {"vpc-cni": target, "coredns": "v1"}
    earlier = SavedResult("x", CLUSTER.identity, CLUSTER.source, NOW, "1", findings=(of,), addons=addons)
    (change,) = (each for each in against(earlier, CLUSTER, [QUIET], {}, True).changes if each.before == of)
    assert change.became.value == expected and ("v1.0.0" in change.why) == (expected != "fixed")


def test_an_object_that_could_not_be_read_hides_what_becomes_of_its_fields() -> None:
    of = FIELD.subject
    named = ObjectName("apps/v1", of.kind, of.namespace, of.name)
    unread = planned(facts(objects=(), unread=((named, UNREAD),)), AddonUpdateRequest())
    assert became(FIELD, {"vpc-cni"}, [unread]) == "not-known-any-more"


def test_what_is_unknown_of_one_addon_hides_nothing_of_another() -> None:
    unknown = Finding.of("addon-field-unknown/nearest", Subject("Addon", "coredns"), addon_name="", target="", known="")
    of_two = replace(QUIET, findings=(unknown,))
    addons = {"vpc-cni": TARGET}
    for found, expected in ((FIELD, "fixed"), (of_object("ConfigMap", "coredns"), "not-known-any-more")):
        earlier = SavedResult("x", CLUSTER.identity, CLUSTER.source, NOW, "1", findings=(found,), addons=addons)
        (change,) = (each for each in against(earlier, CLUSTER, [of_two], {}, True).changes if each.before == found)
        assert change.became.value == expected


def test_beside_itself_nothing_has_changed() -> None:
    found = tuple(map(outline_of, PLAN.findings))
    earlier = SavedResult("x", CLUSTER.identity, CLUSTER.source, NOW, "1", findings=found, addons={"vpc-cni": TARGET})
    assert against(earlier, CLUSTER, [PLAN], {}, False).changes == ()
