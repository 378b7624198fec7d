"""Finding codes: the package names only those that have a record, and each record is named by a rule."""

from __future__ import annotations

import ast
import json

from tests.contracts.source import PACKAGE, files, name, text


def _named() -> dict[str, list[str]]:
    """Codes as the package asks for them, with the files that do."""
    found: dict[str, list[str]] = {}
    for path in files(PACKAGE):
        if "Code.of(" not in text(path):
            continue
        for node in ast.walk(ast.parse(text(path))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Code.of":
                assert isinstance(node.args[0], ast.Constant), (
                    f"{name(path)} line {node.lineno}: a code as it is written"
                )
                found.setdefault(node.args[0].value, []).append(name(path))
    return found


def _records() -> list[str]:
    areas = json.loads((PACKAGE / "knowledge" / "findings.json").read_text(encoding="utf-8"))["areas"]
    return [record["code"] for records in areas.values() for record in records]


def test_each_code_has_one_record() -> None:
    assert sorted(_records()) == sorted(set(_records()))
    assert {code: at for code, at in _named().items() if code not in _records()} == {}


def test_each_record_is_the_code_of_a_rule() -> None:
    assert set(_records()) - set(_named()) == set()
