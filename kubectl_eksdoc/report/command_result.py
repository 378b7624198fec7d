"""First fields of the results of commands about one cluster. Separate from `result`, because some results have no
cluster."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import ReadState

from .result import (
    Count,
    KindResult,
    Meta,
    Printed,
    Text,
    Texts,
    Timestamp,
    UnsetType,
)

_P = TypeVar("_P", bound=Printed)


class ClusterResult(Printed):
    """The identity of the cluster; null if not known."""

    context: Text | None
    cluster: Text | None
    account: Text | None
    region: Text | None
    server_version: Text | None
    uid: Text | None
    """The UID of Namespace kube-system: it ties a plan to its cluster, independent of names."""
    unverified: (
        Annotated[tuple[Literal["cluster", "region"], ...], Meta(min_length=1, extra_json_schema={"uniqueItems": True})]
        | UnsetType
    )
    """Names that only the command line gives: neither AWS nor the data that was read confirmed them."""

    @classmethod
    def of(cls, facts: Identity) -> ClusterResult:
        return cls.from_facts(facts, unverified=facts.unverified or None)


class KindReadResult(Printed):
    """The state of reading one kind."""

    resource: Text
    state: ReadState
    count: Count | None
    """Null if not all of its objects are known."""
    detail: Text | UnsetType

    @classmethod
    def of(cls, facts: kinds.KindRead) -> KindReadResult:
        return cls.from_facts(facts, resource=facts.resource.full_name, count=facts.count if facts.known else None)


class Metadata(Printed):
    """Version of the tool, the cluster, the age of the data, the kinds read, and the options."""

    tool_version: Text
    cluster: ClusterResult
    source: Source
    observed_at: Timestamp
    """When the data was read, UTC."""
    kinds_read: tuple[KindReadResult, ...]
    options: dict[str, Any]
    """The options as given on the command line."""
    notes: Texts | UnsetType
    """Notes of the reader for the user."""


def metadata(cluster: Cluster, report: Any) -> Metadata:
    """The metadata of a result; `report` has the `options` and the `tool_version`."""
    return Metadata.from_facts(
        cluster,
        cluster=cluster.identity,
        kinds_read=sorted(cluster.reads, key=lambda read: read.resource.full_name),
        options={key: report.options[key] for key in sorted(report.options)},
        tool_version=report.tool_version,
        notes=cluster.notes or None,
    )


class CommandResult(KindResult):
    """A result about one cluster. Its metadata default to those of the facts."""

    metadata: Metadata

    @classmethod
    def from_facts(cls: type[_P], *facts: Any, **values: object) -> _P:
        metadata_result = values.get("metadata") or metadata(facts[0].cluster, facts[0])
        return super().from_facts(*facts, **{**values, "metadata": metadata_result})
