"""A snapshot that was taken as one plain document, as Snapshot.json says."""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.documents import API_VERSION, SNAPSHOT
from kubectl_eksdoc.render.document import Fields, metadata
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.snapshot.view import SnapshotView


def document(view: SnapshotView) -> Fields:
    scene = view.scene
    cluster = Cluster(scene.identity, view.taken.snapshot.source, scene.observed_at, scene.reads, notes=scene.notes)
    lacking: list[Json] = [{"what": what, "why": why} for what, why in view.lacking]
    return {
        "apiVersion": API_VERSION,
        "kind": SNAPSHOT,
        "metadata": cast(
            Json, metadata(cluster, {"without": list(view.without)} if view.without else {}, view.tool_version)
        ),
        "file": view.path,
        "bytes": view.taken.size,
        "answersOfAws": scene.calls,
        "lacking": lacking,
        "findings": [],
    }
