"""Stages for rehearsals: recorded and made clusters, with the controllers that keep them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.core.model.kinds import KindRead, ReadState
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.embedded.loading import load
from kubectl_eksdoc.embedded.stage import EmbeddedStage
from kubectl_eksdoc.host.snapshot import SnapshotReader
from kubectl_eksdoc.objects.raw_objects import RawObjects

CLUSTERS = Path(__file__).parents[1] / "data" / "clusters"
NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)


def recorded(archive: str) -> tuple[ControlPlane, EmbeddedStage]:
    """A recorded cluster, as its dump has it."""
    raw = RawObjects()
    observed = SnapshotReader(str(CLUSTERS / archive), raw=raw).read(kinds.ALL)
    return staged(raw.documents(), observed)


def made(*docs: Doc) -> tuple[ControlPlane, EmbeddedStage]:
    """A cluster of these objects and no others."""
    reads = tuple(KindRead(resource, ReadState.READ) for resource in kinds.ALL)
    return staged(docs, Cluster(Identity("test", "test"), Source.SNAPSHOT, NOW, reads=reads))


def staged(docs: Iterable[Doc], observed: Cluster) -> tuple[ControlPlane, EmbeddedStage]:
    plane = load(docs, observed.observed_at).plane
    return plane, EmbeddedStage(plane, observed)
