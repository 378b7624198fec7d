"""Identity line on stderr: cluster, account, region, and age of the data."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from kubectl_eksdoc.model.cluster import UNKNOWN_TIME, Cluster, Identity, Source
from kubectl_eksdoc.model.quantities import format_duration

from .text import Appearance, format_age, printable, rfc3339, time_between

UNKNOWN = "unknown"
NO_CLUSTER = "manifests alone, no cluster was read"

_SKEW = timedelta(seconds=2)
"""Clock skew that is tolerated before data counts as coming from the future."""


def identity_parts(identity: Identity) -> tuple[tuple[str, str], ...]:
    """Labels and values that identify the cluster; "" for an unknown value."""
    parts = (
        ("context", identity.context),
        ("cluster", identity.cluster),
        ("account", identity.account),
        ("region", identity.region),
    )
    return tuple((label, f"{name} (unverified)" if label in identity.unverified else name) for label, name in parts)


def cluster_title(cluster: Cluster) -> str:
    """The cluster's name for a title."""
    identity, fallback = cluster.identity, "manifests" if cluster.source is Source.FILE else "an unknown cluster"
    return identity.cluster or identity.context or fallback


def identity_line(cluster: Cluster, now: datetime, appearance: Appearance | None = None) -> str:
    """``context prod-eu · cluster shop · account 111122223333 · region eu-west-1 · live, read 2s ago``.

    One line without a newline. Missing values are shown as unknown.
    """
    appearance = appearance or Appearance()
    if cluster.source is Source.FILE:
        return NO_CLUSTER
    parts = [f"{label} {value or UNKNOWN}" for label, value in identity_parts(cluster.identity)]
    separator = " | " if appearance.ascii else " · "
    return separator.join(printable(part, appearance) for part in [*parts, data_age(cluster, now)])


def origin_text(cluster: Cluster, tool_version: str) -> str:
    """The cluster, the origin of its data and the version of this tool, on one line."""
    identity = cluster.identity
    names = [
        f"{label} {value or UNKNOWN}"
        for label, value in (*identity_parts(identity), ("server", identity.server_version))
    ]
    source = f"{cluster.source.value} data of {rfc3339(cluster.observed_at)}"
    return " · ".join((*names, source, f"kubectl eksdoc {tool_version}"))


def is_production(identity: Identity, pattern: str) -> bool:
    """Whether the context or the cluster name matches the regular expression `pattern`; "" matches nothing."""
    name_pattern = re.compile(pattern, re.IGNORECASE) if pattern else None
    return name_pattern is not None and any(
        name and name_pattern.search(name) for name in (identity.context, identity.cluster)
    )


def data_age(cluster: Cluster, now: datetime) -> str:
    """The origin of the data and its age at `now`."""
    elapsed = time_between(cluster.observed_at, now)
    observed_at = rfc3339(cluster.observed_at)
    if cluster.observed_at == UNKNOWN_TIME:
        return "snapshot without a time"
    if cluster.source is Source.DEMO:
        return f"demo cluster, fixed at {observed_at}"
    if elapsed < -_SKEW:
        ahead = format_duration(-elapsed.total_seconds())
        source_text = "live, read at" if cluster.source is Source.LIVE else "snapshot of"
        return f"{source_text} {observed_at} ({ahead} ahead of this machine's clock)"
    if cluster.source is Source.LIVE:
        return f"live, read {format_age(elapsed)} ago"
    return f"snapshot of {observed_at} ({format_age(elapsed)} ago)"
