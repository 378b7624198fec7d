"""A saved plan is read back unchanged, and any other file at the path is rejected in one sentence."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.drain.comparison import plan_outline
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.host.saved import read_baseline
from kubectl_eksdoc.model.baseline import Baseline
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.report.text import Appearance
from tests.drain.report.comparisons import NOW, OPTIONS, a_compared_view
from tests.drain.report.plans import CLUSTER, PLAN, a_view, an_empty_plan

render = DrainReport.render

TEXT = render(a_view(NOW, options=OPTIONS), "json", Appearance())


def read(text: str | bytes, folder: Path) -> Baseline:
    path = folder / "plan.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_baseline(str(path))


def refusal(text: str | bytes, folder: Path) -> BaselineError:
    with pytest.raises(BaselineError) as caught:
        read(text, folder)
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize("plan", [NOW, PLAN, an_empty_plan()], ids=["now", "full", "empty"])
def test_a_plan_is_read_back_as_it_was_made(plan: DrainPlan, tmp_path: Path) -> None:
    """Only the order of lists may differ: it is the document's. The document has a blocker twice; it counts once."""
    found = read(render(a_view(plan, options=OPTIONS), "json", Appearance()), tmp_path)
    made, back = plan_outline(plan), found.outline
    for one, other in ((made.targets, back.targets), (made.budgets, back.budgets), (made.findings, back.findings)):
        assert set(one) == set(other) and len(one) == len(other)
    assert (made.evictions, made.left, made.rounds, made.waves, made.times) == (
        back.evictions,
        back.left,
        back.rounds,
        back.waves,
        back.times,
    )
    assert found.identity == CLUSTER.identity
    assert (found.source, found.tool_version) == (Source.SNAPSHOT, "1.2.3")
    assert found.observed_at == CLUSTER.observed_at.astimezone(timezone.utc) == datetime(
        2026, 11, 20, 12, tzinfo=timezone.utc
    )  # fmt: skip
    assert found.options == OPTIONS
    assert made.stops == back.stops
    assert found.read == {read.resource.full_name for read in CLUSTER.reads if read.known}
    assert found.uids == {t.node.uid for t in plan.targets} | {h.budget.uid for h in plan.budgets}
    assert found.file == str(tmp_path / "plan.json")


def test_a_plan_that_was_compared_can_be_a_baseline(tmp_path: Path) -> None:
    assert read(render(a_compared_view(), "json", Appearance()), tmp_path).outline == read(TEXT, tmp_path).outline


def test_an_older_or_newer_form_is_named_with_the_version_that_made_it(tmp_path: Path) -> None:
    document = json.loads(TEXT) | {"apiVersion": "eksdoc.io/v2"}
    assert "made by kubectl eksdoc 1.2.3." in refusal(json.dumps(document), tmp_path).hint


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("metadata.observedAt", "yesterday", "metadata.observedAt is no moment in UTC"),
        ("metadata.source", "rumour", "metadata.source is 'rumour', which is not known here"),
        ("metadata.toolVersion", "", "metadata.toolVersion is no text"),
        ("metadata.cluster.uid", 7, "metadata.cluster.uid is no text"),
        ("metadata.options.partial", {}, "metadata.options.partial is no value of a flag"),
        ("metadata.options.nodegroup", [1], "metadata.options.nodegroup holds more than texts"),
        ("rounds", -1, "rounds is no count"),
        ("rounds", True, "rounds is no count"),
        ("rounds", 10**400, "rounds is no count"),
        ("evictions", None, "evictions is no list"),
        ("evictions", [1], "evictions[0] is no object"),
        ("estimate.p50", 1e308, "estimate.p50 is no amount"),
        ("targets.1.why", ["a", 7], "targets[1].why holds more than texts"),
        ("budgets.0.perRound", None, "budgets[0].perRound is no count"),
        ("findings.0.severity", "awful", "findings[0].severity is 'awful', which is not known here"),
        ("findings.0.subject.namespace", None, "findings[0].subject.namespace is no text"),
    ],
)
def test_what_is_of_another_form_is_named(where: str, value: object, said: str, tmp_path: Path) -> None:
    document: Any = json.loads(TEXT)
    holder = document
    *above, key = where.split(".")
    for step in above:
        holder = holder[int(step)] if step.isdigit() else holder[step]
    holder[key] = value
    error = refusal(json.dumps(document), tmp_path)
    assert error.message.endswith(f"is not as this version writes it: {said}")


NEEDED = ("metadata", "targets", "budgets", "findings", "evictions", "left", "waves", "rounds", "estimate",
          "lowerBound", "gap", "options")  # fmt: skip


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    document = json.loads(TEXT)
    for key in NEEDED:
        without = {name: value for name, value in document.items() if name != key}
        assert refusal(json.dumps(without), tmp_path).message.endswith(f": {key} is missing")


def test_what_is_not_compared_may_be_anything(tmp_path: Path) -> None:
    document = {key: value for key, value in json.loads(TEXT).items() if key in (*NEEDED, "apiVersion", "kind")}
    assert read(json.dumps(document | {"news": {"of": 2027}}), tmp_path).outline == read(TEXT, tmp_path).outline
