"""Field ownership by rule: applies, updates, and the invariants of any owned field."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.api.types import SchemaPlace, schema_from_openapi, schema_of
from kubectl_eksdoc.kubernetes.document_diff import (
    NO_FIELDS,
    FieldSet,
    Path,
    compare,
    fields_of,
    items_by_step,
)
from kubectl_eksdoc.kubernetes.field_paths import (
    canonical_step,
    key_step,
    keys_of,
    value_of,
    value_step,
)
from kubectl_eksdoc.kubernetes.managed_fields import (
    UNTRACKED,
    FieldManager,
    MalformedEntries,
    field_manager,
    read_entries,
    with_update,
    without_entries,
)
from kubectl_eksdoc.kubernetes.server_side_apply import (
    AppliedDocument,
    ApplyConflictSet,
    ApplyRefused,
    apply,
)
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value, without_path
from tests.kubernetes.api.any_workloads import SCHEMA, filled_workloads, workloads
from tests.kubernetes.api.replays import MAIN, STATUS, owners

EARLY, LATE = "2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z"
SERVICES = schema_of("v1", "Service")


def service(**spec: object) -> Doc:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec}


def applied(live: Doc | None, config: Doc, manager: str, force: bool = False, now: str = EARLY) -> Doc:
    result = apply(live, config, manager, force, now, SERVICES, reset=MAIN)
    assert isinstance(result, AppliedDocument)
    return result.doc


def test_what_was_there_before_the_first_apply_has_an_owner_of_that_name() -> None:
    live = service(ports=[{"port": 80, "protocol": "TCP"}])
    result = apply(live, service(ports=[{"port": 80, "name": "http"}]), "ann", False, EARLY, SERVICES)
    assert isinstance(result, AppliedDocument)
    assert [(each.manager, each.operation) for each in read_entries(result.doc)] == [
        ("ann", "Apply"),
        ("before-first-apply", "Update"),
    ]
    clash = apply({**live, "spec": {"type": "ClusterIP"}}, service(type="NodePort"), "ann", False, EARLY, SERVICES)
    assert isinstance(clash, ApplyConflictSet)
    assert clash.message == ('Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .spec.type')


def test_a_conflict_names_the_subresource() -> None:
    live = applied(None, service(type="NodePort"), "ann")
    status = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}
    live = with_update(live, {**live, "status": status}, "lb", EARLY, SERVICES, "status", STATUS)
    config = {**service(), "status": {"loadBalancer": {"ingress": []}}}
    result = apply(live, config, "bob", False, LATE, SERVICES, "status", STATUS)
    assert isinstance(result, ApplyConflictSet)
    assert result.message == (
        'Apply failed with 1 conflict: conflict with "lb" with subresource "status" using v1: '
        ".status.loadBalancer.ingress"
    )


def test_entries_and_items_with_the_same_key_cannot_be_applied() -> None:
    config = with_value(service(), ("metadata", "managedFields"), [])
    assert apply(None, config, "ann", True, EARLY, SERVICES) == ApplyRefused(400, "metadata.managedFields must be nil")
    result = apply(None, service(ports=[{"port": 80}, {"port": 80, "protocol": "TCP"}]), "ann", True, EARLY, SERVICES)
    assert result == ApplyRefused(
        500,
        "failed to create typed patch object (shop/web; v1, Kind=Service): "
        '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
    )


def test_defaults_in_an_object_go_with_the_object_when_its_applier_leaves_it() -> None:
    """The applier never owned the default, but the named field that contains it."""
    live = applied(None, service(type="NodePort", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 60}}), "ann")
    defaulted = with_value(live, ("spec", "sessionAffinityConfig", "mode"), "some")
    assert applied(defaulted, service(type="NodePort"), "ann")["spec"] == {"type": "NodePort"}
    # A value of another owner keeps the object around it, and with it the fields without an owner.
    owned = with_update(
        defaulted, with_value(defaulted, ("spec", "sessionAffinityConfig", "other"), 1), "bob", EARLY, SERVICES
    )
    assert applied(owned, service(type="NodePort"), "ann")["spec"] == {
        "type": "NodePort",
        "sessionAffinityConfig": {"other": 1, "mode": "some"},
    }


def test_nulls_are_owned_and_not_stored() -> None:
    config = {**service(type=None), "status": {"loadBalancer": {}}}  # a status, which the strategy resets
    result = applied(None, with_value(config, ("metadata", "creationTimestamp"), None), "ann")
    assert without_entries(result) == {**without_path(service(), ("spec", "type")), "status": {"loadBalancer": {}}}
    assert owners(result)[0]["fieldsV1"] == {"f:spec": {"f:type": {}}}


def test_keys_of_unknown_objects_are_owned_themselves() -> None:
    """Fields of a custom resource have no ``.``; keys that a user chose have one."""
    fields = {"known": {"properties": {"a": {}}}, "values": {"x-kubernetes-preserve-unknown-fields": True}}
    schema = schema_from_openapi({"properties": {"spec": {"properties": fields}}})
    config = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}}
    config["spec"] = {"known": {"a": {"b": 1}}, "values": {"x": {"y": 1}}}
    result = apply(None, config, "ann", False, EARLY, schema)
    assert isinstance(result, AppliedDocument)
    assert owners(result.doc)[0]["fieldsV1"] == {
        "f:spec": {"f:known": {"f:a": {"f:b": {}}}, "f:values": {"f:x": {".": {}, "f:y": {}}}}
    }


NODES = schema_of("v1", "Node")
NODE: Doc = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"a": "1"}}, "spec": {}}


def node(live: Doc | None, new: Doc, manager: str, now: str = EARLY, subresource: str = "") -> Doc:
    return with_update(live, new, manager, now, NODES, subresource, STATUS if subresource else MAIN)


def who(doc: Doc) -> list[tuple[str, str, str]]:
    return [(entry["manager"], entry.get("subresource", ""), entry["time"]) for entry in owners(doc)]


def test_a_status_has_entries_of_its_own() -> None:
    live = node(None, NODE, "kubelet")
    other = with_value({**live, "apiVersion": "v2"}, ("metadata", "labels", "b"), "2")
    assert [entry["apiVersion"] for entry in owners(node(live, other, "kubelet"))] == ["v1", "v2"]
    ready = {"type": "Ready", "status": "True"}
    new = {**live, "spec": {"unschedulable": True}, "status": {"conditions": [ready]}}
    result = node(live, new, "kubelet", LATE, "status")
    assert who(result) == [("kubelet", "", EARLY), ("kubelet", "status", LATE)]
    item = {".": {}, "f:status": {}, "f:type": {}}
    assert owners(result)[1]["fieldsV1"] == {"f:status": {"f:conditions": {".": {}, 'k:{"type":"Ready"}': item}}}


def test_entries_can_be_edited_and_taken_away_but_not_through_a_subresource() -> None:
    live = node(None, NODE, "ann")
    renamed = [{**owners(live)[0], "manager": "eve"}]
    sent = with_value(live, ("metadata", "managedFields"), renamed)
    assert who(node(live, sent, "bob")) == [("eve", "", EARLY)]
    assert who(node(live, sent, "bob", subresource="status")) == [("ann", "", EARLY)]
    for emptied in ([], [{}]):
        sent = with_value(live, ("metadata", "managedFields"), emptied)
        assert "managedFields" not in node(live, sent, "bob")["metadata"]


@pytest.mark.parametrize(
    "entry",
    [
        {"manager": "a", "operation": "Guess", "apiVersion": "v1", "fieldsType": "FieldsV1"},
        {"manager": "a", "operation": "Update", "fieldsType": "FieldsV1"},
        {"manager": "a", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"k:{": {}}},
    ],
)
def test_malformed_entries(entry: Doc) -> None:
    with pytest.raises(MalformedEntries):
        read_entries({"metadata": {"managedFields": [entry]}})
    live = node(None, NODE, "ann")
    assert node(live, with_value(live, ("metadata", "managedFields"), [entry]), "bob") == live


def test_the_eleventh_updater_makes_the_oldest_ancient() -> None:
    """The two oldest updaters are merged into one; appliers do not count."""

    def label(live: Doc, number: int) -> Doc:
        new = with_value(live, ("metadata", "labels", f"by-{number}"), "x")
        return node(live, new, f"m{number:02}", f"2026-11-20T08:00:{number:02}Z")

    ten = reduce(label, range(1, 10), node(None, NODE, "m00", "2026-11-20T08:00:00Z"))
    assert len(owners(ten)) == 10
    eleven = label(ten, 10)
    assert len(owners(eleven)) == 10
    assert who(eleven)[0] == ("ancient-changes", "", "2026-11-20T08:00:01Z")
    ancient = read_entries(eleven)[field_manager("ancient-changes", "Update", "v1", "")].fields
    assert ancient.tree == {"f:metadata": {"f:labels": {".": {}, "f:a": {}, "f:by-1": {}}}}
    assert who(label(eleven, 11))[0] == ("ancient-changes", "", "2026-11-20T08:00:02Z")
    assert nested_field(without_entries(eleven), "metadata", "labels", "by-10") == "x"


managers = st.sampled_from(["ann", "bob", "eks"])
writes = st.lists(st.tuples(managers, st.sampled_from(["update", "apply"]), workloads()), min_size=1, max_size=4)
filled = st.lists(st.tuples(managers, st.sampled_from(["update", "apply"]), filled_workloads()), min_size=1, max_size=4)
scalars = st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.none())


def sets() -> st.SearchStrategy[FieldSet]:
    return workloads().map(lambda doc: fields_of(doc, SCHEMA.root))


def forced(live: Doc | None, config: Doc, manager: str, force: bool = True, now: str = EARLY) -> Doc:
    result = apply(live, config, manager, force, now, SCHEMA)
    assert isinstance(result, AppliedDocument)
    return result.doc


def history(steps: list[tuple[str, str, Doc]]) -> Doc:
    """A document after writes of several managers."""
    live: Doc | None = None
    for manager, how, doc in steps:
        live = forced(live, doc, manager) if how == "apply" else with_update(live, doc, manager, EARLY, SCHEMA)
    assert live is not None
    return live


def owned(doc: Doc) -> FieldSet:
    union = NO_FIELDS
    for entry in read_entries(doc).values():
        union |= entry.fields
    return union


@given(scalars, scalars)
def test_steps_read_back(one: Any, other: Any) -> None:
    assert value_of(value_step(one)) == one
    step = key_step({"b": one, "a": other}, SchemaPlace(list_type="map", keys=("b", "a")))
    assert keys_of(step) == {"a": other, "b": one}
    assert canonical_step(step) == step
    assert canonical_step(step.replace("{", "{ ", 1)) == step


@given(sets(), sets(), sets())
def test_sets_behave_as_sets(a: FieldSet, b: FieldSet, c: FieldSet) -> None:
    assert FieldSet.parse(a.to_json()) == a
    assert set(a | b) == set(a) | set(b)
    assert set(a & b) == set(a) & set(b)
    assert set(a - b) == set(a) - set(b)
    assert (a | b) | c == a | (b | c)
    assert all(path in a for path in a)
    assert bool(a - b) == bool(set(a) - set(b))
    assert not a.without(a)


@given(filled, filled_workloads(), managers)
def test_applying_twice_is_applying_once(steps: list[tuple[str, str, Doc]], config: Doc, manager: str) -> None:
    once = forced(history(steps), config, manager)
    assert apply(once, config, manager, False, LATE, SCHEMA) == AppliedDocument(once)


@given(filled, filled_workloads(), managers)
def test_a_forced_apply_has_what_was_applied(steps: list[tuple[str, str, Doc]], config: Doc, manager: str) -> None:
    result = forced(history(steps), config, manager)
    assert _holds(result, config, SCHEMA.root)
    mine = read_entries(result).get(field_manager(manager, "Apply", "", ""))
    assert (mine.fields if mine else NO_FIELDS) == fields_of(config, SCHEMA.root) - UNTRACKED


def _holds(doc: Any, config: Any, place: SchemaPlace) -> bool:
    """Whether `doc` contains all of `config`, where the schema defines which parts are the same."""
    if isinstance(config, dict) and not place.atomic:
        return all(name in doc and _holds(doc[name], value, place.under(name)) for name, value in config.items())
    if isinstance(config, list) and place.list_type != "atomic":
        there, wanted = items_by_step(doc, place), items_by_step(config, place)
        return all(_holds(there[step][0], wanted[step][0], place.item_place()) for step in wanted)
    return bool(doc == config)


@given(filled, filled_workloads(), managers, st.booleans())
def test_nobody_loses_a_value_of_his_unless_forced(
    steps: list[tuple[str, str, Doc]], config: Doc, manager: str, force: bool
) -> None:
    """Fields of another owner stay, with their list items; they keep their values unless the apply contains them."""
    live = history(steps)
    result = apply(live, config, manager, force, LATE, SCHEMA)
    if isinstance(result, ApplyConflictSet):
        assert not force
        return
    assert isinstance(result, AppliedDocument)
    after, wanted = fields_of(result.doc, SCHEMA.root), fields_of(config, SCHEMA.root)
    seen = compare(without_entries(live), without_entries(result.doc), SCHEMA.root)
    for owner, entry in read_entries(live).items():
        if owner == FieldManager(manager, "Apply", "", ""):
            continue
        there = [path for path in entry.fields & fields_of(live, SCHEMA.root) if _with_its_items(path, entry.fields)]
        assert all(path in after for path in there)
        assert all(path not in seen.changed or (force and path in wanted) for path in there)


def _with_its_items(path: Path, fields: FieldSet) -> bool:
    return all(path[: at + 1] in fields for at, step in enumerate(path) if not step.startswith("f:"))


@given(writes, workloads())
def test_an_update_owns_what_it_changed_and_nothing_that_is_gone(steps: list[tuple[str, str, Doc]], new: Doc) -> None:
    live = history(steps)
    result = with_update(live, new, "ann", LATE, SCHEMA)
    if not nested_field(live, "metadata", "managedFields"):
        assert not nested_field(result, "metadata", "managedFields")
        return
    seen = compare(SCHEMA.fill(without_entries(live)), SCHEMA.fill(new), SCHEMA.root)
    mine = read_entries(result).get(field_manager("ann", "Update", "apps/v1", ""))
    gained = seen.written - UNTRACKED
    assert not gained - (mine.fields if mine else NO_FIELDS)
    assert not owned(result) & seen.removed
    assert not gained or (mine is not None and mine.time == LATE)
