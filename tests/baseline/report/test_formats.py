"""Every kind of change in every format; EKSDOC_UPDATE_GOLDEN=1 writes the golden files again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.report.schemas as schemas
from kubectl_eksdoc.baseline import report as screen
from kubectl_eksdoc.baseline.changes import ChangedOption, ResultComparison, outline_of
from kubectl_eksdoc.baseline.report import SinceResult
from kubectl_eksdoc.baseline.side import ResultSide, compare_findings
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.findings import Severity, Status, Subject
from kubectl_eksdoc.report.encode import to_json
from kubectl_eksdoc.report.report import TerminalBackend
from kubectl_eksdoc.report.result import to_json_types
from kubectl_eksdoc.report.text import Appearance
from tests.broken_documents import accepted
from tests.builders import NOW
from tests.check.report.checked import LOOK, SKEW, STUCK, usual, view
from tests.report.golden import check_golden
from tests.yaml_reader import printed

GOLDEN = Path(__file__).parent / "golden"
WHO = Identity("prod-eu", "shop", "", "eu-central-1", "v1.33.1", "")
THEN = NOW - timedelta(days=2)


def said(code: str, status: Status = Status.FAIL, severity: Severity = Severity.HIGH, name: str = "") -> FindingOutline:
    what = f"what {code} says is so, and says it in a sentence that is longer than a narrow screen is wide"
    return FindingOutline(code, Subject("Deployment", name or f"of-{code}", "shop"), severity, status, what)


WORSE = said("worse"), said("worse", severity=Severity.CRITICAL)
BETTER = said("better"), said("better", severity=Severity.LOW)
OPEN = replace(said("hidden", Status.UNKNOWN), subject=Subject("Cluster", "shop"), message="pods may not be listed")
LOOKED_FOR = frozenset({"worse", "better", "was-unknown", "same", "accepted", "mended", "known", "new"})
BEFORE = ResultSide(
    (
        WORSE[0],
        BETTER[0],
        said("was-unknown", Status.UNKNOWN),
        said("same"),
        said("same", name="other"),
        said("now-unknown"),
        said("hidden"),
        said("not-looked"),
        said("accepted"),
        said("mended"),
        said("known", Status.UNKNOWN),
    ),
    (said("counts-again"),),
    LOOKED_FOR,
)
AFTER = ResultSide(
    (
        WORSE[1],
        BETTER[1],
        said("was-unknown"),
        said("same"),
        said("same", name="other"),
        said("now-unknown", Status.UNKNOWN),
        OPEN,
        said("counts-again"),
        said("new", severity=Severity.CRITICAL),
        said("not-asked", severity=Severity.MEDIUM),
        *(said("new", name=f"more-{number}") for number in range(9)),
    ),
    (said("accepted"),),
    LOOKED_FOR | {"now-unknown", "hidden"},
)


def a_since(**more: Any) -> ResultComparison:
    changes, unchanged = compare_findings(BEFORE, AFTER)
    asked = (ChangedOption("gate", "after", None), ChangedOption("only", None, ["a", "b"]))
    earlier = SavedResult("monday.json", WHO, Source.LIVE, THEN, "0.0.1")
    return replace(ResultComparison(earlier, "", asked, changes, unchanged, ("The way is another one.",)), **more)


SINCE = a_since()


@pytest.mark.parametrize(
    ("file", "look", "full"),
    [
        ("table-120.txt", Appearance(120), False),
        ("table-80.txt", Appearance(80), False),
        ("table-ascii.txt", Appearance(100, ascii=True), False),
        ("table-colour.txt", Appearance(120, colour=True), False),
        ("wide.txt", Appearance(120), True),
    ],
)
def test_a_screen(file: str, look: Appearance, full: bool) -> None:
    section = screen.section(SINCE, NOW, full, "0.0.2")
    assert section is not None
    lines = TerminalBackend(full).section_lines(section, look)
    check_golden(GOLDEN / file, "\n".join(lines) + "\n")
    assert look.colour or max(map(len, lines)) <= look.columns
    assert not look.ascii or "\n".join(lines).isascii()


def test_markdown() -> None:
    check_golden(GOLDEN / "section.md", "\n".join(screen.markdown_lines(SINCE, 5, "0.0.2")) + "\n")


def test_json() -> None:
    check_golden(GOLDEN / "since.json", to_json({"since": to_json_types(SinceResult.of(SINCE))}))


def test_its_schema_refuses_what_is_broken() -> None:
    defs = schemas.load_schema("UpgradeCheck")["$defs"]
    judge = jsonschema.Draft202012Validator({"$defs": defs, "$ref": "#/$defs/SinceResult"})
    loose = accepted(judge, printed(SinceResult.of(SINCE)), ("asked.*.earlier", "asked.*.now"))
    assert {each for each in loose if not each.endswith(".subject.namespace")} == set()


def test_without_an_earlier_answer_nothing_is_said() -> None:
    assert screen.section(None, NOW, True) is None and screen.markdown_lines(None, 5) == []
    assert screen.change_marks(None)(SKEW) == ""


@pytest.mark.parametrize(
    ("before", "said_so"),
    [
        (timedelta(days=2), "2d before"),
        (timedelta(0), "the same time"),
        (timedelta(milliseconds=-1), "the same time"),
        (timedelta(hours=-3), "3h later"),
    ],
)
def test_how_long_ago_it_was(before: timedelta, said_so: str) -> None:
    earlier = replace(SINCE.earlier, observed_at=NOW - before)
    assert f"({said_so}, monday.json)" in screen.title(replace(SINCE, earlier=earlier), NOW)


def test_a_doubt_about_the_cluster_and_another_version_are_said_first() -> None:
    told = list(screen.remarks(a_since(cluster_doubt="nobody knows"), "0.0.2"))
    assert told[0] == "It is unknown whether both are about one cluster: nobody knows."
    assert told[1] == "Version 0.0.1 made the earlier one, this is 0.0.2: the tool may make the difference."
    assert told[2:] == ["Asked differently: --gate and --only.", "The way is another one."]


def test_many_options_are_cut() -> None:
    asked = tuple(ChangedOption(name, None, 1) for name in "abcdefgh")
    assert "Asked differently: --a, --b, --c, --d, --e and 3 more." in screen.remarks(a_since(changed_options=asked))


def test_rows_of_a_check_are_marked_on_both_pages() -> None:
    earlier = SavedResult("monday.json", WHO, Source.LIVE, THEN, "0.0.0")
    seen = view(usual(SKEW, STUCK))
    then = ResultSide(tuple(outline_of(each) for each in seen.plan.findings if each.code is not SKEW.code))
    changes, unchanged = compare_findings(then, ResultSide(tuple(map(outline_of, seen.plan.findings))))
    told = replace(seen, since=ResultComparison(earlier, changes=changes, unchanged=unchanged))
    for output in ("table", "wide"):
        text = told.render(output, LOOK)
        assert "✗ high (new) kubelet-skew: Nodegroup blue" in text
        assert "✗ high pod-several-budgets: Deployment shop/web" in text
        assert text.index("SINCE ") < text.index("AREAS")
        assert "(new)" not in seen.render(output, LOOK)
