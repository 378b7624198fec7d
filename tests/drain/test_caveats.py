"""What the estimate says it takes for granted: that the control plane keeps pace, and that targets are healthy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.duration.estimate import caveats
from kubectl_eksdoc.drain.nodes import DrainContext, survey
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model.network import Service, TargetGroupBinding
from tests.builders import a_cluster, a_node, a_pod, pods
from tests.drain.planning import plan_of

GATE = "target-health.elbv2.k8s.aws/k8s-web"
WEB = Service("default", "web", "LoadBalancer", {"app": "web"}, ip_targets=True)


def a_survey(**facts: Any) -> DrainContext:
    return survey(a_cluster(**facts), (a_node(),), DrainPolicy())


@pytest.mark.parametrize(("count", "p50_s", "said"), [(960, 359, True), (960, 361, False), (3, 30, False)])
def test_the_control_planes_pace_is_said_where_it_may_decide(count: int, p50_s: float, said: bool) -> None:
    found = list(caveats(a_survey(), pods(count), p50_s))
    assert len(found) == said
    if said:
        assert found == [
            "the control plane keeps pace; one with default limits does about 8 evictions a second: then it takes at "
            "least 2m00s"
        ]


def test_targets_by_ip_without_a_gate_are_counted() -> None:
    gated = replace(a_pod("web-9"), readiness_gates=(GATE,))
    found = list(caveats(a_survey(services=[WEB]), [*pods(3), gated, a_pod("other", owner="ReplicaSet/other")], 1e9))
    assert len(found) == 1 and "3 pods are targets by ip without a readiness gate" in found[0]


@pytest.mark.parametrize(
    "facts",
    [
        {"services": [replace(WEB, ip_targets=False)]},
        {"services": [replace(WEB, namespace="elsewhere")]},
        {"services": [replace(WEB, type="ClusterIP")]},
    ],
)
def test_others_are_not(facts: dict[str, Any]) -> None:
    assert list(caveats(a_survey(**facts), pods(3), 1e9)) == []


def test_a_bound_target_group_counts_as_well() -> None:
    inner = replace(WEB, type="ClusterIP", ip_targets=False)
    bound = TargetGroupBinding("default", "web", "web", "ip")
    assert len(list(caveats(a_survey(services=[inner], target_group_bindings=[bound]), pods(1), 1e9))) == 1


def test_the_plan_says_it_with_its_assumptions() -> None:
    estimate = plan_of(pods=pods(1), services=[WEB]).estimate
    assert estimate is not None
    assert "1 pod is a target by ip without a readiness gate" in estimate.assumptions[-1]
