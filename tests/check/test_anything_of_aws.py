"""For any answers of AWS, every check has a result, and every result names a remedy or the missing fact."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.check.checks import (
    addresses,
    control_plane,
    group_updates,
)
from kubectl_eksdoc.check.checks import (
    insights as insighted,
)
from kubectl_eksdoc.check.checks import (
    software as running,
)
from kubectl_eksdoc.model.addons import HealthIssue
from kubectl_eksdoc.model.eks import ApiClient, ApiDeprecation, IncompatibleAddon, InsightDetail, TemplateVersions
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import QUOTAS, Quota, Subnet, TemplateRef, TemplateVersion
from tests.builders import NOW, a_budget, pods
from tests.check.of_aws import (
    DENIED,
    SUBNETS,
    a_group,
    an_insight,
    an_update,
    eks,
    facts,
    history,
    nodes,
    told,
)
from tests.examples import examples

_CHECKS = (
    *addresses.CHECKS,
    *control_plane.CHECKS,
    *group_updates.CHECKS,
    *insighted.CHECKS,
    *running.CHECKS,
    *group_updates.NODE_IMAGE_CHECKS,
    *addresses.QUOTA_CHECKS,
)

WORDS = st.sampled_from(
    ["", "1.34", "1", "33 %", "ACTIVE", "DEGRADED", "ERROR", "WARNING", "UNKNOWN", "-x", "a b", "$Latest"]
)
TIMES = st.none() | st.integers(-900, 900).map(lambda hours: NOW + timedelta(hours=hours))
NUMBERS = st.none() | st.integers(0, 500)
WHY = st.just(DENIED) | st.builds(Unknown, WORDS, WORDS)
GONE = st.builds(Absent, WORDS)
ISSUES = st.lists(
    st.builds(HealthIssue, WORDS | st.just("PodEvictionFailure"), WORDS, st.tuples(WORDS)), max_size=2
).map(tuple)
CLIENTS = st.lists(st.builds(ApiClient, WORDS, NUMBERS, TIMES), max_size=7).map(tuple)
DETAILS = st.builds(
    InsightDetail,
    WORDS,
    st.lists(st.builds(ApiDeprecation, WORDS, WORDS, WORDS, CLIENTS), max_size=2).map(tuple),
    st.lists(st.builds(IncompatibleAddon, WORDS, st.tuples(WORDS)), max_size=2).map(tuple),
    st.lists(WORDS, max_size=7).map(tuple),
)
CATEGORIES = st.sampled_from(["UPGRADE_READINESS", "MISCONFIGURATION", "ROLLBACK_READINESS", ""])
STATUSES = st.sampled_from(["InProgress", "Failed", "Cancelled", "Successful", ""])
KINDS = st.sampled_from(["VersionUpdate", "VersionRollback", "ConfigUpdate", ""])
VERSIONS = st.builds(TemplateVersion, WORDS, WORDS, st.integers(0, 9), image=WORDS)
REFS = st.builds(TemplateRef, WORDS, WORDS, WORDS)


@st.composite
def insights(draw: st.DrawFn) -> Any:
    fields = {"name": WORDS, "category": CATEGORIES, "version": WORDS, "status": WORDS, "reason": WORDS}
    fields |= {"refreshed": TIMES, "changed": TIMES, "detail": st.none() | WHY | DETAILS}
    return an_insight(**{name: draw(each) for name, each in fields.items()})


@st.composite
def histories(draw: st.DrawFn) -> Any:
    fields = {"status": STATUSES, "type": KINDS, "begun": TIMES, "errors": ISSUES}
    made = [an_update(**{name: draw(each) for name, each in fields.items()}) for _ in range(draw(st.integers(0, 3)))]
    return history(*made, *([draw(WHY)] if draw(st.booleans()) else []), unseen=draw(st.integers(0, 2)))


@st.composite
def groups(draw: st.DrawFn) -> Any:
    types = st.sampled_from(["AL2_x86_64", "AL2023_x86_64_STANDARD", "BOTTLEROCKET_ARM_64", "CUSTOM", "WINDOWS_X", ""])
    fields = {"ami_type": types, "release": WORDS, "status": WORDS, "at_once": WORDS, "size": NUMBERS, "disk": NUMBERS}
    fields |= {"issues": ISSUES, "subnets": st.sampled_from([(), SUBNETS, ("subnet-x",)]), "template": st.none() | REFS}
    fields |= {"capacity": st.sampled_from(["ON_DEMAND", "SPOT", ""]), "strategy": st.sampled_from(["MINIMAL", ""])}
    fields |= {"instance_types": st.tuples(WORDS | st.just("m6i.large"))}
    return a_group(**{name: draw(each) for name, each in fields.items()})


@st.composite
def whatever(draw: st.DrawFn) -> Any:
    group = draw(groups())
    ref = group.template
    version = st.builds(TemplateVersions, VERSIONS, VERSIONS, VERSIONS | GONE | WHY)
    subnet = st.builds(Subnet, WORDS, WORDS, NUMBERS, WORDS) | GONE | WHY
    quota = st.builds(Quota, WORDS, st.floats(0, 500), st.none(), st.floats(0, 500) | WHY) | WHY
    aws = told(
        group,
        insights=draw(WHY | st.lists(insights(), max_size=3).map(tuple)),
        other_insights=draw(WHY | st.lists(insights(), max_size=3).map(tuple)),
        cluster_updates=draw(WHY | histories()),
        group_updates=draw(WHY | st.fixed_dictionaries({"blue": WHY | histories()})),
        templates={ref: draw(version | GONE | WHY)} if ref else {},
        releases=draw(st.dictionaries(st.just((group.ami_type, group.version)), WORDS | GONE | WHY)),
        subnets=draw(WHY | st.dictionaries(st.sampled_from(SUBNETS), subnet)),
        quotas=draw(WHY | st.dictionaries(st.sampled_from([each.code for each in QUOTAS]), quota)),
    )
    described = draw(WHY | st.builds(eks, status=WORDS, issues=ISSUES, subnets=st.sampled_from([(), SUBNETS])))
    ours = nodes(2, os_image=draw(WORDS | st.sampled_from(["Amazon Linux 2", "Ubuntu 22.04"])))
    held = {"pods": pods(2, node="blue-0"), "budgets": [a_budget(allowed=draw(st.integers(0, 1)))]}
    return facts(aws, target=draw(st.sampled_from(["1.33", "1.34", "1.36"])), eks=described, nodes=ours, **held)


@settings(max_examples=examples(200))
@given(whatever())
def test_every_check_has_an_answer(given_facts: Any) -> None:
    for check in _CHECKS:
        for found in check.judge(given_facts):
            assert found.code in check.codes and found.message and str(found.subject) != "None"
            assert found.status is not Status.FAIL or found.remedy
            assert found.status is not Status.UNKNOWN or found.missing


def test_nothing_is_found_where_all_is_well() -> None:
    none = told(node_groups={}, group_updates={})
    for of in (facts(), facts(none), facts(target="1.33")):
        assert [each for check in _CHECKS for each in check.judge(of) if each.status is not Status.PASS] == []
