"""One object in the form of an API server, and the cluster that contains only this object."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.collector import FactCollector

T0 = datetime(2026, 11, 20, 8, 0, 0, tzinfo=timezone.utc)
T0_TEXT = "2026-11-20T08:00:00Z"


def observed(resource: Resource, **fields: Any) -> Cluster:
    """The cluster that contains one object, called shop/x or x."""
    meta = {"name": "x", "uid": "u", **fields.pop("meta", {})}
    if resource.namespaced:
        meta["namespace"] = "shop"
    gathered = FactCollector(Source.LIVE)
    gathered.add_item(resource, json.dumps({"metadata": meta, **fields}).encode(), "test")
    return gathered.cluster(Identity(), T0)


def fact(resource: Resource, **fields: Any) -> Any:
    """The fact that the reader makes of that object."""
    cluster = observed(resource, **fields)
    facts = (getattr(cluster, name) for name in Cluster.__slots__ if name not in ("reads", "notes"))
    (found,) = (each for held in facts if isinstance(held, tuple) for each in held)
    return found
