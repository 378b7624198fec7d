"""Applies by rule: first applies, several appliers, subresources, lists by default keys, and what cannot be applied."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.types import schema_of, schema_of_custom
from kubectl_eksdoc.kubernetes.ownership.applying import AppliedDocument, ApplyRefused, Conflicts, apply
from kubectl_eksdoc.kubernetes.ownership.entries import read, updated, without_entries
from kubectl_eksdoc.model.api_objects import Doc, with_value, without
from tests.kubernetes.api.replays import MAIN, STATUS, owners

EARLY, LATE = "2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z"
SERVICES = schema_of("v1", "Service")


def service(**spec: object) -> Doc:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec}


def applied(live: Doc | None, config: Doc, manager: str, force: bool = False, now: str = EARLY) -> Doc:
    result = apply(live, config, manager, force, now, SERVICES, reset=MAIN)
    assert isinstance(result, AppliedDocument)
    return result.doc


def names(doc: Doc) -> list[tuple[str, str]]:
    return [(owner.manager, owner.operation) for owner in read(doc)]


def test_what_was_there_before_the_first_apply_has_an_owner_of_that_name() -> None:
    live = service(ports=[{"port": 80, "protocol": "TCP"}])
    result = apply(live, service(ports=[{"port": 80, "name": "http"}]), "ann", False, EARLY, SERVICES)
    assert isinstance(result, AppliedDocument)
    assert names(result.doc) == [("ann", "Apply"), ("before-first-apply", "Update")]
    conflict = apply(live, service(type="NodePort"), "ann", False, EARLY, SERVICES)
    assert isinstance(conflict, AppliedDocument)
    clash = apply({**live, "spec": {"type": "ClusterIP"}}, service(type="NodePort"), "ann", False, EARLY, SERVICES)
    assert isinstance(clash, Conflicts)
    assert clash.message == ('Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .spec.type')


def test_an_applier_who_changes_nothing_has_an_entry_without_a_time() -> None:
    live = applied(None, service(type="NodePort"), "ann")
    result = applied(live, service(type="NodePort"), "bob", now=LATE)
    assert {entry["manager"]: entry.get("time") for entry in owners(result)} == {"ann": EARLY, "bob": None}


def test_a_conflict_names_the_subresource() -> None:
    status = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}
    live = updated(None, service(), "ann", EARLY, SERVICES)
    live = with_value(live, ("metadata", "labels"), {"a": "1"})
    live = updated(service() | {"metadata": {"name": "web"}}, live, "ann", EARLY, SERVICES)
    live = applied(without_entries(live), service(type="NodePort"), "ann", force=True)
    live = updated(live, {**live, "status": status}, "lb", EARLY, SERVICES, "status", STATUS)
    config = {**service(), "status": {"loadBalancer": {"ingress": []}}}
    result = apply(live, config, "bob", False, LATE, SERVICES, "status", STATUS)
    assert isinstance(result, Conflicts)
    assert result.message == (
        'Apply failed with 1 conflict: conflict with "lb" with subresource "status" using v1: '
        ".status.loadBalancer.ingress"
    )


def test_what_the_strategy_resets_is_not_owned_and_conflicts_with_nobody() -> None:
    live = applied(None, {**service(type="NodePort"), "status": {"loadBalancer": {}}}, "ann")
    assert "f:status" not in owners(live)[0]["fieldsV1"]


def test_entries_cannot_be_applied() -> None:
    config = with_value(service(), ("metadata", "managedFields"), [])
    assert apply(None, config, "ann", True, EARLY, SERVICES) == ApplyRefused(400, "metadata.managedFields must be nil")


def test_items_with_the_same_key_cannot_be_applied() -> None:
    result = apply(None, service(ports=[{"port": 80}, {"port": 80, "protocol": "TCP"}]), "ann", True, EARLY, SERVICES)
    assert result == ApplyRefused(
        500,
        "failed to create typed patch object (shop/web; v1, Kind=Service): "
        '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
    )


def test_defaults_in_an_object_go_with_the_object_when_its_applier_leaves_it() -> None:
    """The applier never had the default, but the named field that it is in."""
    live = applied(None, service(type="NodePort", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 60}}), "ann")
    defaulted = with_value(live, ("spec", "sessionAffinityConfig", "mode"), "some")
    assert applied(defaulted, service(type="NodePort"), "ann")["spec"] == {"type": "NodePort"}
    # A value that somebody else owns keeps the object around it, and with it what nobody owns.
    owned = updated(
        defaulted, with_value(defaulted, ("spec", "sessionAffinityConfig", "other"), 1), "bob", EARLY, SERVICES
    )
    assert applied(owned, service(type="NodePort"), "ann")["spec"] == {
        "type": "NodePort",
        "sessionAffinityConfig": {"other": 1, "mode": "some"},
    }


def test_nulls_are_owned_and_not_stored() -> None:
    result = applied(None, with_value(service(type=None), ("metadata", "creationTimestamp"), None), "ann")
    assert without_entries(result) == without(service(), ("spec", "type"))
    assert owners(result)[0]["fieldsV1"] == {"f:spec": {"f:type": {}}}


def test_keys_of_unknown_objects_are_owned_themselves() -> None:
    """Fields of a custom resource have no ``.``; keys that somebody chose have one."""
    schema = schema_of_custom(
        {
            "properties": {
                "spec": {
                    "properties": {
                        "known": {"properties": {"a": {}}},
                        "values": {"x-kubernetes-preserve-unknown-fields": True},
                    }
                }
            }
        }
    )
    config = {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"known": {"a": {"b": 1}}, "values": {"x": {"y": 1}}},
    }
    result = apply(None, config, "ann", False, EARLY, schema)
    assert isinstance(result, AppliedDocument)
    assert owners(result.doc)[0]["fieldsV1"] == {
        "f:spec": {"f:known": {"f:a": {"f:b": {}}}, "f:values": {"f:x": {".": {}, "f:y": {}}}}
    }
