"""Pictures of clusters that were seen, one file for each.

A cache: what cannot be read, is of another version or is damaged is as if it were not there, and what cannot be written
is not kept.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

from kubectl_eksdoc.core.model.cluster import Identity
from kubectl_eksdoc.core.model.last_view import KEPT_LABELS, LastView
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.versions import parse
from kubectl_eksdoc.host.cache.files import CacheFiles
from kubectl_eksdoc.host.documents.fields import Fields, Unfit

VERSION = 1

LARGEST = 8 << 20
"""Bytes of one file: some 20,000 nodes. What would be larger is not kept."""

MOST = 20
"""So many clusters are remembered; the one that was seen longest ago goes first."""

ENDING = ".view"

_READY = ("True", "False", "Unknown")


class LastViews:
    """`key` is a digest, in hex, of all that makes out which cluster it is and who looks at it."""

    def __init__(self, folder: Path) -> None:
        self._files = CacheFiles(folder, ENDING, MOST, LARGEST)

    def of(self, key: str) -> LastView | None:
        """None where there is none, or none that can be used."""
        content = self._files.of(key)
        return None if content is None else view_in(content)

    def keep(self, key: str, view: LastView) -> None:
        """Whoever reads it meanwhile finds the old one or this one, whole. Only its owner may."""
        self._files.keep(key, content_of(view))


def content_of(view: LastView) -> bytes:
    who = view.identity
    document = {
        "version": VERSION,
        "observedAt": _written(view.observed_at),
        "context": who.context,
        "cluster": who.cluster,
        "region": who.region,
        "serverVersion": who.server_version,
        "unverified": who.unverified,
        "nodes": [_node(node, view.pods.get(node.name, 0)) for node in view.nodes],
    }
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def _node(node: Node, pods: int) -> dict[str, object]:
    return {
        "name": node.name,
        "labels": dict(node.labels),
        "unschedulable": node.unschedulable,
        "ready": node.ready,
        "kubelet": node.kubelet_text,
        "createdAt": _written(node.created_at),
        "deletionAt": _written(node.deletion_at),
        "podsAllocatable": node.pods_allocatable,
        "pods": pods,
    }


def _written(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def view_in(content: bytes) -> LastView | None:
    """None: it is not what `content_of` of this version makes."""
    try:
        document: object = json.loads(content)
        if not isinstance(document, dict):
            return None
        return _view(Fields(document))
    except (ValueError, RecursionError, OverflowError):  # ValueError: not JSON, not Unicode, or Unfit
        return None


def _view(fields: Fields) -> LastView:
    """Raises Unfit."""
    if fields.whole("version") != VERSION:
        raise fields.unfit("version", "is another one")
    who = Identity(
        context=fields.text_or_empty("context"),
        cluster=fields.text_or_empty("cluster"),
        region=fields.text_or_empty("region"),
        server_version=fields.text_or_empty("serverVersion"),
        unverified=fields.texts("unverified") if "unverified" in fields.names() else (),
    )
    nodes, pods = {}, {}
    for each in fields.each("nodes"):
        node = _node_in(each)
        nodes[node.name], pods[node.name] = node, each.whole("pods")
    return LastView(who, fields.moment("observedAt"), tuple(nodes.values()), pods)


def _node_in(fields: Fields) -> Node:
    labels = fields.inside("labels")
    kubelet = fields.text_or_empty("kubelet")
    ready = fields.text("ready")
    if ready not in _READY:
        raise fields.unfit("ready", "is no status of a condition")
    return Node(
        name=fields.text("name"),
        uid="",
        labels={label: labels.text_or_empty(label) for label in labels.names() if label in KEPT_LABELS},
        unschedulable=_yes(fields, "unschedulable"),
        ready=ready,
        kubelet=parse(kubelet),
        kubelet_text=kubelet,
        created_at=_moment(fields, "createdAt"),
        deletion_at=_moment(fields, "deletionAt"),
        pods_allocatable=fields.whole("podsAllocatable"),
    )


def _moment(fields: Fields, key: str) -> datetime | None:
    return None if fields.value(key) == "" else fields.moment(key)


def _yes(fields: Fields, key: str) -> bool:
    value = fields.value(key)
    if not isinstance(value, bool):
        raise Unfit(f"{key} is neither true nor false")
    return value
