"""Stages for rehearsals: recorded and made clusters, with the controllers that keep them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from kubectl_eksdoc.embedded.loading import load
from kubectl_eksdoc.embedded.stage import EmbeddedStage
from kubectl_eksdoc.host.archives.snapshot import SnapshotReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.objects.single import RawObjects
from kubectl_eksdoc.simulator.plane import ControlPlane
from tests.simulator.planes import a_node_doc, a_pod_doc

CLUSTERS = Path(__file__).parents[1] / "data" / "clusters"
NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)


def recorded(archive: str) -> tuple[ControlPlane, EmbeddedStage]:
    """A recorded cluster, as its dump has it."""
    raw, observed = read(archive)
    return staged(raw.documents(), observed)


@cache
def read(archive: str) -> tuple[RawObjects, Cluster]:
    """Its documents are made anew each time they are asked for."""
    raw = RawObjects()
    return raw, SnapshotReader(str(CLUSTERS / archive), raw=raw).read(kinds.ALL)


def made(*docs: Doc) -> tuple[ControlPlane, EmbeddedStage]:
    """A cluster of these objects and no others."""
    reads = tuple(KindRead(resource, ReadState.READ) for resource in kinds.ALL)
    return staged(docs, Cluster(Identity("test", "test"), Source.SNAPSHOT, NOW, reads=reads))


def staged(docs: Iterable[Doc], observed: Cluster) -> tuple[ControlPlane, EmbeddedStage]:
    plane = load(docs, observed.observed_at).plane
    return plane, EmbeddedStage(plane, observed)


def web(replicas: int, nodes: int) -> list[Doc]:
    """A ReplicaSet's pods, one on each of the first nodes, each taking most of its node."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": a_pod_doc("x", cpu="3")["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    meta = {"name": "web", "namespace": "default", "uid": "uid-rs", "generation": 1}
    status = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "observedGeneration": 1}
    owner = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web", "uid": "uid-rs", "controller": True}
    pods = [a_pod_doc(f"web-{i}", f"old-{i}", cpu="3") for i in range(replicas)]
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [owner]
    made_nodes = [with_group(a_node_doc(f"old-{i}")) for i in range(nodes)]
    head = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": meta}
    return [*made_nodes, *pods, {**head, "spec": spec, "status": status}]


def with_group(node: Doc) -> Doc:
    return with_value(node, ("metadata", "labels", "eks.amazonaws.com/nodegroup"), "blue")
