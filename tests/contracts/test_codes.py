"""Finding codes and their texts: the package names only those that have a record, and each record is used by a rule."""

from __future__ import annotations

import ast
import json
import re
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
def functions_and_calls() -> tuple[tuple[str, ast.FunctionDef | ast.Call], ...]:
    """Of the package, with where they stand."""
    return tuple(
        (f"{name(path)} line {node.lineno}", node)
        for path in files(PACKAGE)
        if path != MAKER and re.search(r"CodeName|Code\.|Finding\.of|unknown\(|unread\(|UpgradeCheck", text(path))
        for node in ast.walk(ast.parse(text(path)))
        if isinstance(node, (ast.FunctionDef, ast.Call))
    )


def calls(function: str) -> tuple[tuple[str, ast.Call], ...]:
    return tuple(
        (at, node)
        for at, node in functions_and_calls()
        if isinstance(node, ast.Call) and ast.unparse(node.func) == function
    )


def named(call: ast.Call) -> tuple[str, ...]:
    """What it asks for: one, or one of some by conditions."""
    return tuple(_named(call.args[0]))


def _named(first: ast.expr) -> Iterator[str]:
    if isinstance(first, ast.IfExp):
        yield from (name for part in (first.body, first.orelse) for name in _named(part))
    elif isinstance(first, ast.Constant) and isinstance(first.value, str):
        yield first.value


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


def takers() -> Mapping[str, int]:
    """Functions that take the name of a code, with where it stands among what they are given."""
    found = {}
    for _, node in functions_and_calls():
        if isinstance(node, ast.FunctionDef):
            kinds = [ast.unparse(each.annotation) if each.annotation else "" for each in node.args.args]
            if "CodeName" in kinds:
                found["UpgradeCheck.of" if node.name == "of" else node.name] = kinds.index("CodeName")
    return found


def given() -> Iterator[tuple[str, str]]:
    """Names of codes that functions of `check` are given, with where; by name those of ``partial(judge, code="x")``."""
    for taker, index in (*takers().items(), ("partial", -1)):
        for at, call in calls(taker):
            named = [each.value for each in call.keywords if each.arg == "code"]
            for value in (*call.args[index : index + 1], *named) if index >= 0 else named:
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and "/check/" in at:
                    yield at, value.value


def test_each_code_has_a_record_and_each_record_a_rule() -> None:
    passed_on = [at for at, call in calls("Code.of") if not named(call) and ast.unparse(call.args[0]) != "code"]
    assert passed_on == [], "a code stands as it is, or is given to a function that takes its name"
    assert [(at, code) for at, code in given() if code not in records()] == []
    several = {ast.literal_eval(each) for _, call in calls("Code.each") for each in call.args}
    asked = several | {code for _, call in calls("Code.of") for code in named(call)} | {code for _, code in given()}
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
        for _, field, inside, _ in Formatter().parse(part):
            yield from (field, *fields({"message": inside})) if field else ()
    yield from (each[key] for each in remedies for key in ("if", "unless") if key in each)


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


def test_a_value_inside_another_and_one_that_a_remedy_depends_on_are_values() -> None:
    record = {"message": "{a:x {b}|}", "remedies": [{"text": "y", "if": "c"}, {"text": "z", "unless": "d"}]}
    assert sorted(fields(record)) == ["a", "b", "c", "d"]
