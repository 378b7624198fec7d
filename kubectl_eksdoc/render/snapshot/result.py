"""A snapshot that was taken as ``-o json`` and ``-o yaml`` print it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.result import Count, Meta, Positive, Printed, Text
from kubectl_eksdoc.render.snapshot.view import SnapshotView


class _Lacking(Printed):
    what: Text
    why: Text


class SnapshotResult(CommandResult):
    """A snapshot that was taken, and what it lacks: kubectl eksdoc snapshot FILE -o json."""

    kind: Literal["Snapshot"]
    file: Text
    """As it was named."""
    bytes: Positive
    answers_of_aws: Count
    """How many questions to AWS have their answer, or why there is none, in it."""
    lacking: tuple[_Lacking, ...]
    """What could not be read or asked, and why: of this, answers from it are unknown."""
    findings: Annotated[tuple[Any, ...], Meta(max_length=0)]

    @classmethod
    def of(cls, facts: SnapshotView) -> SnapshotResult:
        scene, source = facts.scene, facts.taken.snapshot.source
        cluster = Cluster(scene.identity, source, scene.observed_at, scene.reads, notes=scene.notes)
        return cls.filled(
            metadata=metadata(cluster, facts),
            file=facts.path,
            bytes=facts.taken.size,
            answers_of_aws=scene.calls,
            lacking=(_Lacking.filled(what=what, why=why) for what, why in facts.lacking),
            findings=(),
        )
