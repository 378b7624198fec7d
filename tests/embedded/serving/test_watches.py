"""Watches: what many clients at once see, in which form, and when they are told from where they may go on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.embedded.serving.targets import ServedRequest
from tests.embedded.clients import worlds
from tests.embedded.serving.asking import Asking, Doc

ADMIN = {"authorization": f"Bearer {worlds.ADMIN_TOKEN}"}
PODS = "/api/v1/namespaces/default/pods"
WRITERS, WATCHES, ROUNDS = 8, 4, 7


def ask(api: Api, method: str, path: str, body: Any = None, content: str = "json", **query: str) -> tuple[int, Any]:
    headers = {**ADMIN, "content-type": f"application/{content}"}
    words = {name: (value,) for name, value in query.items()}
    reply = api.handle(ServedRequest(method, path, words, headers, b"" if body is None else json.dumps(body).encode()))
    return reply.status, json.loads(reply.body)


def watched(api: Api, path: str, seconds: int = 60, **query: str) -> Iterator[dict[str, Any]]:
    """Its events; closing it ends the watch."""
    words = {"watch": ("1",), "timeoutSeconds": (str(seconds),), **{name: (value,) for name, value in query.items()}}
    reply = api.handle(ServedRequest("GET", path, words, ADMIN))
    assert reply.stream is not None, reply.body
    for piece in reply.stream:
        yield from map(json.loads, piece.splitlines())


def state(docs: list[dict[str, Any]]) -> dict[str, str]:
    return {doc["metadata"]["name"]: doc["metadata"]["resourceVersion"] for doc in docs}


class Follower:
    """A watch in a thread of its own, until it has seen a pod called ``last`` come."""

    def __init__(self, api: Api, version: str, held: dict[str, str]) -> None:
        self.held = dict(held)
        self.versions: list[int] = []
        self.wrong: list[str] = []
        self.thread = threading.Thread(target=self._follow, args=(watched(api, PODS, resourceVersion=version),))
        self.thread.start()

    def _follow(self, events: Iterator[dict[str, Any]]) -> None:
        for event in events:
            self._take(event["type"], event["object"]["metadata"])
            if event["object"]["metadata"]["name"] == "last":
                return

    def _take(self, what: str, meta: dict[str, str]) -> None:
        self.versions.append(int(meta["resourceVersion"]))
        if (what == "ADDED") == (meta["name"] in self.held):
            self.wrong.append(f"{what} {meta['name']}")
        if what == "DELETED":
            self.held.pop(meta["name"], None)
        else:
            self.held[meta["name"]] = meta["resourceVersion"]


def a_pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "example.invalid/app:1"}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "labels": {"app": "made"}}, "spec": spec}


def write(api: Api, number: int) -> None:
    """Pods made, labelled, evicted and deleted, those of others, too."""
    for turn in range(ROUNDS):
        name = f"made-{number}-{turn}"
        assert ask(api, "POST", PODS, a_pod(name))[0] == 201
        label = {"metadata": {"labels": {"turn": str(turn)}}}
        assert ask(api, "PATCH", f"{PODS}/{name}", label, "merge-patch+json")[0] in (200, 404)
        shared = {"metadata": {"labels": {"turn": f"{number}-{turn}"}}}
        assert ask(api, "PATCH", f"{PODS}/trap-bare", shared, "strategic-merge-patch+json")[0] == 200
        eviction = {"metadata": {"name": name}, "deleteOptions": {"gracePeriodSeconds": turn % 3}}
        assert ask(api, "POST", f"{PODS}/{name}/eviction", eviction)[0] in (201, 404)
        if turn % 2:
            others = f"made-{(number + 1) % WRITERS}-{turn}"
            assert ask(api, "DELETE", f"{PODS}/{others}", {"gracePeriodSeconds": 0})[0] in (200, 404, 409)


@pytest.mark.parametrize("by_hand", [True, pytest.param(False, marks=pytest.mark.long)])
def test_every_watch_sees_everything_once_and_in_order(by_hand: bool) -> None:
    api = worlds.api_of("small-traps", ManualTime() if by_hand else None)
    first = ask(api, "GET", PODS)[1]
    version = first["metadata"]["resourceVersion"]
    followers = [Follower(api, version, state(first["items"])) for _ in range(WATCHES)]
    with ThreadPoolExecutor(WRITERS) as writers:
        for done in [writers.submit(write, api, number) for number in range(WRITERS)]:
            done.result()
    if not by_hand:
        api.now(lambda plane: None)
    assert ask(api, "POST", PODS, a_pod("last"))[0] == 201
    seen = api.now(
        lambda plane: [c.version for c in plane.store.since("pods", int(version)) if c.item.key[0] == "default"]
    )
    for follower in followers:
        follower.thread.join(60)
        assert not follower.thread.is_alive() and follower.wrong == []
        assert follower.versions == seen[: len(follower.versions)]
        assert len(follower.versions) >= len(set(follower.versions)) == len(follower.versions)
    # Up to the pod that was made last all saw the same; that is what a list of that version shows.
    upto = str(followers[0].versions[-1])
    listed = ask(api, "GET", PODS, resourceVersion=upto, resourceVersionMatch="Exact")[1]
    assert listed["metadata"]["resourceVersion"] == upto
    assert [follower.held for follower in followers] == [state(listed["items"])] * WATCHES
    assert not api.faults


def test_of_many_with_the_same_version_one_wins() -> None:
    api = worlds.api_of("small-traps", ManualTime())
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "one"}}
    with ThreadPoolExecutor(16) as clients:
        made = list(clients.map(lambda _: ask(api, "POST", leases, lease)[0], range(16)))
        held = ask(api, "GET", f"{leases}/one")[1]
        changed = [{**held, "spec": {"holderIdentity": str(number)}} for number in range(16)]
        put = list(clients.map(lambda doc: ask(api, "PUT", f"{leases}/one", doc)[0], changed))
    assert sorted(made) == [201] + [409] * 15 and sorted(put) == [200] + [409] * 15


def test_a_watch_of_one_object_sees_no_other() -> None:
    api = worlds.api_of("small-traps", ManualTime())
    watch = watched(api, f"{PODS}/trap-bare")
    assert next(watch)["object"]["metadata"]["name"] == "trap-bare"
    ask(api, "POST", PODS, a_pod("made"))
    ask(api, "DELETE", f"{PODS}/trap-bare", {"gracePeriodSeconds": 0})
    assert [next(watch)["object"]["metadata"]["name"] for _ in range(2)] == ["trap-bare"] * 2


def test_bookmarks_come_every_minute_to_who_wants_them_and_a_watch_ends_with_the_wall_s_time() -> None:
    plane = worlds.plane_of("small-traps", pace=None)
    api = Api(plane, worlds.SETUP, ManualTime(), partial(next, count(0.0, 20.0)))
    version = str(plane.store.version)
    with_bookmarks = list(watched(api, PODS, 300, resourceVersion=version, allowWatchBookmarks="true"))
    assert {event["type"] for event in with_bookmarks} == {"BOOKMARK"} and 3 <= len(with_bookmarks) <= 5
    assert with_bookmarks[0]["object"]["metadata"]["resourceVersion"] == version
    assert list(watched(api, PODS, 300, resourceVersion=version)) == []
    assert plane.agenda.seconds == 0.0


def test_what_goes_wrong_in_a_controller_is_kept_and_stops_nobody() -> None:
    api = worlds.api_of("small-traps", ManualTime())

    def broken() -> None:
        raise ZeroDivisionError

    api.now(lambda plane: plane.agenda.after(0.0, broken))
    assert ask(api, "GET", PODS)[0] == 200
    assert [type(fault) for fault in api.faults] == [ZeroDivisionError]


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
    bookmark = told[-1]["object"]
    held = bookmark["rows"][0]["object"]["metadata"]
    assert held["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark["metadata"]["resourceVersion"] == held["resourceVersion"] != "0"


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
