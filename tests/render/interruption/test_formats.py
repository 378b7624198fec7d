"""The handling of interruptions in every format: as it was read last, valid, and fit for a screen."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.interruption.plan import InterruptionPlan
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.queues import Notice
from kubectl_eksdoc.render.interruption.report import InterruptionReport
from kubectl_eksdoc.render.text import Look
from tests.broken import accepted
from tests.builders import NOW, a_budget, a_cluster, a_pod
from tests.interruption.healthy import a_dns_pod, a_spot_node, an_install, planned
from tests.reading import yaml_of

GOLDEN = Path(__file__).parent / "golden"
JUDGE = jsonschema.Draft202012Validator(schemas.load("Interruption"))
GONE: Any = Absent("there is none")
DENIED = Unknown("IAM does not allow profile 'ops' sqs:GetQueueUrl", "sqs:GetQueueUrl")
LOG = '{"time":"2026-11-20T08:50:36Z","message":"failed to create valid sqs provider","error":"\x1b[31m한글 ‮x"}'


def shop() -> Any:
    """With a notice, CoreDNS, a budget in the way, and names of every width."""
    nodes = [
        a_spot_node("spot-0", provider_id="aws:///eu-west-1a/i-0123"),
        a_spot_node("ip-10-0-48-24.eu-west-1.compute.internal-and-longer-than-that"),
    ]
    dns = [a_dns_pod("coredns-0", "spot-0"), a_dns_pod("coredns-1", nodes[1].name)]
    web = [a_pod(f"web-{i}", node=node.name, grace_seconds=200) for i, node in enumerate(nodes)]
    more = [a_pod(f"x-{i}", "한글", owner=f"ReplicaSet/작업-{i}", node="spot-0") for i in range(12)]
    return a_cluster(nodes=nodes, pods=[*dns, *web, *more], budgets=[a_budget(allowed=0)])


def incident() -> InterruptionPlan:
    notice = {"i-0123": Notice("i-0123", "marked-for-termination", NOW - timedelta(seconds=50))}
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


@pytest.mark.parametrize(
    ("file", "output", "look"),
    [
        ("table-120.txt", "table", Look(120)),
        ("table-80.txt", "table", Look(80)),
        ("table-ascii.txt", "table", Look(100, ascii=True)),
        ("wide.txt", "wide", Look(120)),
        ("interruption.json", "json", Look(120)),
    ],
)
def test_it_reads_as_it_did(file: str, output: str, look: Look) -> None:
    text = view().render(output, look)
    path = GOLDEN / file
    if os.environ.get("EKSDOC_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(view(name).render("json", Look(120)))
    return found


@pytest.mark.parametrize("name", sorted(PLANS))
def test_it_is_as_its_schema_says(name: str) -> None:
    JUDGE.validate(document(name))
    assert yaml_of(view(name).render("yaml", Look(120))) == document(name)


def test_its_schema_refuses_what_is_broken() -> None:
    assert accepted(JUDGE, document("incident"), ("metadata.options", "missing.policy")) == {
        "no findings.*.remedy.*.command",
        "no findings.*.subject.namespace",
        "no links.*.subject.namespace",
        "no outage.workloads.*.workload.namespace",
    }
    assert "no links.*.missing" in accepted(JUDGE, document("unknown"), ("metadata.options",))


@pytest.mark.parametrize("name", sorted(PLANS))
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_screen_but_commands(name: str, width: int) -> None:
    commands = {f"{' ' * 6}{remedy.command}" for each in view(name).plan.findings for remedy in each.remedy}
    for line in view(name).render("table", Look(width, ascii=True)).splitlines():
        assert len(line) <= width or line in commands, line


@pytest.mark.parametrize("name", sorted(PLANS))
@pytest.mark.parametrize("output", ["table", "wide"])
def test_nothing_steers_the_terminal(name: str, output: str) -> None:
    text = view(name).render(output, Look(100))
    assert "\x1b" not in text and "\u202e" not in text


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
    first = view(name).render("table", Look(400)).splitlines()[0]
    assert said in first


def test_one_page_when_all_is_well() -> None:
    assert view("healthy").render("table", Look(80)).count("\n") < 40
