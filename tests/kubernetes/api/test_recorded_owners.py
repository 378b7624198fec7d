"""Every recorded managedFields: parsed, printed, and compared with the table of types.

The table is right if real objects have exactly the owned paths that it allows: keys where it has a list with those
keys, values where it has a set, nothing inside atomic fields, and all parts of other fields.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes import document_diff as comparing
from kubectl_eksdoc.kubernetes.api.types import SchemaPlace, schema_of
from kubectl_eksdoc.kubernetes.document_diff import FieldSet, items_by_step
from kubectl_eksdoc.kubernetes.field_paths import format_step, keys_of
from kubectl_eksdoc.kubernetes.managed_fields import entries_to_json, read_entries, with_update, without_entries
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from tests import raw_facts
from tests.kubernetes.api.replays import MAIN, exchanges, owners, steps_in_order

MEDIUM = pytest.param("medium", marks=pytest.mark.long)
"""As many objects as all others together, all of one making."""

SOURCES = ("rich", "small-traps", "landing", MEDIUM, "exchanges")


@cache
def objects(cluster: str) -> tuple[Doc, ...]:
    """All objects of a recorded cluster that carry managedFields."""
    with tarfile.open(raw_facts.DATA / "clusters" / f"{cluster}.tar.gz") as archive:
        files = [archive.extractfile(m) for m in archive.getmembers() if m.name.endswith(".json")]
        items = [item for file in files if file is not None for item in json.load(file).get("items", ())]
    return tuple(item for item in items if nested_field(item, "metadata", "managedFields"))


@cache
def exchanged() -> tuple[Doc, ...]:
    """All objects in the bodies of the recorded exchanges."""
    return tuple(found for exchange in exchanges() for found in _objects_in(exchange["response"].get("body")))


def _objects_in(body: Any) -> Iterator[Doc]:
    if not isinstance(body, dict):
        return
    if nested_field(body, "metadata", "managedFields"):
        yield body
    for item in body.get("items") or ():
        if nested_field(item, "metadata", "managedFields"):
            # Items of a list say neither version nor kind; these lists are of pods and budgets.
            of = {"apiVersion": body["apiVersion"], "kind": body["kind"].removesuffix("List")}
            yield {**of, **item}


def recorded(source: str) -> tuple[Doc, ...]:
    return exchanged() if source == "exchanges" else objects(source)


@pytest.mark.parametrize("source", SOURCES)
def test_entries_print_as_they_were_read(source: str) -> None:
    for doc in recorded(source):
        ours = entries_to_json(read_entries(doc))
        assert ours == owners(doc), doc["metadata"]["name"]
        for mine, theirs in zip(ours, owners(doc), strict=True):
            assert steps_in_order(mine["fieldsV1"]) == steps_in_order(theirs["fieldsV1"])


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_owned_is_what_the_table_allows(source: str) -> None:
    strange = Counter(
        f"{doc['kind']} {where}"
        for doc in recorded(source)
        for where in _strange(doc, _everything(doc).tree, schema_of(doc["apiVersion"], doc["kind"]).root)
    )
    assert strange == {}


def _everything(doc: Doc) -> FieldSet:
    union = FieldSet({})
    for entry in read_entries(doc).values():
        union |= entry.fields
    return union


def _strange(value: Any, tree: Doc, place: SchemaPlace, where: str = "") -> Iterator[str]:
    """The paths where owners and table disagree about `value`."""
    children = dict(comparing.children_of(tree))
    yield from (f"{where}: {step}" for step in children if not _allowed(step, place))
    if isinstance(value, dict):
        if value and not children and not place.atomic:
            yield f"{where}: owned as one"
        for name, inner in value.items():
            if "f:" + name in children:
                yield from _strange(inner, children["f:" + name], place.under(name), f"{where}.{name}")
    if isinstance(value, list):
        if value and not children and place.list_type != "atomic":
            yield f"{where}: owned as one"
        for step, same in items_by_step(value, place).items() if children else ():
            if step in children:
                yield from _strange(same[0], children[step], place.item_place(), f"{where}[]")


def _allowed(step: str, place: SchemaPlace) -> bool:
    if step.startswith("f:"):
        return not place.atomic
    if step.startswith("k:"):
        return place.list_type == "map" and set(keys_of(step)) == set(place.keys)
    return step.startswith("v:") and place.list_type == "set"


SET_BY_THE_SERVER = {
    "Deployment": (".metadata.annotations",),
    "Job": (".metadata.labels.", ".spec.selector", ".spec.template.metadata.labels."),
    "Namespace": (".spec.finalizers",),
    "PersistentVolumeClaim": (".metadata.finalizers",),
    "Pod": (
        ".metadata.labels.topology.kubernetes.io/",
        ".spec.nodeName",
        ".spec.preemptionPolicy",
        ".spec.priority",
        ".spec.tolerations",
        # The webhook for roles of service accounts.
        ".spec.containers[].env",
        ".spec.containers[].volumeMounts",
        ".spec.volumes",
    ),
    "Service": (
        ".spec.clusterIP",
        ".spec.healthCheckNodePort",
        ".spec.ipFamilies",
        ".spec.ipFamilyPolicy",
        ".spec.ports[].nodePort",
    ),
}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("rich", 656),
        ("small-traps", 213),
        ("landing", 674),
        pytest.param("medium", 2911, marks=pytest.mark.long),
    ],
)
def test_creating_an_object_gives_its_author_what_the_server_gave_him(source: str, count: int) -> None:
    """Objects that one client wrote, and of which other clients wrote only the status."""
    written_once = [doc for doc in objects(source) if _sole_update(doc)]
    assert len(written_once) == count
    for doc in written_once:
        entry = _sole_update(doc)
        schema = schema_of(doc["apiVersion"], doc["kind"])
        (ours,) = owners(with_update(None, without_entries(doc), entry["manager"], entry["time"], schema, reset=MAIN))
        mine, theirs = FieldSet.parse(ours["fieldsV1"]), FieldSet.parse(entry["fieldsV1"])
        assert not theirs - mine, doc["metadata"]["name"]
        by_server = SET_BY_THE_SERVER.get(doc["kind"], ())
        beyond = [path for path in map(_without_keys, mine - theirs) if not path.startswith(by_server)]
        assert beyond == [], f"{doc['kind']} {doc['metadata']['name']}"


def _sole_update(doc: Doc) -> Doc:
    """The managedFields entry of an object's author; empty where there are several, or where it was applied."""
    entries = [entry for entry in owners(doc) if "subresource" not in entry]
    return entries[0] if len(entries) == 1 and entries[0]["operation"] == "Update" else {}


def _without_keys(path: comparing.Path) -> str:
    return "".join(format_step(step) if step.startswith("f:") else "[]" for step in path)
