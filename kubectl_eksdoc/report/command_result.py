"""What the results of commands about a cluster begin with. Apart from `result`, as not every answer has a cluster."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import ReadState

from .result import (
    Count,
    KindResult,
    Meta,
    Moment,
    Printed,
    Text,
    Texts,
    UnsetType,
)

_P = TypeVar("_P", bound=Printed)


class ClusterResult(Printed):
    """Whose cluster it is; null is not known."""

    context: Text | None
    cluster: Text | None
    account: Text | None
    region: Text | None
    server_version: Text | None
    uid: Text | None
    """The uid of Namespace kube-system: it ties a plan to its cluster, whatever its names are."""
    unverified: (
        Annotated[tuple[Literal["cluster", "region"], ...], Meta(min_length=1, extra_json_schema={"uniqueItems": True})]
        | UnsetType
    )
    """Names that the command line alone says: neither AWS nor what was read confirmed them."""

    @classmethod
    def of(cls, facts: Identity) -> ClusterResult:
        return cls.filled(facts, unverified=facts.unverified or None)


class KindReadResult(Printed):
    """How reading one kind went."""

    resource: Text
    state: ReadState
    count: Count | None
    """Null where not all of its objects are known."""
    detail: Text | UnsetType

    @classmethod
    def of(cls, facts: kinds.KindRead) -> KindReadResult:
        return cls.filled(facts, resource=facts.resource.full_name, count=facts.count if facts.known else None)


class Metadata(Printed):
    """Which tool, which cluster, how old, what was read, and the options as given."""

    tool_version: Text
    cluster: ClusterResult
    source: Source
    observed_at: Moment
    """When the facts were read, UTC."""
    kinds_read: tuple[KindReadResult, ...]
    options: dict[str, Any]
    """The options as given on the command line."""
    notes: Texts | UnsetType
    """What the reader wants the user to know."""


def metadata(cluster: Cluster, view: Any) -> Metadata:
    """`view` has the `options` and the `tool_version`."""
    return Metadata.filled(
        cluster,
        cluster=cluster.identity,
        kinds_read=sorted(cluster.reads, key=lambda read: read.resource.full_name),
        options={key: view.options[key] for key in sorted(view.options)},
        tool_version=view.tool_version,
        notes=cluster.notes or None,
    )


class CommandResult(KindResult):
    """Of a command about one cluster: its metadata are those of the facts, if nothing else is given."""

    metadata: Metadata

    @classmethod
    def filled(cls: type[_P], *facts: Any, **given: object) -> _P:
        first = given.get("metadata") or metadata(facts[0].cluster, facts[0])
        return super().filled(*facts, **{**given, "metadata": first})
