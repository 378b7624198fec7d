"""What differs from a baseline, in every format; EKSDOC_UPDATE_GOLDEN=1 writes the golden files anew."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.drain.comparison.changes import Change, Measure, PlanFigure
from kubectl_eksdoc.drain.comparison.comparing import compare, outline
from kubectl_eksdoc.model.baseline import Baseline, PlanOutline
from kubectl_eksdoc.render.drain.comparison import FIGURES, FINDING, figure_change
from kubectl_eksdoc.render.drain.report import DrainReport
from kubectl_eksdoc.render.drain.result import PlanResult
from kubectl_eksdoc.render.text import Look
from tests.reading import printed, yaml_of
from tests.render.comparisons import BASELINE, BEFORE, ELSEWHERE, NOW, OPTIONS, a_compared_view
from tests.render.plans import CLUSTER, a_view
from tests.render.test_golden import check_golden

render = DrainReport.render

GOLDEN = Path(__file__).parent / "golden_compared"

CASES = {
    "table-120.txt": ("table", Look()),
    "table-80.txt": ("table", Look(width=80)),
    "table-colour.txt": ("table", Look(colour=True)),
    "wide.txt": ("wide", Look()),
    "markdown.md": ("markdown", Look()),
    "section.html": ("html", Look()),
    "plan.json": ("json", Look()),
    "plan.yaml": ("yaml", Look()),
    "name.txt": ("name", Look()),
}

JUDGE = jsonschema.Draft202012Validator(schemas.load("DrainPlan"))


def document(view: DrainReport) -> Any:
    return printed(PlanResult.of(view))


def shown(fmt: str, look: Look) -> str:
    """The whole answer; of the page only the section, which is all that is another one here."""
    text = render(a_compared_view(), fmt, look)
    return text if fmt != "html" else text[text.index('<section id="compared">') : text.index('<section id="block')]


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    check_golden(GOLDEN / name, shown(*CASES[name]))


def test_every_format_has_a_golden_file_and_no_file_is_left_over() -> None:
    assert {fmt for fmt, _ in CASES.values()} == set(DrainReport.formats)
    assert {path.name for path in GOLDEN.iterdir()} == set(CASES)


def the_same() -> Baseline:
    """The plan of now, saved."""
    return replace(
        BASELINE,
        outline=outline(NOW),
        options={key: value for key, value in OPTIONS.items() if key != "baseline"},
        observed_at=CLUSTER.observed_at,
        tool_version="1.2.3",
        read=BASELINE.read - {"services"},
    )


def without_times() -> Baseline:
    return replace(BASELINE, outline=replace(BEFORE, times=None))


@pytest.mark.parametrize(
    "baseline",
    [BASELINE, the_same(), without_times(), replace(BASELINE, identity=ELSEWHERE),
     replace(BASELINE, outline=PlanOutline((), (), (), 0, 0, 0, 0, None))],
    ids=["all", "same", "no times", "doubt", "empty"],
)  # fmt: skip
def test_documents_are_valid_and_all_formats_take_them(baseline: Baseline) -> None:
    view = a_compared_view(baseline)
    assert [e.message for e in JUDGE.iter_errors(json.loads(json.dumps(document(view))))] == []
    assert yaml_of(render(view, "yaml", Look())) == json.loads(render(view, "json", Look()))
    for fmt in ("table", "wide", "markdown", "html"):
        assert "compared with old.json (live data of" in render(view, fmt, Look()).lower()


def test_every_word_has_one_for_people() -> None:
    assert set(FIGURES) == set(Measure) and len(set(FIGURES.values())) == len(Measure)
    assert set(FINDING) == set(Change)


def test_the_schema_notices_what_is_missing_and_what_is_too_much() -> None:
    doc: Any = json.loads(json.dumps(document(a_compared_view())))
    for holder in (
        doc["comparison"],
        doc["comparison"]["baseline"],
        *(doc["comparison"][name][0] for name in ("figures", "asked", "targets", "budgets", "findings")),
        next(b for b in doc["comparison"]["budgets"] if b["now"])["now"],
        next(f for f in doc["comparison"]["findings"] if f["now"])["now"],
    ):
        for key in list(holder):
            kept = holder.pop(key)
            assert not JUDGE.is_valid(doc), f"{key} may be left out"
            holder[f"{key}X"] = kept
            holder[key] = kept
            assert not JUDGE.is_valid(doc), f"something beside {key} is taken"
            del holder[f"{key}X"]
    assert JUDGE.is_valid(doc)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\\", ""))


def test_every_row_of_the_document_is_in_every_text() -> None:
    view = a_compared_view()
    comparison: Any = json.loads(render(view, "json", Look()))["comparison"]
    for fmt in ("table", "wide", "markdown", "html"):
        text = squeezed(render(view, fmt, Look()))
        for row in comparison["figures"]:
            said = FIGURES[Measure(row["what"])]
            assert said in text or (fmt == "table" and row["baseline"] == row["now"]), f"{fmt} lacks {said}"
        for row in comparison["asked"]:
            assert f"--{row['option']}" in text
        for row in comparison["targets"]:
            assert row["name"] in text
        for row in comparison["budgets"]:
            assert row["budget"] in text
        for row in comparison["findings"]:
            notes = {(said["status"], said["severity"]) for said in (row["baseline"], row["now"]) if said}
            assert row["subject"]["name"] in text or (fmt == "table" and notes == {("pass", "info")})


def test_a_view_without_a_baseline_says_nothing_of_one() -> None:
    assert "comparison" not in document(a_view())
    assert "COMPARED" not in render(a_view(), "table", Look())
    assert 'id="compared"' not in render(a_view(), "html", Look())


def test_the_names_are_the_same_with_and_without_a_baseline() -> None:
    assert render(a_compared_view(), "name", Look()) == render(a_view(NOW), "name", Look())


def test_nothing_differs() -> None:
    view = a_compared_view(the_same())
    text = render(view, "table", Look())
    assert "as old as this plan's)\n  Nothing differs.\n\nTARGETS" in text
    assert "Nothing differs." not in render(a_compared_view(), "table", Look())


def test_doubts_are_said_first_and_the_document_does_not_call_it_the_same() -> None:
    view = a_compared_view(replace(BASELINE, identity=ELSEWHERE))
    assert "  It is unknown whether both plans are of one cluster: " in render(view, "table", Look())
    doc: Any = document(view)
    assert doc["comparison"]["sameCluster"] is None
    sure: Any = document(a_compared_view())
    assert sure["comparison"]["sameCluster"] is True


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
    """What came of asking for fewer nodes is neither better nor worse."""
    green, yellow = "\x1b[36m", "\x1b[33m"
    targets = tuple(replace(target, verdict="skipped") for target in outline(NOW).targets)
    same_nodes = replace(BASELINE, outline=replace(BEFORE, targets=targets), read=BASELINE.read - {"services"})
    figures = [line for line in colours(same_nodes) if "nodes that can" in line or "time, p95" in line]
    assert green in figures[0] and yellow in figures[1]
    assert not any(green in line or yellow in line for line in colours(BASELINE) if "nodes that can" in line)


def colours(baseline: Baseline) -> list[str]:
    return render(a_compared_view(baseline), "table", Look(colour=True)).splitlines()


def test_long_lists_are_cut_in_the_table_and_whole_in_wide() -> None:
    before = replace(
        BEFORE,
        findings=tuple(
            replace(BEFORE.findings[0], subject=replace(BEFORE.findings[0].subject, name=f"app-{n:03}"))
            for n in range(40)
        ),
    )
    view = a_compared_view(replace(BASELINE, outline=before))
    table, wide = render(view, "table", Look()), render(view, "wide", Look())
    assert "more (-o wide)" in table and "app-039" not in table
    assert all(f"app-{n:03}" in wide for n in range(40))


def test_what_was_compared_is_what_is_shown() -> None:
    view = a_compared_view()
    assert view.comparison == compare(BASELINE, CLUSTER, NOW, OPTIONS)
