"""Stages for rehearsals: recorded and made clusters, with the controllers that keep them."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.cluster import Identity, Source
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.core.sim.cluster.workloads.everything import every_controller
from kubectl_eksdoc.embedded.loading import load
from kubectl_eksdoc.embedded.stage import EmbeddedStage

CLUSTERS = Path(__file__).parents[1] / "data" / "clusters"
NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)


def recorded(archive: str) -> tuple[ControlPlane, EmbeddedStage]:
    """A recorded cluster, as its dump has it."""
    with tarfile.open(CLUSTERS / archive) as tar:
        files = {Path(member.name).stem: tar.extractfile(member) for member in tar if member.name.endswith(".json")}
        lists = {name: json.load(file) for name, file in files.items() if file is not None}
    held = [resource for resource in kinds.ALL if resource.plural in lists]
    return staged((doc for each in lists.values() for doc in each["items"]), held)


def made(*docs: Doc) -> tuple[ControlPlane, EmbeddedStage]:
    """A cluster of these objects and no others."""
    return staged(docs, kinds.ALL)


def staged(docs: Iterable[Doc], held: Iterable[kinds.Resource]) -> tuple[ControlPlane, EmbeddedStage]:
    plane = load(docs, NOW).plane
    return plane, EmbeddedStage(plane, Identity("test", "test"), Source.SNAPSHOT, held, every_controller)
