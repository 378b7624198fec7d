"""Watches: the view of many parallel clients, the form of events, and the resource versions to resume from."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from urllib.parse import urlencode

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.embedded.serving.requests import ServedRequest
from tests.embedded.clients import worlds
from tests.embedded.serving.asking import Asking, Doc

PODS = "/api/v1/namespaces/default/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
WRITERS, WATCHES, ROUNDS = 8, 4, 7


def watched(asking: Asking, path: str, accept: str = "application/json", **query: object) -> Iterator[Doc]:
    """The watch's events; closing it ends the watch."""
    words = urlencode({"watch": "1", "timeoutSeconds": "60", **query})
    reply = asking.reply("GET", f"{path}?{words}", accept=accept)
    assert reply.stream is not None, reply.body
    for piece in reply.stream:
        yield from map(json.loads, piece.splitlines())


def state(docs: list[Doc]) -> dict[str, str]:
    return {doc["metadata"]["name"]: doc["metadata"]["resourceVersion"] for doc in docs}


class Follower:
    """A watch in its own thread, until it sees a pod called ``last``."""

    def __init__(self, asking: Asking, version: str, held: dict[str, str]) -> None:
        self.held = dict(held)
        self.versions: list[int] = []
        self.wrong: list[str] = []
        self.thread = threading.Thread(target=self._follow, args=(watched(asking, PODS, resourceVersion=version),))
        self.thread.start()

    def _follow(self, events: Iterator[Doc]) -> None:
        for event in events:
            meta = event["object"]["metadata"]
            self.versions.append(int(meta["resourceVersion"]))
            if (event["type"] == "ADDED") == (meta["name"] in self.held):
                self.wrong.append(f"{event['type']} {meta['name']}")
            if event["type"] == "DELETED":
                self.held.pop(meta["name"], None)
            else:
                self.held[meta["name"]] = meta["resourceVersion"]
            if meta["name"] == "last":
                return


def a_pod(name: str) -> Doc:
    spec = {"containers": [{"name": "c", "image": "example.invalid/app:1"}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "labels": {"app": "made"}}, "spec": spec}


def write(asking: Asking, number: int) -> None:
    """Create, label, evict and delete pods, including pods of other writers."""
    for turn in range(ROUNDS):
        name = f"made-{number}-{turn}"
        asking.create(PODS, a_pod(name))
        for path, kind, codes in ((name, "merge", (200, 404)), ("trap-bare", "strategic-merge", (200,))):
            label = {"metadata": {"labels": {"turn": f"{number}-{turn}"}}}
            headers = {"content_type": f"application/{kind}-patch+json"}
            assert asking.reply("PATCH", f"{PODS}/{path}", label, **headers).status in codes
        eviction = {"metadata": {"name": name}, "deleteOptions": {"gracePeriodSeconds": turn % 3}}
        assert asking.reply("POST", f"{PODS}/{name}/eviction", eviction).status in (201, 404)
        if turn % 2:
            others = f"{PODS}/made-{(number + 1) % WRITERS}-{turn}"
            assert asking.reply("DELETE", others, {"gracePeriodSeconds": 0}).status in (200, 404, 409)


@pytest.mark.parametrize("by_hand", [True, pytest.param(False, marks=pytest.mark.long)])
def test_every_watch_sees_everything_once_and_in_order(by_hand: bool) -> None:
    asking = Asking()
    asking.api = worlds.api_of("small-traps", ManualTime() if by_hand else None)
    first = asking.ask("GET", PODS)
    version = first["metadata"]["resourceVersion"]
    followers = [Follower(asking, version, state(first["items"])) for _ in range(WATCHES)]
    with ThreadPoolExecutor(WRITERS) as writers:
        for done in [writers.submit(write, asking, number) for number in range(WRITERS)]:
            done.result()
    if not by_hand:
        asking.api.run_locked(lambda plane: None)
    asking.create(PODS, a_pod("last"))
    seen = asking.api.run_locked(
        lambda plane: [c.version for c in plane.store.changes_since("pods", int(version)) if c.item.key[0] == "default"]
    )
    for follower in followers:
        follower.thread.join(60)
        assert not follower.thread.is_alive() and follower.wrong == []
        assert follower.versions == seen[: len(follower.versions)]
        assert len(follower.versions) >= len(set(follower.versions)) == len(follower.versions)
    # Up to the last created pod all saw the same objects as a list of that version.
    upto = str(followers[0].versions[-1])
    listed = asking.ask("GET", f"{PODS}?resourceVersion={upto}&resourceVersionMatch=Exact")
    assert listed["metadata"]["resourceVersion"] == upto
    assert [follower.held for follower in followers] == [state(listed["items"])] * WATCHES


