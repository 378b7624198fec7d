"""Every document of a rehearsal is as DrainRehearsal.json says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.drain.run.account import Record
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.render.rehearsal import RehearsalReport, RehearsalResult
from kubectl_eksdoc.render.text import Look
from tests.broken import accepted
from tests.reading import printed, yaml_of
from tests.render.plans import an_empty_plan
from tests.render.rehearsals import BADLY, WELL, a_rehearsal, a_rehearsal_view, at
from tests.render.test_schema import check_planted, places

render = RehearsalReport.render

SCHEMA = schemas.load("DrainRehearsal")
JUDGE = jsonschema.Draft202012Validator(SCHEMA)

REHEARSALS = {"well": WELL, "badly": BADLY, "empty": a_rehearsal((), 0.0, plan=an_empty_plan())}


def document(view: RehearsalReport) -> Any:
    return printed(RehearsalResult.of(view))


def complaints(doc: Any) -> list[str]:
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in JUDGE.iter_errors(doc)]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("went", REHEARSALS)
def test_documents_are_valid(went: str) -> None:
    view = a_rehearsal_view(REHEARSALS[went])
    said = json.loads(render(view, "json", Look()))
    assert complaints(document(view)) == [] and complaints(said) == []
    assert yaml_of(render(view, "yaml", Look())) == said


def test_its_schema_refuses_what_is_broken() -> None:
    loose = accepted(JUDGE, document(a_rehearsal_view(BADLY)), ("metadata.options",))
    assert {each for each in loose if not each.endswith((".namespace", ".command"))} == {
        "no metadata.kindsRead.*.detail",
        "no metadata.notes",
    }


def test_the_schema_notices_what_is_missing_and_what_is_too_much() -> None:
    """Planted once in each kind of object of a full document: a key too few, and a key too many."""
    doc = document(a_rehearsal_view(BADLY))
    check_planted(doc, JUDGE)
    assert complaints(doc) == []


def test_what_is_not_known_is_null_and_never_zero_or_empty() -> None:
    doc: Any = document(
        a_rehearsal_view(replace(BADLY, moments=(*BADLY.moments, at(300.0, Happened.REFUSED, "a/b", "n"))))
    )
    assert doc["lateSeconds"] is None
    spot = next(node for node in doc["nodes"] if node["name"] == "spot-0")
    assert spot["begunSeconds"] == 200.5 and spot["emptySeconds"] is None and spot["doneSeconds"] is None
    assert {"cause": None, "count": 1} in doc["refusals"]
    assert next(each for each in doc["pending"] if each["pod"] == "shop/web-5f7-8")["why"] is None
    assert [path for path, holder, key in places(doc) if holder[key] == ""] == []
    assert document(a_rehearsal_view(REHEARSALS["empty"]))["plan"] == {
        "drained": 0,
        "skipped": 0,
        "evictions": 0,
        "estimate": None,
    }


@pytest.mark.parametrize("rehearsal", [WELL, BADLY], ids=["well", "badly"])
def test_the_order_in_which_facts_are_handed_over_changes_nothing(rehearsal: Record) -> None:
    plan = rehearsal.plan
    turned = replace(
        rehearsal,
        plan=replace(plan, targets=plan.targets[::-1], evictions=plan.evictions[::-1], findings=plan.findings[::-1]),
        pending=rehearsal.pending[::-1],
        undone=dict(reversed(list(rehearsal.undone.items()))),
    )
    assert render(a_rehearsal_view(turned), "json", Look()) == render(a_rehearsal_view(rehearsal), "json", Look())


def test_times_are_from_the_start_and_lateness_has_a_sign() -> None:
    doc: Any = document(a_rehearsal_view(replace(WELL, ended_s=170.25)))
    assert (doc["endedSeconds"], doc["lateSeconds"]) == (170.25, -3.75)
    assert doc["plan"]["estimate"] == {"p50": 174.0, "p95": 299.0, "soak": None}
