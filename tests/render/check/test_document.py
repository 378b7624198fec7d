"""The document of a check: what its checklist, diagnosis, changes and suppressed findings look like."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.core.plan.check.areas import Gate
from kubectl_eksdoc.core.plan.check.checklist.steps import Phase
from kubectl_eksdoc.core.plan.check.symptoms import Symptom
from tests.cli.check.asked import document

JUDGE = jsonschema.Draft202012Validator(schemas.load("UpgradeCheck"))


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("--target", "1.36"), marks=pytest.mark.long),
        ("--target", "1.33"),
        pytest.param(("--gate", "after"), marks=pytest.mark.long),
        ("--symptom", "dns", "--changed-since", "60d"),
        pytest.param(("--symptom", "credentials"), marks=pytest.mark.long),
        ("--target", "1.34", "--suppressions", "FILE"),
    ],
    ids=str,
)
def test_every_document_is_as_the_schema_says(argv: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    path.write_text(json.dumps([{"code": "nodes-behind", "reason": "agreed", "until": "2026-12-31", "name": "b*"}]))
    words = [str(path) if each == "FILE" else each for each in argv]
    found = document("--demo", *words)
    assert [f"{error.json_path}: {error.message}" for error in JUDGE.iter_errors(found)] == []


def test_the_schema_knows_every_word() -> None:
    step, diagnosis = (
        schemas.load("UpgradeCheck")["$defs"]["step"]["properties"],
        schemas.load("UpgradeCheck")["$defs"]["diagnosis"]["properties"],
    )
    assert step["phase"]["enum"] == [each.value for each in Phase]
    assert step["gate"]["enum"] == [*(each.value for each in Gate), None]
    assert diagnosis["symptom"]["enum"] == [each.value for each in Symptom]
