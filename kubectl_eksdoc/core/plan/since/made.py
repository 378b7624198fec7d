"""An answer that was just made of what was read earlier, reduced to what a saved one is read as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.earlier import Earlier
from kubectl_eksdoc.core.model.findings import Finding
from kubectl_eksdoc.core.plan.since.changes import outline_of
from kubectl_eksdoc.core.plan.since.needs import read_of
from kubectl_eksdoc.core.plan.since.same_cluster import uids_of


@dataclass(frozen=True, slots=True)
class Of:
    """Of which `file` with a snapshot in it, by which version of this tool, and asked for with which `options` (JSON
    values by flag)."""

    file: str
    tool_version: str
    options: Mapping[str, object] = field(default_factory=dict)


def made_earlier(of: Of, cluster: Cluster, findings: Iterable[Finding], suppressed: Iterable[Finding] = ()) -> Earlier:
    """What only some commands say (`codes`, `addons`, `way`) is left out."""
    return Earlier(
        of.file,
        cluster.identity,
        cluster.source,
        cluster.observed_at,
        of.tool_version,
        of.options,
        read_of(cluster),
        tuple(map(outline_of, findings)),
        tuple(map(outline_of, suppressed)),
        uids=uids_of(cluster),
    )
