"""Columns of custom resources, and the paths they are written in."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.embedded.api import catalogue
from kubectl_eksdoc.embedded.api.tables.columns import CREATED_DESCRIPTION
from kubectl_eksdoc.embedded.api.tables.custom import NoResult, find, printed
from kubectl_eksdoc.embedded.api.tables.table import table
from tests.embedded.api.definitions import ESTABLISHED, a_definition
from tests.embedded.api.tables.showing import CREATED, NOW, an_object
from tests.raw_facts import recorded

Doc = dict[str, Any]

WIDGET = an_object(
    spec={"size": 3, "ratio": 0.5, "on": True, "tags": ["a", "b"], "labels": {"b": 2, "a": "<1>"}, "nothing": None},
    status={
        "since": "2026-11-20T08:00:00Z",
        "conditions": [
            {"type": "Synced", "status": "False", "code": 2},
            {"type": "Ready", "status": "True", "code": 5, "a.b/c": "dotted"},
        ],
    },
)


def a_table(columns: list[Doc], document: Doc = WIDGET) -> Doc:
    versions = [{"name": "v1", "served": True, "storage": True, "additionalPrinterColumns": columns}]
    served = catalogue.of([a_definition([ESTABLISHED], versions=versions)]).find("example.com", "v1", "widgets")
    assert served is not None
    return table(served, [document], NOW)


def test_columns_of_a_definition() -> None:
    said = a_table(
        [
            {"name": "Size", "type": "integer", "format": "int32", "jsonPath": ".spec.size", "description": "How big"},
            {"name": "Since", "type": "date", "jsonPath": ".status.since", "priority": 1},
        ]
    )
    assert [{**column, "description": ""} for column in said["columnDefinitions"]] == [
        {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
        {"name": "Size", "type": "integer", "format": "int32", "description": "", "priority": 0},
        {"name": "Since", "type": "date", "format": "", "description": "", "priority": 1},
    ]
    descriptions = [column["description"] for column in said["columnDefinitions"][1:]]
    assert descriptions == ["How big", "Custom resource definition column (in JSONPath format): .status.since"]
    assert said["rows"][0]["cells"] == ["one", 3, "60m"]


def test_a_definition_without_columns_shows_the_age() -> None:
    definitions = recorded("rich", "customresourcedefinitions")
    served = catalogue.of(definitions).find("karpenter.k8s.aws", "v1", "ec2nodeclasses")
    assert served is not None
    said = table(served, [an_object("default")], NOW)
    age = {"name": "Age", "type": "date", "format": "", "description": CREATED_DESCRIPTION, "priority": 0}
    assert said["columnDefinitions"][1:] == [age]
    assert said["rows"][0]["cells"] == ["default", "5m20s"]


@pytest.mark.parametrize(
    ("type_", "path", "cell"),
    [
        ("string", ".spec.size", "3"),
        ("string", ".spec.on", "true"),
        ("string", ".spec.tags", '["a","b"]'),
        ("string", ".spec.missing", None),
        ("string", ".spec.tags[7]", None),
        ("integer", ".spec.ratio", 0),
        ("integer", ".spec.on", None),
        ("integer", ".status.since", None),
        ("number", ".spec.ratio", 0.5),
        ("number", ".spec.size", 3),
        ("boolean", ".spec.on", True),
        ("boolean", ".spec.size", None),
        ("date", ".metadata.creationTimestamp", "5m20s"),
        ("date", ".metadata.name", "<invalid>"),
        ("date", ".spec.size", None),
        ("string", '.status.conditions[?(@.type=="Ready")].status', "True"),
    ],
)
def test_cells(type_: str, path: str, cell: Any) -> None:
    said = a_table([{"name": "It", "type": type_, "jsonPath": path}])
    assert said["rows"][0]["cells"] == ["one", cell]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".metadata.name", ["one"]),
        ("$.metadata.name", ["one"]),
        (".metadata.creationTimestamp", [CREATED]),
        (".metadata['name']", ["one"]),
        (".spec.missing.deeper", []),
        (".spec.size.deeper", []),
        (".spec.tags[0]", ["a"]),
        (".spec.tags[-1]", ["b"]),
        (".spec.tags[*]", ["a", "b"]),
        (".spec.tags[0:1]", ["a"]),
        (".spec.tags[1:]", ["b"]),
        (".spec.labels.*", [2, "<1>"]),
        (".status.conditions[*].type", ["Synced", "Ready"]),
        (".status.conditions[?(@.type=='Ready')].code", [5]),
        ('.status.conditions[?(@.type != "Ready")].type', ["Synced"]),
        (".status.conditions[?(@.code > 2)].type", ["Ready"]),
        (".status.conditions[?(@.code<=2)].type", ["Synced"]),
        (r".status.conditions[?(@.a\.b/c)].type", ["Ready"]),
        (r".status.conditions[1].a\.b/c", ["dotted"]),
        (".status.conditions[1]['a.b/c']", ["dotted"]),
        ("..code", [2, 5]),
        (".", [WIDGET]),
    ],
)
def test_paths(path: str, found: list[Any]) -> None:
    assert find(WIDGET, path) == found


@pytest.mark.parametrize(
    "path",
    [
        ".spec.tags[2]",
        ".spec.tags[-3]",
        ".spec.tags[0:3]",
        ".spec.tags[2:]",
        ".spec.tags[]",
        ".spec.size[0]",
        ".spec[?(@.a==1)]",
        ".status.conditions[?(@.type>3)]",
        ".status.conditions[?(@.type==Ready)]",
        ".spec.{size}",
    ],
)
def test_paths_that_find_nothing_at_all(path: str) -> None:
    with pytest.raises(NoResult):
        find(WIDGET, path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (7, "7"),
        (2.0, "2"),
        (0.25, "0.25"),
        (False, "false"),
        (None, "<no value>"),
        ({"b": 2, "a": "<1>"}, '{"a":"\\u003c1\\u003e","b":2}'),
    ],
)
def test_printed(value: Any, text: str) -> None:
    assert printed(value) == text
