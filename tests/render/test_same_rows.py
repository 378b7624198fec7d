"""Every format comes from the same rows: what JSON says is in the table, the wide table and the ticket."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.render.drain.report import DrainReport
from kubectl_eksdoc.render.drain.verdict import verdict
from kubectl_eksdoc.render.text import Look
from tests.render.plans import a_finding, a_target, a_view, an_empty_plan

render = DrainReport.render

PASSING = ("disagrees", "serial", "fits")
TEXTS = ("table", "wide", "markdown", "html")
WHOLE = ("wide", "markdown", "html")
"""Those that leave nothing out; the table fits a screen, and counts what it leaves out."""


def squeezed(text: str) -> str:
    """Without line breaks and Markdown's backslashes, to find what was wrapped."""
    return re.sub(r"\s+", " ", text.replace("\\", ""))


def check_same_rows(view: DrainReport) -> None:
    """Nodes, budgets that block and blockers are in each text."""
    doc: Any = json.loads(render(view, "json", Look()))
    for fmt in WHOLE:
        text = squeezed(render(view, fmt, Look()))
        for target in doc["targets"]:
            assert target["name"] in text, f"{fmt} lacks node {target['name']}"
        for budget in doc["budgets"]:
            if budget["verdict"] not in PASSING:
                assert f"{budget['namespace']}/{budget['name']}" in text, f"{fmt} lacks budget {budget['name']}"
        for blocker in doc["blockers"]:
            assert blocker["code"] in text and blocker["subject"]["name"] in text, f"{fmt} lacks {blocker}"


def check_wide_has_all(view: DrainReport) -> None:
    doc: Any = json.loads(render(view, "json", Look()))
    wide = render(view, "wide", Look())
    for row in (*doc["evictions"], *doc["left"], *doc["budgets"]):
        assert f"{row['namespace']}/{row['name']}" in wide
    said = squeezed(wide)
    for handoff in doc["handoffs"]:
        for step in (*handoff["arrive"], *handoff["leave"]):
            assert squeezed(step["text"]) in said and all(command in wide for command in step["commands"])
        assert all(squeezed(text) in said for text in handoff["beware"])
        for way in handoff["instead"]:
            assert all(pod in wide for pod in way["stoppedBy"] + way["evictedUnasked"])
    for finding in doc["findings"]:
        assert squeezed(finding["code"]) in said
        for remedy in finding["remedy"]:
            assert remedy.get("command", "") in wide.replace("> DUMP/", "> ")


def test_nodes_budgets_and_blockers_are_in_every_text() -> None:
    check_wide_has_all(a_view())
    doc = json.loads(render(a_view(), "json", Look()))
    pods = [b["subject"]["name"] for b in doc["blockers"] if b["code"] == "pod-emptydir"]
    assert len(pods) == 9
    for fmt in ("wide", "markdown", "html"):
        check = squeezed(render(a_view(), fmt, Look()))
        assert all(name in check for name in pods)
    check = render(a_view(), "table", Look())
    assert re.search(r"✗ pod-emptydir on \d+ nodes?, frees .*: shop/cache", check)


@pytest.mark.parametrize("fmt", DrainReport.formats)
def test_an_empty_plan_can_be_shown(fmt: str) -> None:
    text = render(a_view(an_empty_plan()), fmt, Look())
    assert fmt == "name" or text.endswith("\n")
    if fmt in TEXTS:
        assert "No node to drain. Nothing to evict. No blockers." in text.replace("*", "")
        assert "BLOCKERS" not in text and "### Blockers" not in text


def test_one_node_that_can_be_drained() -> None:
    plan = an_empty_plan(targets=(a_target("old-0", TargetVerdict.DRAINS, 1),))
    assert verdict(a_view(plan)) == "1 node to drain: it can be drained. Nothing to evict. No blockers."


def test_a_format_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no output format 'xml'"):
        render(a_view(), "xml", Look())


def test_long_lists_are_cut_in_the_table_and_whole_in_wide() -> None:
    from dataclasses import replace

    from kubectl_eksdoc.model.findings import Code, Status, Subject
    from tests.builders import a_node

    targets = tuple(
        replace(a_target("old-0", TargetVerdict.DRAINS, n), node=a_node(f"node-{n:03}")) for n in range(1, 101)
    )
    blockers = tuple(
        a_finding(Code.of("pod-unmanaged"), Status.FAIL, Subject("Deployment", f"app-{n:03}", "shop"))
        for n in range(60)
    )
    view = a_view(an_empty_plan(targets=targets, findings=blockers))
    table, wide = render(view, "table", Look()), render(view, "wide", Look())
    assert "node-008" in table and "node-009" not in table
    assert "  … 92 more targets (-o wide)" in table
    assert "✗ pod-unmanaged, frees no node by itself: shop/app-000, shop/app-001 and 58 more\n" in table
    assert table.count("✗ pod-unmanaged") == 1 and len(table.splitlines()) <= 45
    assert "node-100" in wide and "app-059" in wide and "(-o wide)" not in wide
