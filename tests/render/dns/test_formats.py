"""CoreDNS in every format: as it was read last, valid, and fit for a screen."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.coredns_lameduck.deployed import DnsFacts, InterruptionNotices
from kubectl_eksdoc.coredns_lameduck.plan import plan_dns
from kubectl_eksdoc.coredns_lameduck.shutdown import Shutdown, budget
from kubectl_eksdoc.model.coredns import Propagation
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.render.dns import LameduckReport, bar, legend
from kubectl_eksdoc.render.text import Look
from tests.broken import accepted
from tests.builders import NOW
from tests.coredns_lameduck.made import NODES, PODS, a_zoned, facts, lameduck, without
from tests.reading import yaml_of

GOLDEN = Path(__file__).parent / "golden"
JUDGE = jsonschema.Draft202012Validator(schemas.load("CorednsLameduck"))
SPOT = {"karpenter.sh/capacity-type": "spot", "karpenter.sh/nodepool": "general"}


def incident() -> DnsFacts:
    """Lameduck 5 s, one of two on a Spot node of which nobody hears, one that crashes."""
    nodes = (a_zoned("n-a", "a", **SPOT), a_zoned("n-b", "b"))
    pods = (PODS[0], replace(PODS[1], ready=False, not_ready_because="CrashLoopBackOff"))
    made = facts(text=lameduck("5s"), nodes=nodes, pods=pods)
    return replace(made, notices=InterruptionNotices(False, "its queue does not exist"))


def nothing() -> DnsFacts:
    none = Unknown("it may not be read", "get deployments.apps")
    made = without(facts(pods=(), nodes=()), deployment=none, config=none)
    return replace(made, addon=Unknown("denied", "eks:DescribeAddon"), inside={})


MADE = {
    "incident": incident,
    "healthy": facts,
    "nothing": nothing,
    "auto": lambda: replace(
        without(facts(nodes=[a_zoned("i", "a", **{"eks.amazonaws.com/compute-type": "auto"})], pods=()),
                deployment=Absent("none"), config=Absent("none")),
        inside={},
    ),
    "no-value": lambda: facts(text=lameduck("90s"), nodes=NODES * 600),
}  # fmt: skip


def view(name: str) -> LameduckReport:
    return LameduckReport(plan_dns(MADE[name]()), options={}, recognised="by its endpoint", tool_version="0.0.0")


@pytest.mark.parametrize(
    ("file", "name", "output", "look"),
    [
        ("incident-120.txt", "incident", "table", Look(120)),
        ("incident-80.txt", "incident", "table", Look(80)),
        ("incident-ascii.txt", "incident", "table", Look(100, ascii=True)),
        ("incident-wide.txt", "incident", "wide", Look(120)),
        ("incident.json", "incident", "json", Look(120)),
        ("healthy.txt", "healthy", "table", Look(100)),
        ("nothing.txt", "nothing", "table", Look(100)),
        ("auto.txt", "auto", "table", Look(100)),
        ("no-value.txt", "no-value", "table", Look(100)),
    ],
)
def test_it_reads_as_it_did(file: str, name: str, output: str, look: Look) -> None:
    text = view(name).render(output, look)
    path = GOLDEN / file
    if os.environ.get("EKSDOC_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(view(name).render("json", Look(120)))
    return found


@pytest.mark.parametrize("name", MADE)
def test_it_is_as_its_schema_says(name: str) -> None:
    JUDGE.validate(document(name))


def test_its_schema_refuses_what_is_broken() -> None:
    loose = accepted(JUDGE, document("incident"), ("metadata.options",))
    free = (".namespace", ".command", "Seconds", "MeasuredAt")
    assert {each for each in loose if not each.endswith(free)} == set()


def test_yaml_is_the_same() -> None:
    assert yaml_of(view("incident").render("yaml", Look(120))) == document("incident")


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_but_a_command_is_wider_than_the_terminal(name: str, columns: int) -> None:
    lines = view(name).render("table", Look(columns)).splitlines()
    assert [line for line in lines if len(line) > columns and not line.strip().startswith("kubectl")] == []


@given(
    st.integers(0, 600), st.integers(0, 100), st.one_of(st.none(), st.floats(0, 1000)), st.integers(0, 5000),
    st.integers(30, 200),
)  # fmt: skip
def test_the_bar_fits_and_says_where_lameduck_is(
    grace: int, hook: int, now: float | None, nodes: int, room: int
) -> None:
    lines = bar(budget(Shutdown(grace, hook, now or 0.0), nodes), now, Look(120), room)
    assert len(lines) == (2 if now is None else 3)
    assert all(len(line) <= room for line in lines)


def test_the_chart_calls_too_short_what_the_finding_does() -> None:
    """An estimate makes 5 s unknown; only answers that were seen to be lost make it too short."""
    eks = Shutdown(30, lameduck_s=5)
    assert "may be too short" in legend(budget(eks, 20)) and not budget(eks, 20).too_short
    lost, enough = Propagation(8, 20, NOW, lost=True), Propagation(8, 20, NOW)
    assert "too short as measured on 2026-11-20" in legend(budget(eks, 20, lost)) and budget(eks, 20, lost).too_short
    assert "shorter than what was enough as measured" in legend(budget(eks, 20, enough))
    assert not budget(eks, 20, enough).too_short
