"""Reports of differences from a baseline plan; `tests.drain.report.test_formats` covers every format."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.drain.comparison import plan_outline
from kubectl_eksdoc.drain.plan_changes import Measure, PlanFigure
from kubectl_eksdoc.drain.report.comparison import FIGURES, figure_change
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.result import PlanResult
from kubectl_eksdoc.model.baseline import Baseline, PlanOutline
from kubectl_eksdoc.report.text import Appearance
from tests.drain.report.comparisons import (
    BASELINE,
    BEFORE,
    ELSEWHERE,
    NOW,
    OPTIONS,
    a_compared_view,
)
from tests.drain.report.plans import CLUSTER, EC2, a_view
from tests.report.golden import check_golden
from tests.yaml_reader import printed

render = DrainReport.render


def document(view: DrainReport) -> Any:
    return printed(PlanResult.of(view))


def the_same() -> Baseline:
    """The current plan, saved."""
    return replace(
        BASELINE,
        outline=plan_outline(NOW),
        options={key: value for key, value in OPTIONS.items() if key != "baseline"},
        observed_at=CLUSTER.observed_at,
        tool_version="1.2.3",
        read=BASELINE.read - {"services"},
    )


def long_names() -> Baseline:
    """A baseline path deep in folders, nodes with EC2 names, and budgets with long names."""
    long = f"-{'long-' * 12}"
    findings = tuple(replace(f, subject=replace(f.subject, name=f"{f.subject.name}{long}")) for f in BEFORE.findings)
    return replace(
        BASELINE,
        file=f"/home/on-call/{'plans/' * 40}old.json",
        options={"nodes": [f"ip-10-0-{n}-{EC2}" for n in range(30)]},
        outline=replace(
            BEFORE,
            targets=tuple(replace(t, name=f"{t.name}-{EC2}", why=(EC2 * 9,)) for t in BEFORE.targets),
            budgets=tuple(replace(b, key=f"{b.key}{long}") for b in BEFORE.budgets),
            findings=findings,
        ),
    )


BASELINES = {
    "same": the_same(),
    "no times": replace(BASELINE, outline=replace(BEFORE, times=None)),
    "doubt": replace(BASELINE, identity=ELSEWHERE),
    "empty": replace(BASELINE, outline=PlanOutline((), (), (), 0, 0, 0, 0, None)),
    "long names": long_names(),
}


def test_the_page_has_a_section_of_it() -> None:
    text = render(a_compared_view(), "html", Appearance())
    check_golden(
        Path(__file__).parent / "golden_compared" / "section.html",
        text[text.index('<section id="compared">') : text.index('<section id="block')],
    )


def test_every_word_has_one_for_people() -> None:
    assert set(FIGURES) == set(Measure) and len(set(FIGURES.values())) == len(Measure)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\\", ""))


def test_every_row_of_the_document_is_in_every_text() -> None:
    view = a_compared_view()
    comparison: Any = json.loads(render(view, "json", Appearance()))["comparison"]
    for fmt in ("table", "wide", "markdown", "html"):
        text = squeezed(render(view, fmt, Appearance()))
        for row in comparison["figures"]:
            said = FIGURES[Measure(row["what"])]
            assert said in text or (fmt == "table" and row["baseline"] == row["now"]), f"{fmt} lacks {said}"
        for row in comparison["targets"]:
            assert row["name"] in text
        for row in comparison["budgets"]:
            assert row["budget"] in text


def test_a_view_without_a_baseline_says_nothing_of_one() -> None:
    assert "comparison" not in document(a_view())
    assert 'id="compared"' not in render(a_view(), "html", Appearance())


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (PlanFigure(Measure.DRAINED, 5, 6), "+1"),
        (PlanFigure(Measure.DRAINED, 6, 5), "-1"),
        (PlanFigure(Measure.DRAINED, 5, 5), "same"),
        (PlanFigure(Measure.P50, 100.0, 80.0), "-20s (-20%)"),
        (PlanFigure(Measure.P50, 0.0, 80.0), "+1m20s"),
        (PlanFigure(Measure.P50, None, 80.0), "-"),
        (PlanFigure(Measure.P50, 80.0, None), "-"),
        (PlanFigure(Measure.P50, None, None), "same"),
        (PlanFigure(Measure.GAP, 0.03, 0.2), "+17 points"),
        (PlanFigure(Measure.GAP, 0.0862, 0.444), "+35 points"),
        (PlanFigure(Measure.GAP, 0.101, 0.1), "under 1 point"),
        (PlanFigure(Measure.BINDS, "waves", "node old-0"), "changed"),
        (PlanFigure(Measure.BINDS, "waves", None), "-"),
    ],
)
def test_how_a_change_is_said(figure: PlanFigure, said: str) -> None:
    assert figure_change(figure) == said


def test_green_and_yellow_only_where_like_is_compared_with_like() -> None:
    """A plan for fewer nodes is neither better nor worse."""
    green, yellow = "\x1b[36m", "\x1b[33m"
    targets = tuple(replace(target, verdict="skipped") for target in plan_outline(NOW).targets)
    same_nodes = replace(BASELINE, outline=replace(BEFORE, targets=targets), read=BASELINE.read - {"services"})
    figures = [line for line in colours(same_nodes) if "nodes that can" in line or "time, p95" in line]
    assert green in figures[0] and yellow in figures[1]
    assert not any(green in line or yellow in line for line in colours(BASELINE) if "nodes that can" in line)


def colours(baseline: Baseline) -> list[str]:
    return render(a_compared_view(baseline), "table", Appearance(colour=True)).splitlines()


def test_nothing_differs() -> None:
    view = a_compared_view(the_same())
    text = render(view, "table", Appearance())
    assert "the same time, old.json)\n  4 unchanged.\n\n  Nothing differs.\n\nTARGETS" in text
    assert "Nothing differs." not in render(a_compared_view(), "table", Appearance())
