"""Every format uses the same rows: the table, the wide table and the ticket contain the rows of the JSON document."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.verdict import plan_summary
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.report.text import Appearance
from tests.drain.report.plans import a_target, a_view, an_empty_plan

render = DrainReport.render

PASSING = ("disagrees", "serial", "fits")
TEXTS = ("table", "wide", "markdown", "html")
WHOLE = ("wide", "markdown", "html")
"""Those that leave nothing out; the table fits a screen, and counts what it leaves out."""


def squeezed(text: str) -> str:
    """Text without line breaks and Markdown's backslashes, so that wrapped text is found."""
    return re.sub(r"\s+", " ", text.replace("\\", ""))


def check_same_rows(view: DrainReport) -> None:
    """Each text contains the nodes, the blocking budgets and the blockers."""
    doc: Any = json.loads(render(view, "json", Appearance()))
    for fmt in WHOLE:
        text = squeezed(render(view, fmt, Appearance()))
        for target in doc["targets"]:
            assert target["name"] in text, f"{fmt} lacks node {target['name']}"
        for budget in doc["budgets"]:
            if budget["verdict"] not in PASSING:
                assert f"{budget['namespace']}/{budget['name']}" in text, f"{fmt} lacks budget {budget['name']}"
        for blocker in doc["blockers"]:
            assert blocker["code"] in text and blocker["subject"]["name"] in text, f"{fmt} lacks {blocker}"


def check_wide_has_all(view: DrainReport) -> None:
    doc: Any = json.loads(render(view, "json", Appearance()))
    wide = render(view, "wide", Appearance())
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


@pytest.mark.parametrize("fmt", DrainReport.formats)
def test_an_empty_plan_can_be_shown(fmt: str) -> None:
    text = render(a_view(an_empty_plan()), fmt, Appearance())
    assert fmt == "name" or text.endswith("\n")
    if fmt in TEXTS:
        assert "No node to drain. Nothing to evict. No blockers." in text.replace("*", "")
        assert "BLOCKERS" not in text and "### Blockers" not in text


def test_one_node_that_can_be_drained() -> None:
    plan = an_empty_plan(targets=(a_target("old-0", TargetVerdict.DRAINS, 1),))
    assert plan_summary(a_view(plan)) == "1 node to drain: it can be drained. Nothing to evict. No blockers."


def test_a_format_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no output format 'xml'"):
        render(a_view(), "xml", Appearance())
