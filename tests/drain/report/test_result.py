"""Results take their fields by name from facts, and the schemas generated from their types validate them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any, Literal

import jsonschema
import pytest

from kubectl_eksdoc.model.api_objects import API_VERSION
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report import schemas
from kubectl_eksdoc.report.result import (
    FindingResult,
    Printed,
    Text,
    Texts,
    Timestamp,
    UnsetType,
    to_json_types,
)
from tools.schemas import RESULTS, kind


class Place(Printed):
    zone_name: Text | None
    rack: Text | UnsetType


class Thing(Printed):
    """A thing."""

    at: Timestamp | None
    names: Texts
    place: Place | None
    places: tuple[Place, ...]
    labels: dict[str, Any]
    status: Status
    size: Literal["small", "large"]
    """How large."""


def place(zone: object = "", rack: object = "") -> Any:
    return SimpleNamespace(zone_name=zone, rack=rack)


def thing(**given: object) -> Any:
    facts = {
        "at": datetime(2026, 11, 20, 9, 0, 0, 5, tzinfo=timezone.utc),
        "names": ["b", "a"],
        "place": place("a", "r1"),
        "places": (place(), place(Unknown("not allowed"), None)),
        "labels": {"of": {"x"}},
        "status": Status.FAIL,
        "size": "small",
    }
    return to_json_types(Thing.of(SimpleNamespace(**{**facts, **given})))


def test_it_is_filled_by_name() -> None:
    assert json.loads(json.dumps(thing())) == {
        "at": "2026-11-20T09:00:00Z",
        "names": ["b", "a"],
        "place": {"zoneName": "a", "rack": "r1"},
        "places": [{"zoneName": None}, {"zoneName": None}],
        "labels": {"of": ["x"]},
        "status": "fail",
        "size": "small",
    }


def test_what_is_not_there_is_null() -> None:
    made = thing(at=None, place=None, names=())
    assert (made["at"], made["place"], made["names"]) == (None, None, ())


class Leaf(Printed):
    """A result whose field names differ from those of the facts."""

    called = {"rack": "of.place.rack", "sons": "of.sons"}

    rack: Text | None
    sons: tuple[Place, ...]


def leaf(of: object) -> Any:
    return to_json_types(Leaf.of(SimpleNamespace(of=of)))


def test_a_field_may_have_another_name_and_be_of_a_part() -> None:
    of = SimpleNamespace(place=place(rack="r1"), sons=[place("a", "r2")])
    assert leaf(of) == {"rack": "r1", "sons": ({"zoneName": "a", "rack": "r2"},)}


def test_of_a_part_that_is_not_there_nothing_is_said() -> None:
    assert leaf(None) == {"rack": None, "sons": ()}
    assert leaf(SimpleNamespace(place=Unknown("not allowed"), sons=[]))["rack"] is None


def test_what_is_not_known_is_not_taken_for_no_items() -> None:
    assert leaf(SimpleNamespace(place=None, sons=Unknown("not allowed")))["sons"] is None


def test_a_plain_tuple_has_the_fields_in_their_order() -> None:
    assert to_json_types(Place.of(("a", ""))) == {"zoneName": "a"}
    with pytest.raises(ValueError, match="shorter"):
        Place.of(("a",))


def test_a_field_that_the_facts_lack_is_a_bug() -> None:
    with pytest.raises(AttributeError, match="zone_name"):
        Place.of(SimpleNamespace(rack="r1"))


def judge_of_findings() -> jsonschema.Draft202012Validator:
    whole = schemas.load_schema("Interruption")
    return jsonschema.Draft202012Validator(
        {"$id": whole["$id"], "$defs": whole["$defs"], **whole["properties"]["findings"]}
    )


def a_finding(code: Code, status: Status = Status.FAIL, missing: str = "") -> Any:
    finding = Finding(code, Severity.LOW, status, Subject("Node", "n"), "It is so.", missing=missing)
    return [json.loads(json.dumps(to_json_types(FindingResult.of(finding))))]


def test_a_finding_has_a_code_of_its_command_and_says_what_an_unknown_lacks() -> None:
    valid = judge_of_findings().is_valid
    assert all(valid(a_finding(code)) for code in Code.of_areas("interruption"))
    assert not valid(a_finding(Code.of("pod-budget")))
    assert valid(a_finding(Code.of("interruption-provider-fails"), Status.UNKNOWN, "get pods"))
    assert not valid(a_finding(Code.of("interruption-provider-fails"), Status.UNKNOWN))


@pytest.mark.parametrize("result", RESULTS, ids=kind)
def test_each_schema_is_one_and_says_what_its_kind_is(result: type[Printed]) -> None:
    schema = schemas.load_schema(kind(result))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["kind"] == {"enum": [kind(result)]}
    assert schema["properties"]["apiVersion"] == {"enum": [API_VERSION]}
    assert schema["description"]
