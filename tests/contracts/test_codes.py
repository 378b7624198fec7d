"""Finding codes and their texts: the package names only those that have a record, and each record is used by a rule."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from string import Formatter
from typing import Any

import pytest

from tests.contracts.source import PACKAGE, files, name, text

MAKER = PACKAGE / "model" / "findings.py"
OTHERS = {"severity", "remedy", "root_cause"}
"""What `Finding.of` is given by name besides the values of its texts."""


@cache
def calls(function: str) -> tuple[tuple[str, ast.Call], ...]:
    """Of that name, with where they stand."""
    found = []
    for path in files(PACKAGE):
        if f"{function}(" in text(path) and path != MAKER:
            for node in ast.walk(ast.parse(text(path))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
                    found.append((f"{name(path)} line {node.lineno}", node))
    return tuple(found)


def named(call: ast.Call) -> tuple[str, ...]:
    """What it asks for: one, or one of two by a condition."""
    (first, *_) = call.args
    parts = (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)
    return tuple(each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str))


@cache
def records() -> Mapping[str, Mapping[str, Any]]:
    areas = json.loads((PACKAGE / "knowledge" / "findings.json").read_text(encoding="utf-8"))["areas"]
    every = [record for found in areas.values() for record in found]
    counts = Counter(record["code"] for record in every)
    assert [code for code, count in counts.items() if count > 1] == [], "codes with two records"
    return {record["code"]: record for record in every}


def texts() -> dict[str, Mapping[str, Any]]:
    every = ((code, case, each) for code, found in records().items() for case, each in found.get("texts", {}).items())
    return {f"{code}/{case}" if case else code: each for code, case, each in every}


def test_each_code_has_a_record_and_each_record_a_rule() -> None:
    assert [at for at, call in calls("Code.of") if not named(call)] == [], "a code stands as it is"
    asked = {code for _, call in calls("Code.of") for code in named(call)}
    filled = {text.partition("/")[0] for _, call in calls("Finding.of") for text in named(call)}
    assert sorted(asked - records().keys()) == []
    assert sorted(records().keys() - asked - filled) == []


def test_each_text_is_used_and_has_all_of_its_values() -> None:
    assert [fault for at, call in calls("Finding.of") for fault in faults(at, call, texts())] == []
    assert sorted(texts().keys() - {text for _, call in calls("Finding.of") for text in named(call)}) == []


def faults(at: str, call: ast.Call, known: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    given, asked = {each.arg for each in call.keywords}, named(call)
    if not asked or None in given or not known.keys() >= {*asked}:
        yield f"{at}: there is no such text, it is not a literal, or its values are not given by name"
        return
    for record in map(known.__getitem__, asked):
        if ("severity" in record) is ("severity" in given):
            yield f"{at}: its severity is in the record or is given, one of both"
        if (wanted := set(fields(record))) != given - OTHERS:
            yield f"{at}: its texts have {sorted(wanted)}, and it is given {sorted(given - OTHERS)}"


def fields(record: Mapping[str, Any]) -> Iterator[str]:
    remedies = record.get("remedies", [])
    parts = [record["message"], record.get("missing", "")]
    for part in (*parts, *(each.get(key, "") for each in remedies for key in ("text", "command"))):
        yield from (field for _, field, _, _ in Formatter().parse(part) if field)


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ('Finding.of("a", s, count=1)', ""),
        ('Finding.of("a", s)', "its texts have ['count'], and it is given []"),
        ('Finding.of("a", s, count=1, more=2)', "it is given ['count', 'more']"),
        ('Finding.of("b", s, count=1)', "no such text"),
        ('Finding.of("a", s, **values)', "not given by name"),
        ('Finding.of("a", s, severity=x, count=1)', "one of both"),
    ],
)
def test_faults_are_seen(call: str, fault: str) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    found = list(faults("here", node, {"a": {"severity": "low", "message": "{count} of them"}}))
    assert (fault in found[0]) if fault else found == []
