"""What CloudWatch has counted of requests without a token: what it proves, and what it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.imds_probe.plan import plan_metadata
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.machines import MetadataOptions, SaidOptions, V1Calls
from kubectl_eksdoc.model.findings import Finding, Status
from tests.imds_probe.fixes.nodes_of_all_kinds import cloud, ident

LONG = V1Calls(0, None, 14)


def told(*calls: V1Calls | Unknown, tokens: str = "optional") -> dict[str, Finding]:
    """Of nodes of one group that all come back with tokens required."""
    kinds = ["own template"] * len(calls)
    world = cloud(*kinds, options=MetadataOptions(tokens, 2), said=SaidOptions("required", 2))
    facts = replace(world.facts(), v1_calls={ident(at): each for at, each in enumerate(calls)})
    return {each.code.name: each for each in plan_metadata(facts, 2).findings}


def test_requests_that_are_answered_now_and_refused_then_fail() -> None:
    found = told(V1Calls(12, None, 3), LONG)["imds-tokens-required"]
    assert found.status is Status.FAIL and found.message.startswith(
        "12 requests without a token (IMDSv1) were answered"
    )
    assert "on 1 of 2 nodes" in found.message and any("on the host count too" in each for each in found.evidence)


def test_none_in_two_weeks_on_every_node_passes() -> None:
    assert told(LONG, LONG)["imds-tokens-required"].status is Status.PASS
    assert told(LONG, V1Calls(0, None, 1))["imds-tokens-required"].status is Status.PASS, "a young node beside an old"


@pytest.mark.parametrize(
    "calls",
    [(V1Calls(0, None, 2),), (LONG, V1Calls()), (LONG, Unknown("denied", "cloudwatch:GetMetricData")), (V1Calls(),)],
)
def test_too_few_figures_are_no_pass(calls: tuple[V1Calls | Unknown, ...]) -> None:
    found = told(*calls)["imds-tokens-required"]
    assert found.status is Status.UNKNOWN and "--evidence cloudwatch" in found.remedy[0].command


def test_what_was_refused_is_unknown_and_names_the_nodes() -> None:
    found = told(V1Calls(None, 7, 3), V1Calls(None, 0, 3), tokens="required")
    assert found["imds-v1-rejected"].status is Status.UNKNOWN and "n0: 7" in found["imds-v1-rejected"].evidence
    assert "0 answered, 7 refused" in found["imds-v1-counted"].message
    assert "imds-v1-rejected" not in told(V1Calls(None, 0, 3), tokens="required")


def test_what_was_asked_for_is_answered() -> None:
    assert told(V1Calls(), tokens="required")["imds-v1-counted"].status is Status.UNKNOWN
    denied = told(LONG, Unknown("denied", "cloudwatch:GetMetricData"))
    assert denied["imds-evidence-unknown"].missing == "cloudwatch:GetMetricData"
    assert "figures of 1 of 2 instances" in denied["imds-v1-counted"].message