def test_of_many_with_the_same_version_one_wins() -> None:
    asking = Asking(moving=True)
    lease = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "one"}}
    with ThreadPoolExecutor(16) as clients:
        made = list(clients.map(lambda _: asking.reply("POST", LEASES, lease).status, range(16)))
        held = asking.ask("GET", f"{LEASES}/one")
        changed = [{**held, "spec": {"holderIdentity": str(number)}} for number in range(16)]
        put = list(clients.map(lambda doc: asking.reply("PUT", f"{LEASES}/one", doc).status, changed))
    assert sorted(made) == [201] + [409] * 15 and sorted(put) == [200] + [409] * 15
    said = asking.ask("PUT", f"{LEASES}/one", lease, 422)
    assert said["message"].endswith("metadata.resourceVersion: Invalid value: 0: must be specified for an update")


def test_a_watch_of_one_object_sees_no_other() -> None:
    asking = Asking(moving=True)
    watch = watched(asking, f"{PODS}/trap-bare")
    assert next(watch)["object"]["metadata"]["name"] == "trap-bare"
    asking.create(PODS, a_pod("made"))
    asking.ask("DELETE", f"{PODS}/trap-bare", {"gracePeriodSeconds": 0})
    assert [next(watch)["object"]["metadata"]["name"] for _ in range(2)] == ["trap-bare"] * 2


def test_bookmarks_come_every_minute_to_who_wants_them_and_a_watch_ends_with_the_wall_s_time() -> None:
    asking, plane = Asking(), worlds.plane_of("small-traps", pace=None)
    asking.api = Api(plane, worlds.SETUP, ManualTime(), partial(next, count(0.0, 1.0)))
    asked = {"timeoutSeconds": 300, "resourceVersion": plane.store.version}
    with_bookmarks = list(watched(asking, PODS, **asked, allowWatchBookmarks="true"))
    assert {event["type"] for event in with_bookmarks} == {"BOOKMARK"} and len(with_bookmarks) == 5
    assert with_bookmarks[0]["object"]["metadata"]["resourceVersion"] == str(plane.store.version)
    assert list(watched(asking, PODS, **asked)) == []
    assert plane.virtual_time.seconds == 0.0


def test_what_goes_wrong_in_a_controller_is_kept_and_stops_nobody() -> None:
    asking = Asking()

    def broken() -> None:
        raise ZeroDivisionError

    asking.api.run_locked(lambda plane: plane.virtual_time.schedule(0.0, broken))
    admin = {"authorization": f"Bearer {worlds.ADMIN_TOKEN}"}
    assert asking.api.handle(ServedRequest("GET", PODS, {}, admin)).status == 200
    assert [type(fault) for fault in asking.api.internal_errors] == [ZeroDivisionError]


NODES = "/api/v1/nodes"
FORM = "application/json;as={};v=v1;g=meta.k8s.io"


def first_ones(form: str) -> list[Doc]:
    """The events up to the bookmark that ends the initial list."""
    asked = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    found = []
    for event in watched(Asking(), NODES, FORM.format(form), **asked):
        found.append(event["object"])
        if event["type"] == "BOOKMARK":
            return found
    raise AssertionError("it ended without a bookmark")


def test_the_columns_come_once() -> None:
    told = first_ones("Table")
    assert {each["kind"] for each in told} == {"Table"}
    assert [each["columnDefinitions"] is None for each in told] == [False] + [True] * (len(told) - 1)
    names = [each["rows"][0]["cells"][0] for each in told]
    assert names[:-1] == sorted(names[:-1]) and names[-1] == ""
    held = told[-1]["rows"][0]["object"]["metadata"]
    assert held["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert told[-1]["metadata"]["resourceVersion"] == held["resourceVersion"] != "0"


def test_metadata_alone() -> None:
    told = first_ones("PartialObjectMetadata")
    assert {each["kind"] for each in told} == {"PartialObjectMetadata"}
    assert all(set(each) == {"kind", "apiVersion", "metadata"} for each in told)


def test_an_error_is_a_status_in_every_form() -> None:
    asking = Asking()
    asking.api.run_locked(lambda plane: plane.store.drop_changes())
    for accept in ("application/json", FORM.format("Table")):
        event = next(watched(asking, NODES, accept, resourceVersion="1"))
        assert (event["type"], event["object"]["kind"], event["object"]["code"]) == ("ERROR", "Status", 410)
