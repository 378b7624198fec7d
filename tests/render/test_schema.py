"""Every document is as its published schema says, and the schema knows every word the tool can say."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.render.drain.report import DrainReport
from kubectl_eksdoc.render.drain.result import PlanResult
from kubectl_eksdoc.render.text import Look
from tests.broken import accepted
from tests.reading import printed, yaml_of
from tests.render.plans import CLUSTER, PLAN, a_view, an_empty_plan

render = DrainReport.render

SCHEMA = schemas.load("DrainPlan")
JUDGE = jsonschema.Draft202012Validator(SCHEMA)


def document(view: DrainReport) -> Any:
    return printed(PlanResult.of(view))


def complaints(doc: Any) -> list[str]:
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in JUDGE.iter_errors(doc)]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_unknown_kinds_have_no_schema() -> None:
    with pytest.raises(KeyError):
        schemas.load("../../setup")


def test_each_schema_file_can_be_loaded() -> None:
    folder = Path(schemas.__file__).parent
    assert {path.stem for path in folder.glob("*.json")} == {*schemas.KINDS, "common"}


@pytest.mark.parametrize("plan", [PLAN, an_empty_plan()])
def test_documents_are_valid(plan: Any) -> None:
    view = a_view(plan)
    assert complaints(document(view)) == []
    assert complaints(json.loads(render(view, "json", Look()))) == []
    assert complaints(yaml_of(render(view, "yaml", Look()))) == []


def test_yaml_and_json_say_the_same() -> None:
    view = a_view()
    assert yaml_of(render(view, "yaml", Look())) == json.loads(render(view, "json", Look()))


def test_its_schema_refuses_what_is_broken() -> None:
    loose = accepted(JUDGE, document(a_view()), ("metadata.options",))
    assert {each for each in loose if not each.endswith((".namespace", ".command"))} == {
        "no budgets.*.recomputed",
        "no metadata.kindsRead.*.detail",
        "no metadata.notes",
    }


@pytest.mark.parametrize("verdict", TargetVerdict)
def test_every_verdict_of_a_target_is_in_it(verdict: TargetVerdict) -> None:
    doc = document(a_view())
    doc["targets"][0]["verdict"] = verdict.value
    assert complaints(doc) == []


def places(node: Any, path: str = "") -> list[tuple[str, Any, str]]:
    """Every (path, object, key) in a document, but for the options: what is in them is the user's."""
    found: list[tuple[str, Any, str]] = []
    if isinstance(node, dict):
        for key, value in node.items():
            found.append((f"{path}/{key}", node, key))
            if key != "options":
                found += places(value, f"{path}/{key}")
    elif isinstance(node, list):
        for value in node:
            found += places(value, path)
    return found


def shortest(node: Any, seen: set[str], path: str = "") -> Any:
    """A copy with only those items of its lists that have a kind of place which none before them has."""
    if isinstance(node, dict):
        seen |= {f"{path}/{key}" for key in node}
        return {
            key: value if key == "options" else shortest(value, seen, f"{path}/{key}") for key, value in node.items()
        }
    if isinstance(node, list):
        return [shortest(each, seen, path) for each in node if {at for at, _, _ in places(each, path)} - seen]
    return node


OPTIONAL = {"detail", "notes", "recomputed", "namespace", "command", "unverified"}


def check_planted(doc: Any, judge: jsonschema.Draft202012Validator) -> None:
    """A document is refused with a key too few and with one too many, at the first place of each kind; it stays."""
    doc = shortest(doc, set())
    assert judge.is_valid(doc)
    firsts = {path: (holder, key) for path, holder, key in reversed(places(doc))}
    for path, (holder, key) in firsts.items():
        kept = dict(holder)
        if key not in OPTIONAL:
            del holder[key]
            assert not judge.is_valid(doc), f"{path} may be left out"
        holder.clear()
        holder.update(kept)
        holder[f"{key}X"] = kept[key]
        assert not judge.is_valid(doc), f"something beside {path} is taken"
        del holder[f"{key}X"]


def test_the_schema_notices_what_is_missing_and_what_is_too_much() -> None:
    """Planted once in each kind of object of a full document: a key too few, and a key too many."""
    doc = document(a_view())
    check_planted(doc, JUDGE)
    assert complaints(doc) == []


def test_what_is_not_known_is_null_and_never_zero_or_empty() -> None:
    doc: Any = document(a_view())
    assert doc["metadata"]["cluster"]["account"] is None
    bare = next(t for t in doc["targets"] if t["name"] == "bare-1")
    unknown = ("group", "capacityType", "instanceType", "zone", "kubelet", "osImage", "createdAt", "providerID")
    assert {key: bare[key] for key in unknown} == dict.fromkeys(unknown)
    assert bare["order"] is None and bare["finishRound"] is None
    reindex = next(b for b in doc["budgets"] if b["name"] == "reindex")
    assert [reindex[key] for key in ("current", "desired", "expected", "owner")] == [None] * 4
    services = next(k for k in doc["metadata"]["kindsRead"] if k["resource"] == "services")
    assert services == {
        "resource": "services",
        "state": "not-held",
        "count": None,
        "detail": "the dump has no services",
    }
    assert [path for path, holder, key in places(doc) if holder[key] == ""] == []


def test_lists_are_sorted_and_the_order_of_the_facts_changes_nothing() -> None:
    from dataclasses import replace

    turned = replace(
        PLAN,
        targets=PLAN.targets[::-1],
        evictions=PLAN.evictions[::-1],
        left=PLAN.left[::-1],
        budgets=PLAN.budgets[::-1],
        findings=PLAN.findings[::-1],
        handoffs=PLAN.handoffs[::-1],
    )
    cluster = replace(CLUSTER, reads=CLUSTER.reads[::-1])
    assert render(a_view(turned, cluster), "json", Look()) == render(a_view(), "json", Look())


def test_the_grace_period_given_replaces_each_pods_own() -> None:
    from dataclasses import replace

    doc: Any = document(a_view(replace(PLAN, policy=replace(PLAN.policy, grace_seconds=7))))
    assert {e["graceSeconds"] for e in doc["evictions"]} == {7}


def test_options_stand_as_given_and_nothing_without_a_json_form_passes() -> None:
    given = {
        "selector": "a=b",
        "force": True,
        "nodes": ("n1", "n2"),
        "accept": frozenset({"b", "a"}),
        "by": Source.DEMO,
    }
    doc: Any = document(a_view(options=given))
    assert doc["metadata"]["options"] == {
        "accept": ["a", "b"],
        "by": "demo",
        "force": True,
        "nodes": ["n1", "n2"],
        "selector": "a=b",
    }
    with pytest.raises(TypeError):
        document(a_view(options={"when": datetime(2026, 1, 1)}))  # noqa: DTZ001
