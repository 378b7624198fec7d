"""Serve recorded clusters: each is loaded into a control plane with its controllers, behind the HTTP API."""

from __future__ import annotations

import contextlib
import json
import tarfile
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from kubectl_eksdoc.embedded import catalogue
from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import IDLE_TIMEOUT_S, ScaledTime, SimulatedApiServer, TimeDriver, serving
from kubectl_eksdoc.embedded.serving.requests import (
    ADMIN,
    VIEWER,
    RbacRule,
    TokenUsers,
    restricted,
)
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from tests.embedded.deprecated_uses import DeprecatedUse, text
from tests.simulator.control_planes import Steady

CLUSTERS = Path(__file__).parents[2] / "data" / "clusters"
START = datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc)

ADMIN_TOKEN, VIEWER_TOKEN, DRAINER_TOKEN = "admin-token", "viewer-token", "drainer-token"
DRAINER = restricted(
    "drainer",
    (
        RbacRule(("get", "list"), ("pods", "nodes"), ("",)),
        RbacRule(("create",), ("pods/eviction",), ("",), namespaces=("default",)),
    ),
)
SETUP = ApiSetup(
    TokenUsers({ADMIN_TOKEN: ADMIN, VIEWER_TOKEN: VIEWER, DRAINER_TOKEN: DRAINER}),
    metrics=text((DeprecatedUse("policy", "v1beta1", "poddisruptionbudgets", "1.25"),)),
)
SPEED = 30.0


QUICK = Steady(start=2.0, stop=1.0)
"""Every pod is Ready after two seconds, gone after one; none ends by itself."""


def archive(name: str) -> Path:
    return CLUSTERS / f"{name}.tar.gz"


@cache
def documents(name: str) -> tuple[Doc, ...]:
    """The objects of an archive, and their namespaces where the archive has none."""
    with tarfile.open(archive(name)) as held:
        members = sorted((each for each in held if each.name.endswith(".json")), key=lambda each: each.name)
        lists = [_list(held, each) for each in members]
    docs = [doc for each in lists for doc in each["items"]]
    there = {doc["metadata"]["name"] for doc in docs if doc["kind"] == "Namespace"}
    used = {str(doc["metadata"].get("namespace", "default")) for doc in docs}
    return (*map(namespace, sorted(used - there)), *docs)


def _list(held: tarfile.TarFile, member: tarfile.TarInfo) -> Doc:
    file = held.extractfile(member)
    assert file is not None
    found: Doc = json.load(file)
    return found


def namespace(name: str) -> Doc:
    meta = {"name": name, "uid": f"uid-of-{name}", "creationTimestamp": "2026-11-20T08:00:00Z"}
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": meta,
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def plane_of(name: str, pace: Steady | None = QUICK) -> ControlPlane:
    """A control plane with the objects of an archive; without a pace its controllers do not run, and nothing
    changes."""
    docs = documents(name)
    plane = ControlPlane(START, StoredFacts(), seed=7)
    served = catalogue.build_catalogue(doc for doc in docs if doc["kind"] == "CustomResourceDefinition")
    for doc in docs:
        said = doc["apiVersion"], doc["kind"]
        plane.load(next(each.full_name for each in served.served if (each.api_version, each.kind) == said), [doc])
    if pace is not None:
        plane.start(pace, workload_controllers)
    return plane


def api_of(name: str, clockwork: TimeDriver | None = None, pace: Steady | None = QUICK) -> Api:
    """Its time passes with the wall clock, but faster, unless another clock is given."""
    return Api(plane_of(name, pace), SETUP, clockwork or ScaledTime(time.monotonic, SPEED))


@contextlib.contextmanager
def served(
    name: str, clockwork: TimeDriver | None = None, silence_s: float = IDLE_TIMEOUT_S, pace: Steady | None = QUICK
) -> Iterator[tuple[SimulatedApiServer, Api]]:
    """A recorded cluster's API and its server; at the end the test fails if either had an internal error."""
    api = api_of(name, clockwork, pace)
    with serving(api, silence_s=silence_s) as server:
        yield server, api
    assert list(api.internal_errors) == []
