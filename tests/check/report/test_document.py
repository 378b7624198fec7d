"""The JSON document of a check: its checklist, diagnosis, changes and suppressed findings."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import kubectl_eksdoc.report.schemas as schemas
from tests.broken_documents import accepted
from tests.check.command.cached_runs import document

JUDGE = jsonschema.Draft202012Validator(schemas.load_schema("UpgradeCheck"))


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


def test_its_schema_refuses_what_is_broken() -> None:
    loose = accepted(JUDGE, document("--demo", "--symptom", "dns", "--changed-since", "60d"), ("metadata.options",))
    assert {each for each in loose if not each.endswith((".namespace", ".command"))} == set()
