"""What was foretold of each field, as it is kept in a journal: so that who comes later can compare it with what is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.confidence import Confidence
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.core.plan.addon.fields import LiveField
from kubectl_eksdoc.core.plan.addon.merging import MISSING, Missing
from kubectl_eksdoc.core.plan.addon.modes import Fate, Mode
from kubectl_eksdoc.core.plan.addon.plan import AddonPlan
from kubectl_eksdoc.core.plan.addon.prediction import FieldChange


@dataclass(frozen=True, slots=True)
class Expectation:
    """`live`: what stood there before; `value`: what is to stand there, both `MISSING` for nothing. Where `fate` is
    unknown, `value` says nothing. `at_risk`: somebody had set it."""

    field: LiveField
    live: Any
    fate: Fate
    value: Any
    sure: Confidence
    at_risk: bool


@dataclass(frozen=True, slots=True)
class Expected:
    """All that an update of `addon` to `target` is held against. `objects` are the live ones of before, with their
    managedFields; `unread` those that nobody could read. `shared`: fields that EKS and somebody else have alike, of
    which nobody knows what the version makes; `was`: the version of before, "" where it was not written down."""

    addon: str
    target: str
    mode: Mode
    fields: tuple[Expectation, ...]
    objects: tuple[Doc, ...]
    unread: tuple[Named, ...] = ()
    shared: tuple[LiveField, ...] = ()
    was: str = ""


def expected_of(plan: AddonPlan, keeps: Iterable[FieldChange] = ()) -> Expected:
    """Of the plan of what is sent; `keeps`: fields that its values keep, which that plan need not speak of."""
    mode = plan.asked.mode
    foretold = [
        Expectation(
            change.field,
            change.live,
            change.fate(mode),
            MISSING if change.fate(mode) is Fate.UNKNOWN else change.by_mode[mode].value,
            change.confidence(mode),
            change.at_risk,
        )
        for change in plan.changes
    ]
    spoken_of = {each.field for each in foretold}
    kept = [
        Expectation(change.field, change.live, Fate.KEPT, change.live, Confidence.HIGH, True)
        for change in keeps
        if change.field not in spoken_of
    ]
    fields = tuple(sorted((*foretold, *kept), key=lambda each: each.field))
    facts = plan.facts
    unread = tuple(of for of, _ in facts.unread)
    shared = tuple(field for each in plan.predictions for field in each.shared)
    was = facts.addon.version
    return Expected(facts.addon.name, facts.target.version, mode, fields, facts.objects, unread, shared, was)


def to_doc(expected: Expected) -> Doc:
    """As JSON has it; what stands nowhere is absent."""
    return {
        "addon": expected.addon,
        "target": expected.target,
        "was": expected.was,
        "mode": expected.mode.value,
        "fields": [_to_doc(each) for each in expected.fields],
        "objects": list(expected.objects),
        "unread": [_of_to_doc(each) for each in expected.unread],
        "shared": [_field_to_doc(each) for each in expected.shared],
    }


def _to_doc(each: Expectation) -> Doc:
    return {
        **_field_to_doc(each.field),
        "field": str(each.field),
        **_given("live", each.live),
        "fate": each.fate.value,
        **(_given("value", each.value) if each.fate is not Fate.UNKNOWN else {}),
        "sure": each.sure.value,
        "atRisk": each.at_risk,
    }


def _field_to_doc(field: LiveField) -> Doc:
    return {"object": _of_to_doc(field.of), "path": list(field.path)}


def _given(key: str, value: Any) -> Doc:
    return {} if isinstance(value, Missing) else {key: value}


def _of_to_doc(of: Named) -> Doc:
    return {"apiVersion": of.api_version, "kind": of.kind, "namespace": of.namespace, "name": of.name}


def from_doc(doc: Doc) -> Expected:
    """
    Raises:
        KeyError, TypeError, ValueError: it is none of `to_doc`.
    """
    return Expected(
        str(doc["addon"]),
        str(doc["target"]),
        Mode(doc["mode"]),
        tuple(map(_from_doc, _list(doc["fields"]))),
        tuple(_list(doc["objects"])),
        tuple(map(_of_from_doc, _list(doc["unread"]))),
        tuple(map(_field_from_doc, _list(doc["shared"]))),
        was=str(doc.get("was", "")),
    )


def _from_doc(doc: Doc) -> Expectation:
    field = _field_from_doc(doc)
    live, value = doc.get("live", MISSING), doc.get("value", MISSING)
    return Expectation(field, live, Fate(doc["fate"]), value, Confidence(doc["sure"]), bool(doc["atRisk"]))


def _field_from_doc(doc: Doc) -> LiveField:
    return LiveField(_of_from_doc(doc["object"]), tuple(map(str, _list(doc["path"]))))


def _of_from_doc(doc: Doc) -> Named:
    return Named(*(str(doc[key]) for key in ("apiVersion", "kind", "namespace", "name")))


def _list(value: Any) -> Iterable[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list is wanted, and there is {type(value).__name__}")
    return value
