"""A saved plan is read back as it was made, and whatever else lies at the path is refused in one sentence."""

from __future__ import annotations

import json
import random
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.drain.comparison.comparing import outline
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.host.saved import read_baseline
from kubectl_eksdoc.model.baseline import Baseline
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.render.drain.report import DrainReport
from kubectl_eksdoc.render.text import Look
from tests.render.comparisons import NOW, OPTIONS, a_compared_view
from tests.render.plans import CLUSTER, PLAN, a_view, an_empty_plan

render = DrainReport.render

TEXT = render(a_view(NOW, options=OPTIONS), "json", Look())


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
    """But for the order of lists, which is the document's. A blocker stands in it twice and counts once."""
    found = read(render(a_view(plan, options=OPTIONS), "json", Look()), tmp_path)
    made, back = outline(plan), found.outline
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


def test_a_plan_in_yaml_is_read_as_the_same(tmp_path: Path) -> None:
    text = render(a_view(NOW, options=OPTIONS), "yaml", Look())
    assert read(text, tmp_path).outline == read(TEXT, tmp_path).outline


def test_a_plan_that_was_compared_can_be_a_baseline(tmp_path: Path) -> None:
    assert read(render(a_compared_view(), "json", Look()), tmp_path).outline == read(TEXT, tmp_path).outline


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_powershell_writes_is_read(encoding: str, tmp_path: Path) -> None:
    assert read(TEXT.encode(encoding), tmp_path).outline == read(TEXT, tmp_path).outline


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        (TEXT[:-40], "is not JSON, or not all of it: "),
        ("8 nodes to drain: 5 can, 3 are skipped.", "is not JSON"),
        ("a: [1", "is neither JSON nor YAML, or not all of it: "),
        ("a: *b", "is neither JSON nor YAML, or not all of it: it has aliases"),
        (b"\xff\xfe\xff", "is not JSON"),
        (b"\x00\x01", "is not JSON"),
        ("NaN", "is not JSON, or not all of it: NaN is no number in JSON"),
        ("[" * 200_000, "it is nested too deeply"),
        ("9" * 5000, "is not JSON"),
        ("[]", "is no answer of this tool: it is no object"),
        ("null", "is no answer of this tool: it is no object"),
        ("{}", "is no answer of this tool: it is something else"),
        ('{"apiVersion": "v1", "kind": "List", "items": []}', "is no answer of this tool: it is a List, as a dump is"),
        ('{"apiVersion": "v1", "kind": "DrainPlan"}', "is no answer of this tool"),
        ('{"apiVersion": 7, "kind": "DrainPlan"}', "is no answer of this tool"),
        (
            '{"apiVersion": "eksdoc.io/v1alpha1", "kind": ["DrainPlan"]}',
            "is no answer of this tool: it is something else",
        ),
        ('{"apiVersion": "eksdoc.io/v1alpha1", "kind": "DrainPlan"}', "metadata is missing"),
        (
            '{"apiVersion": "eksdoc.io/v1", "kind": "DrainPlan"}',
            "is in the form eksdoc.io/v1, and this version reads only eksdoc.io/v1alpha1",
        ),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_is_no_plan_is_refused(text: str | bytes, said: str, tmp_path: Path) -> None:
    error = refusal(text, tmp_path)
    assert error.message.removeprefix("the earlier answer ").startswith(f"{tmp_path / 'plan.json'} ")
    assert said in error.message
    assert "-o json > FILE" in error.hint


def test_an_older_or_newer_form_is_named_with_the_version_that_made_it(tmp_path: Path) -> None:
    document = json.loads(TEXT) | {"apiVersion": "eksdoc.io/v2"}
    assert "made by kubectl eksdoc 1.2.3." in refusal(json.dumps(document), tmp_path).hint


def test_a_plan_that_was_saved_before_what_decides_was_told_has_the_bound_for_it(tmp_path: Path) -> None:
    document = json.loads(TEXT)
    del document["estimate"]["decides"]
    document["lowerBound"]["subject"] = "shop/api"
    times = read(json.dumps(document), tmp_path).outline.times
    assert times is not None and times.binds == "budget-chain shop/api"


@pytest.mark.parametrize("path", ["nothing-here.json", "a\0b", "x" * 5000])
def test_a_path_that_cannot_be_read(path: str, tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="cannot read the earlier answer"):
        read_baseline(str(tmp_path / path))


