"""``--area workloads``: the specs of workloads are checked, only if the user requests it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.check.checking import Area, CheckFacts
from kubectl_eksdoc.check.registry import ALL_CHECKS, choose_checks, codes_of_areas
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.workloads import PodTemplate, Workload
from tests.builders import a_workload
from tests.check.healthy import a_healthy_cluster, found, healthy

GOOD = PodTemplate(has_readiness_check=True, spread=True)


def with_these(*workloads: Workload) -> CheckFacts:
    return replace(healthy(), cluster=a_healthy_cluster(workloads=workloads))


def well(kind: str = "Deployment", template: PodTemplate = GOOD, replicas: int = 3, ready_s: int = 10) -> Workload:
    return a_workload(f"{kind}/web", "shop", replicas=replicas, template=template, min_ready_s=ready_s)


@pytest.mark.parametrize(
    ("code", "bad"),
    [
        ("workload-single-replica", well(replicas=1)),
        ("workload-probe-missing", well(template=replace(GOOD, has_readiness_check=False))),
        ("workload-spread-missing", well(template=replace(GOOD, spread=False))),
        ("workload-min-ready", well(ready_s=0)),
        ("workload-grace-zero", well(template=replace(GOOD, grace_s=0))),
        ("workload-grace-zero", well("DaemonSet", replace(GOOD, grace_s=0))),
    ],
)
def test_each_question_has_all_three_answers(code: str, bad: Workload) -> None:
    (one,) = found(with_these(bad, well()), code)
    assert one.status is Status.FAIL and str(one.subject) == "shop/web" and one.remedy[0].command
    made_by_another = replace(bad, owner=a_workload(owner="Rollout/web").owner)
    assert found(with_these(well(), made_by_another, replace(bad, replicas=0)), code) == ()
    blind = replace(healthy(), cluster=a_healthy_cluster(unread=[kinds.DEPLOYMENTS]))
    assert [each.missing for each in found(blind, code)] == ["list deployments.apps"]


def test_what_a_daemon_set_has_no_choice_about_is_not_judged() -> None:
    bad = well("DaemonSet", PodTemplate(), replicas=1, ready_s=0)
    assert not [each for code in codes_of_areas(["workloads"]) for each in found(with_these(bad), code)]


def test_one_replica_has_nothing_to_spread() -> None:
    alone = well(template=replace(GOOD, spread=False), replicas=1)
    assert found(with_these(alone), "workload-spread-missing") == ()


def test_only_a_stateful_set_has_pods_of_the_same_name_again() -> None:
    code = "workload-grace-zero"
    (twice,) = found(with_these(well("StatefulSet", replace(GOOD, grace_s=0))), code)
    (once,) = found(with_these(well(template=replace(GOOD, grace_s=0))), code)
    assert "same name" in twice.message and "same name" not in once.message


def test_they_are_judged_only_where_they_are_asked_for() -> None:
    assert not [each for each in choose_checks() if each.area is Area.WORKLOADS]
    asked = choose_checks(codes_of_areas(["workloads"]))
    assert {each.area for each in asked} == {Area.WORKLOADS} and len(asked) == 5
    assert {area.flag for area in Area} == {"control-plane" if a == "CONTROL_PLANE" else a.lower() for a in _names()}
    assert set(codes_of_areas([area.flag for area in Area])) == {
        code.name for check in ALL_CHECKS for code in check.codes
    }


def _names() -> list[str]:
    return [area.name for area in Area]
