"""Plans of the demo and the recorded clusters in every format: valid, with the same rows, and fit for a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.ports import ClusterReader
from kubectl_eksdoc.report.text import Appearance
from tests.drain.report.test_same_rows import check_same_rows, check_wide_has_all

render = DrainReport.render

CLUSTERS = Path(__file__).parents[2] / "data" / "clusters"

READERS: dict[str, Callable[[], ClusterReader]] = {
    "demo": DemoReader,
    "small-traps": lambda: DumpReader(str(CLUSTERS / "small-traps.tar.gz")),
    "rich": lambda: DumpReader(str(CLUSTERS / "rich.tar.gz")),
    "medium": lambda: DumpReader(str(CLUSTERS / "medium.tar.gz")),
}

GITHUB_TAKES = 65_536


@cache
def view_of(name: str) -> DrainReport:
    cluster, plan = plan_drain(READERS[name](), Targeting(nodegroups=("blue",)), DrainPolicy())
    return DrainReport(plan, cluster, {"nodegroup": ["blue"]})


LARGE = pytest.param("medium", marks=pytest.mark.long)


@pytest.fixture(params=["demo", "small-traps", "rich", LARGE])
def view(request: pytest.FixtureRequest) -> DrainReport:
    return view_of(request.param)


def test_the_document_is_always_the_same(view: DrainReport) -> None:
    text = render(view, "json", Appearance())
    again = DrainReport(view.plan, view.cluster, view.options)
    assert render(again, "json", Appearance()) == text


def test_blockers_are_the_findings_that_fail_and_skipped_the_targets_without_an_order(view: DrainReport) -> None:
    doc: Any = json.loads(render(view, "json", Appearance()))
    assert doc["blockers"] == [f for f in doc["findings"] if f["status"] == "fail"]
    assert [s["node"] for s in doc["skipped"]] == [t["name"] for t in doc["targets"] if t["order"] is None]
    assert doc["rounds"] == max((e["round"] for e in doc["evictions"]), default=0)


def test_wide_has_everything(view: DrainReport) -> None:
    check_wide_has_all(view)


@pytest.mark.parametrize("name", ["demo", "small-traps", "rich"])
def test_every_text_has_the_same_rows(name: str) -> None:
    check_same_rows(view_of(name))


def test_a_ticket_fits_into_an_issue(view: DrainReport) -> None:
    """The ticket names the parts that it omits: the cluster `medium` has 632 evictions."""
    ticket = render(view, "markdown", Appearance())
    assert len(ticket) <= GITHUB_TAKES
    assert ("more evictions; all of them are in `-o json`" in ticket) == (len(view.plan.evictions) > 200)


def test_each_eviction_is_while_its_node_is_under_way(view: DrainReport) -> None:
    doc: Any = json.loads(render(view, "json", Appearance()))
    begun = {target["name"]: target["startSeconds"] for target in doc["targets"]}
    done = {target["name"]: target["doneSeconds"] for target in doc["targets"]}
    assert all(begun[e["node"]] <= e["atSeconds"] < done[e["node"]] for e in doc["evictions"])
    assert doc["estimate"] is None or all(e["atSeconds"] < doc["estimate"]["p50"] for e in doc["evictions"])
