"""Reports on interruption handling; in every format: `tests.drain.report.test_formats`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.report.schemas as schemas
from kubectl_eksdoc.interruption.plan import InterruptionPlan
from kubectl_eksdoc.interruption.report import InterruptionReport
from kubectl_eksdoc.model.interruption import SpotInterruptionNotice
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.report.text import Appearance
from tests.broken_documents import accepted
from tests.builders import NOW, a_budget, a_cluster, a_pod
from tests.interruption.healthy import a_dns_pod, a_spot_node, an_install, planned
from tests.report.golden import TABLES, AnswerFormats

GONE: Any = Absent("there is none")
DENIED = Unknown("IAM does not allow profile 'ops' sqs:GetQueueUrl", "sqs:GetQueueUrl")
LOG = '{"time":"2026-11-20T08:50:36Z","message":"failed to create valid sqs provider","error":"\x1b[31m한글 ‮x"}'


def shop() -> Any:
    """A cluster with a notice, CoreDNS, a budget that blocks, and names of every width."""
    nodes = [
        a_spot_node("spot-0", provider_id="aws:///eu-west-1a/i-0123"),
        a_spot_node("ip-10-0-48-24.eu-west-1.compute.internal-and-longer-than-that"),
    ]
    dns = [a_dns_pod("coredns-0", "spot-0"), a_dns_pod("coredns-1", nodes[1].name)]
    web = [a_pod(f"web-{i}", node=node.name, grace_seconds=200) for i, node in enumerate(nodes)]
    more = [a_pod(f"x-{i}", "한글", owner=f"ReplicaSet/작업-{i}", node="spot-0") for i in range(12)]
    return a_cluster(nodes=nodes, pods=[*dns, *web, *more], budgets=[a_budget(allowed=0)])


def incident() -> InterruptionPlan:
    notice = {"i-0123": SpotInterruptionNotice("i-0123", "marked-for-termination", NOW - timedelta(seconds=50))}
    return planned(
        cluster=shop(), queue=GONE, rules=(), targets={}, notices=notice, logs={"kube-system/karpenter-0": LOG}
    )


PLANS: dict[str, Callable[[], InterruptionPlan]] = {
    "incident": incident,
    "healthy": planned,
    "unknown": lambda: planned(
        cluster=shop(), queue=DENIED, rules=DENIED, identity=DENIED, policies=DENIED, figures=DENIED
    ),
    "late": lambda: planned(cluster=shop()),
    "not set": lambda: planned(an_install("0.33.0", variable=GONE)),
    "no karpenter": lambda: planned(GONE, a_cluster()),
    "gone": lambda: planned(GONE, shop()),
    "not known": lambda: planned(Unknown("forbidden", "get deployments.apps"), shop()),
}


def view(name: str = "incident") -> InterruptionReport:
    return InterruptionReport(
        PLANS[name](), options={"queue": "prod"}, recognised="by its endpoint", tool_version="0.0.0"
    )


ANSWERS = AnswerFormats(
    Path(__file__).parent / "golden",
    {name: partial(view, name) for name in PLANS},
    TABLES | {"interruption.json": ("json", Appearance(120))},
    free=("missing.policy",),
    commands=lambda report: {remedy.command for each in report.plan.findings for remedy in each.remedy},
)


def test_what_an_unknown_link_lacks_may_be_missing() -> None:
    judge = jsonschema.Draft202012Validator(schemas.load_schema("Interruption"))
    document = json.loads(view("unknown").render("json", Appearance()))
    assert "no links.*.missing" in accepted(judge, document, ("metadata.options",))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("healthy", "receives Spot interruption events. 1 Spot node of Karpenter"),
        ("not set", "receives no Spot interruption events: the link setting is broken."),
        ("no karpenter", "There is no Karpenter. No node is known to be Spot."),
        ("gone", "There is no Karpenter, and 2 nodes that it made."),
        ("not known", "How Karpenter is configured is unknown"),
        ("unknown", "Whether Karpenter v1.5.0 (kube-system/karpenter) receives Spot interruption events is not known"),
        ("incident", "1 of them has a notice NOW."),
    ],
)
def test_the_first_lines_say_it_all(name: str, said: str) -> None:
    first = view(name).render("table", Appearance(400)).splitlines()[0]
    assert said in first
