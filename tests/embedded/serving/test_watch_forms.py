"""Watches of clients that want tables or metadata alone (apiserver, endpoints/handlers/response.go)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.embedded.serving.asking import Asking, Doc

NODES = "/api/v1/nodes"
WATCH = f"{NODES}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"


def events(asking: Asking, path: str, accept: str) -> Iterator[Doc]:
    reply = asking.reply("GET", path, accept=accept)
    assert reply.stream is not None
    for piece in reply.stream:
        yield from map(json.loads, piece.splitlines())


def first_ones(asking: Asking, accept: str) -> list[Doc]:
    """What is told until the bookmark that ends what is there."""
    found = []
    for event in events(asking, WATCH, accept):
        found.append(event)
        if event["type"] == "BOOKMARK":
            return found
    raise AssertionError("it ended without a bookmark")


def test_the_columns_come_once() -> None:
    told = first_ones(Asking(), "application/json;as=Table;v=v1;g=meta.k8s.io")
    assert {event["object"]["kind"] for event in told} == {"Table"}
    assert [event["object"]["columnDefinitions"] is None for event in told] == [False] + [True] * (len(told) - 1)
    names = [event["object"]["rows"][0]["cells"][0] for event in told]
    assert names[:-1] == sorted(names[:-1]) and names[-1] == ""


def test_a_bookmark_is_a_row_with_a_version() -> None:
    *_, bookmark = first_ones(Asking(), "application/json;as=Table;v=v1;g=meta.k8s.io")
    held = bookmark["object"]["rows"][0]["object"]["metadata"]
    assert held["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(held["resourceVersion"]) > 0
    assert bookmark["object"]["metadata"]["resourceVersion"] == held["resourceVersion"]


def test_metadata_alone() -> None:
    told = first_ones(Asking(), "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    assert {event["object"]["kind"] for event in told} == {"PartialObjectMetadata"}
    assert all(set(event["object"]) == {"kind", "apiVersion", "metadata"} for event in told)


def test_an_error_is_a_status_in_every_form() -> None:
    asking = Asking()
    asking.api.now(lambda plane: plane.store.forget())
    for accept in ("application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"):
        event = next(events(asking, f"{NODES}?watch=1&resourceVersion=1", accept))
        assert (event["type"], event["object"]["kind"], event["object"]["code"]) == ("ERROR", "Status", 410)