def test_standard_input_is_no_file() -> None:
    with pytest.raises(BaselineError, match="reads a file, not standard input"):
        read_baseline("-")


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("metadata.observedAt", "yesterday", "metadata.observedAt is no moment in UTC"),
        ("metadata.observedAt", "2026-13-45T00:00:00Z", "metadata.observedAt is no moment in UTC"),
        ("metadata.source", "rumour", "metadata.source is 'rumour', which is not known here"),
        ("metadata.toolVersion", "", "metadata.toolVersion is no text"),
        ("metadata.cluster", [], "metadata.cluster is no object"),
        ("metadata.cluster.uid", 7, "metadata.cluster.uid is no text"),
        ("metadata.options.partial", {}, "metadata.options.partial is no value of a flag"),
        ("metadata.options.nodegroup", [1], "metadata.options.nodegroup holds more than texts"),
        ("rounds", -1, "rounds is no count"),
        ("rounds", True, "rounds is no count"),
        ("rounds", 2.5, "rounds is no count"),
        ("rounds", 10**400, "rounds is no count"),
        ("evictions", None, "evictions is no list"),
        ("evictions", [1], "evictions[0] is no object"),
        ("estimate.p50", "long", "estimate.p50 is no amount"),
        ("estimate.p50", 1e308, "estimate.p50 is no amount"),
        ("lowerBound.seconds", None, "lowerBound.seconds is no amount"),
        ("gap", "3%", "gap is no amount"),
        ("targets.1.why", ["a", 7], "targets[1].why holds more than texts"),
        ("budgets.0.perRound", None, "budgets[0].perRound is no count"),
        ("findings.0.severity", "awful", "findings[0].severity is 'awful', which is not known here"),
        ("findings.0.status", "maybe", "findings[0].status is 'maybe', which is not known here"),
        ("findings.0.subject", None, "findings[0].subject is no object"),
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
          "lowerBound", "gap")  # fmt: skip


@pytest.mark.parametrize("key", NEEDED)
def test_what_is_missing_is_named(key: str, tmp_path: Path) -> None:
    document = json.loads(TEXT)
    del document[key]
    assert refusal(json.dumps(document), tmp_path).message.endswith(f": {key} is missing")


def test_what_is_not_compared_may_be_anything(tmp_path: Path) -> None:
    document = {key: value for key, value in json.loads(TEXT).items() if key in (*NEEDED, "apiVersion", "kind")}
    assert read(json.dumps(document | {"news": {"of": 2027}}), tmp_path).outline == read(TEXT, tmp_path).outline


STRANGE = (None, True, -1, 0, 1e300, 10**30, "", "x", "\ud800\x1b[2J", [], ["a", 1], {}, {"name": "x"}, [[]], "v1")


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key or position) in a document."""
    found: list[tuple[Any, Any]] = []
    keys: Any = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        found.append((node, key))
        found += places(node[key])
    return found


@pytest.mark.parametrize("step", [43, pytest.param(1, marks=pytest.mark.long)])
def test_whatever_a_value_is_changed_to(step: int, tmp_path: Path) -> None:
    """Each place of a document (one in forty-three), each strange value: facts or a refusal, never another error."""
    small: Any = json.loads(TEXT)
    small["metadata"]["kindsRead"] = []
    small |= {"handoffs": [], "notJudged": [], "blockers": []}
    refused = taken = 0
    for holder, key in places(small)[::step]:
        kept = holder[key]
        for value in STRANGE:
            holder[key] = value
            try:
                read(json.dumps(small), tmp_path)
                taken += 1
            except BaselineError as error:
                assert "\n" not in error.message
                refused += 1
        holder[key] = kept
    assert refused * step > 500 and taken * step > 500


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_done_to_its_bytes(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    data = TEXT.encode()
    for _ in range(80):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 3))):
            at = chance.randrange(len(changed))
            action = chance.randrange(3)
            if action == 0:
                changed[at] = chance.randrange(256)
            elif action == 1:
                del changed[at : at + chance.randrange(1, 60)]
            else:
                changed[at:at] = chance.choice((b'"', b"{", b"]", b"null", b"\\u", b"\xff", b"9" * 400, b"-", b"1e999"))
        try:
            read(bytes(changed), tmp_path)
        except BaselineError as error:
            assert "\n" not in error.message
