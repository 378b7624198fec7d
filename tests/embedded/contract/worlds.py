"""The embedded server in the state of the recorded server before an exchange: the same versions and time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from kubectl_eksdoc.embedded.catalogue import Build
from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.requests import ADMIN, ServedRequest, TokenUsers, restricted
from kubectl_eksdoc.kubernetes.api.resources import BUILT_IN
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.controllers import VirtualTime
from kubectl_eksdoc.simulator.store import Store
from tests.embedded.contract import made
from tests.embedded.contract.recorded import Doc, Version, before, cluster_of, history, moment

ACCESS = TokenUsers({"admin": ADMIN, "viewer": restricted("viewer", ())})
ADDRESS = "192.0.2.2:16443"
BUILD = Build(
    git_commit="98b35193b2ac7a23a673325f5e9b830ecd5ba406", build_date="2026-08-01T00:00:00Z", go_version="go1.27.3"
)
COMPACTED = {142: 1234, 143: 1234, 144: 1234, 145: 1234, 148: 1234}
COMPACTED |= dict.fromkeys(range(150, 157), 1429)
"""Before these the versions before those were dropped from etcd, of which changes are dropped here."""

RESTARTED = dict.fromkeys(range(141, 149), 972)
"""Where the API server's watch cache began."""


class Passing:
    """A `TimeDriver`: once a watch is read, half a second passes at every read of the clock, also of the wall clock."""

    def __init__(self) -> None:
        self.running = False
        self._wall_s = 0.0

    def advance(self, agenda: VirtualTime) -> None:
        agenda.run_until(agenda.seconds + (0.5 if self.running else 0.0))

    def monotonic(self) -> float:
        self._wall_s += 0.5
        return self._wall_s

    def real_s(self, virtual_s: float) -> float:
        return 0.0


class World:
    """`plane` has no controllers: only requests change anything."""

    def __init__(self, index: int) -> None:
        self.plane = ControlPlane(moment(index), StoredFacts())
        self.clockwork = Passing()
        version = before(index)
        held = [*made.versions(cluster_of(index)), *history(cluster_of(index))]
        held = sorted((each for each in held if each.number <= version), key=lambda each: each.number)
        _write(self.plane.store, held, version, RESTARTED.get(index, 0))
        if index in COMPACTED:
            self.plane.store.drop_changes()
        setup = ApiSetup(ACCESS, BUILD, ADDRESS)
        self.api = Api(self.plane, setup, self.clockwork, self.clockwork.monotonic)
        self.uids = {str(doc["metadata"].get("uid")) for _, doc, _ in held}


_STANDING: dict[tuple[object, ...], World] = {}


def reading(index: int) -> World:
    """The world of a read-only exchange: shared by all exchanges with the same state."""
    state = (cluster_of(index), before(index), moment(index))
    kept = (COMPACTED.get(index), RESTARTED.get(index))
    if (*state, *kept) not in _STANDING:
        _STANDING[(*state, *kept)] = World(index)
    return _STANDING[(*state, *kept)]


def request_of(recorded: Doc) -> ServedRequest:
    """The recorded request in the form of the server's own code."""
    url = urlsplit(recorded["path"])
    headers = {"accept": recorded["accept"] or "", "content-type": recorded["contentType"] or ""}
    headers |= {name.lower(): value for name, value in recorded.get("headers", {}).items()}
    if recorded["user"]:
        headers["authorization"] = "Bearer admin" if recorded["user"] == "cluster-admin" else "Bearer viewer"
    query = {name: tuple(values) for name, values in parse_qs(url.query, keep_blank_values=True).items()}
    body = b"" if recorded["body"] is None else json.dumps(recorded["body"]).encode()
    given = {name: value for name, value in headers.items() if value}
    return ServedRequest(recorded["method"], unquote(url.path), query, given, body)


def _write(store: Store, held: Iterable[Version], until: int, restarted: int) -> None:
    """Write the objects into the store, each at its version; writes of other clients in between stand for unknown
    versions."""
    for number, doc, gone in held:
        if store.version < restarted <= number:
            _others(store, restarted)
            store.drop_changes()
        _others(store, number - 1)
        said = doc["apiVersion"], doc["kind"]
        resource = next(each.full_name for each in BUILT_IN if (each.api_version, each.kind) == said)
        key = (str(doc["metadata"].get("namespace", "")), str(doc["metadata"]["name"]))
        there = store.get(resource, key)
        if gone:
            if there is not None:
                store.remove(there)
        elif there is None:
            store.add(resource, key, doc)
        else:
            store.replace(there, doc)
    _others(store, until)


def _others(store: Store, until: int) -> None:
    there = store.get("others", ("", "other"))
    while store.version < until:
        doc: dict[str, Any] = {"metadata": {"name": "other"}, "written": store.version}
        there = store.add("others", ("", "other"), doc) if there is None else store.replace(there, doc)
