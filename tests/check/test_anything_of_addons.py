"""Whatever EKS tells of add-ons and versions, every check of them has an answer, and the way has its steps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.check.checking import UpgradeCheck
from kubectl_eksdoc.check.checklist.nodes import checklist
from kubectl_eksdoc.check.checks import control_plane, programs
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model.addons import Addon, AddonVersion, AddonVersions, CompatibleVersion, Issue
from kubectl_eksdoc.model.eks import ClusterVersion
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.builders import NOW
from tests.check.healthy import DENIED, healthy, with_aws
from tests.examples import examples

CHECKS: tuple[UpgradeCheck, ...] = (*programs.CHECKS, *control_plane.SUPPORT_CHECKS)
NAMES = st.sampled_from(["vpc-cni", "kube-proxy", "coredns", "-x", "a b", ""])
VERSIONS = st.sampled_from(["v1.20.4-eksbuild.2", "v1.33.3-eksbuild.4", "v1", "", "latest", "v99999999999.1", "1.34"])
MINORS = st.sampled_from(["1.33", "1.34", "1.35", "1.36", "", "1", "two", "2.0"])
WHY = st.just(DENIED) | st.builds(Unknown, st.sampled_from(["no", ""]), st.sampled_from(["eks:X", ""]))
ISSUES = st.lists(st.builds(Issue, st.sampled_from(["", "Conflict"]), st.just("x")), max_size=1).map(tuple)
FITS = st.lists(st.builds(CompatibleVersion, MINORS, st.booleans()), max_size=4).map(tuple)
LISTED = st.lists(st.builds(AddonVersion, VERSIONS, FITS), max_size=4).map(tuple)
OFFERED = st.builds(AddonVersions, NAMES, st.just("x"), st.just("eks"), LISTED) | st.builds(Absent, NAMES) | WHY
ADDONS = st.builds(Addon, NAMES, VERSIONS, st.sampled_from(["ACTIVE", "DEGRADED", ""]), issues=ISSUES) | WHY
TIMES = st.none() | st.integers(-40_000, 40_000).map(lambda hours: NOW + timedelta(hours=hours))
STATES = st.sampled_from(["STANDARD_SUPPORT", "EXTENDED_SUPPORT", "UNSUPPORTED", ""])
OF_EKS = st.lists(st.builds(ClusterVersion, MINORS, STATES, st.booleans(), TIMES, TIMES, TIMES), max_size=4).map(tuple)


@st.composite
def whatever(draw: st.DrawFn) -> CheckFacts:
    told: dict[str, Any] = {
        "addons": draw(WHY | st.lists(ADDONS, max_size=4).map(tuple)),
        "addon_versions": draw(st.dictionaries(NAMES, OFFERED, max_size=4)),
        "versions": draw(WHY | OF_EKS),
    }
    return with_aws(healthy(draw(st.sampled_from(["1.33", "1.34", "1.36", "1.40"]))), **told)


@settings(max_examples=examples(150))
@given(whatever())
def test_every_check_has_an_answer(facts: CheckFacts) -> None:
    for check in CHECKS:
        for found in check.judge(facts):
            assert found.code in check.codes and found.message
            assert found.status is not Status.FAIL or found.remedy
            assert found.status is not Status.UNKNOWN or found.missing
    assert all(step.title and step.why for step in checklist(facts))
