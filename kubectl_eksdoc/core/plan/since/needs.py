"""Without which lists of the cluster a code is not judged, and which lists an answer had."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.codes import Code


def needs_of(codes: Iterable[Code]) -> dict[str, frozenset[str]]:
    """By the names of the codes."""
    return {code.name: frozenset(kind.full_name for kind in code.needs) for code in codes}


def read_of(cluster: Cluster) -> frozenset[str]:
    """The kinds that were known completely."""
    return frozenset(read.resource.full_name for read in cluster.reads if read.known)
