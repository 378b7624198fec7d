"""The files of the snapshot, and the cluster and the moment that they are of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import cache
from importlib.resources import files
from typing import Any

from kubectl_eksdoc.core.model.cluster import Identity
from kubectl_eksdoc.objects.raw_objects import raws_in

NOW = datetime(2026, 11, 20, 8, 51, 0, tzinfo=timezone.utc)
"""The moment at which the demo cluster is observed, always."""

IDENTITY = Identity("demo", "demo-shop", "111122223333", "ap-northeast-2", "v1.33")

DEFAULT_NODEGROUP = "blue"
"""The node group that the demo's upgrade wants to empty."""

PLAIN = ""
SCENES = (PLAIN, "check", "imds-probe", "interruption")
"""Each by the command that sees it; the plain one is that of all others."""


def folder(scene: str) -> str:
    return scene or "plain"


def read(name: str) -> bytes:
    """A file of the snapshot. A scene that adds nothing to the plain one has no file."""
    path = files(__package__) / "data" / name
    return path.read_bytes() if path.is_file() else b"{}"


@cache
def account() -> Mapping[str, Any]:
    """The cluster's endpoint, how each question is answered, and the instances of the plain scene by their nodes."""
    found: Mapping[str, Any] = json.loads(read("account.json"))
    return found


@cache
def held(what: str, scene: str) -> Mapping[str, Mapping[str, bytes]]:
    """The ``objects``, ``texts`` or ``aws`` answers of a scene by kind and name: those of the plain scene, but for the
    ones that the scene replaces."""
    added = raws_in(read(f"{folder(scene)}/{what}.json"))
    if scene == PLAIN:
        return added
    plain = held(what, PLAIN)
    return {kind: {**plain.get(kind, {}), **added.get(kind, {})} for kind in {**plain, **added}}
