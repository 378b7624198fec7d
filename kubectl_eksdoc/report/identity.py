"""Identity line on stderr: cluster, account, region, and age of the data."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from kubectl_eksdoc.model.cluster import NO_TIME, Cluster, Identity, Source
from kubectl_eksdoc.model.quantities import duration

from .text import Look, age, between, rfc3339, shown

UNKNOWN = "unknown"
NO_CLUSTER = "manifests alone, no cluster was read"

_SKEW = timedelta(seconds=2)
"""Clock skew that is tolerated before data counts as coming from the future."""


def named(who: Identity) -> tuple[tuple[str, str], ...]:
    """Labels and values that identify the cluster; "" for an unknown value."""
    told = (("context", who.context), ("cluster", who.cluster), ("account", who.account), ("region", who.region))
    return tuple((word, f"{name} (unverified)" if word in who.unverified else name) for word, name in told)


def called(cluster: Cluster) -> str:
    """The cluster's name for a title."""
    who, nothing = cluster.identity, "manifests" if cluster.source is Source.FILE else "an unknown cluster"
    return who.cluster or who.context or nothing


def identity_line(cluster: Cluster, now: datetime, look: Look | None = None) -> str:
    """``context prod-eu · cluster shop · account 111122223333 · region eu-west-1 · live, read 2s ago``.

    One line without a newline. Missing values are shown as unknown.
    """
    look = look or Look()
    if cluster.source is Source.FILE:
        return NO_CLUSTER
    parts = [f"{word} {value or UNKNOWN}" for word, value in named(cluster.identity)]
    dot = " | " if look.ascii else " · "
    return dot.join(shown(part, look) for part in [*parts, data_age(cluster, now)])


def origin(cluster: Cluster, tool_version: str) -> str:
    """The cluster, the origin of its data and the version of this tool, on one line."""
    who = cluster.identity
    names = [f"{word} {value or UNKNOWN}" for word, value in (*named(who), ("server", who.server_version))]
    source = f"{cluster.source.value} data of {rfc3339(cluster.observed_at)}"
    return " · ".join((*names, source, f"kubectl eksdoc {tool_version}"))


def is_production(who: Identity, pattern: str) -> bool:
    """Whether the context or the cluster name matches the regular expression `pattern`; "" matches nothing."""
    wanted = re.compile(pattern, re.IGNORECASE) if pattern else None
    return wanted is not None and any(name and wanted.search(name) for name in (who.context, who.cluster))


def data_age(cluster: Cluster, now: datetime) -> str:
    """The origin of the data and its age at `now`."""
    passed = between(cluster.observed_at, now)
    moment = rfc3339(cluster.observed_at)
    if cluster.observed_at == NO_TIME:
        return "snapshot without a time"
    if cluster.source is Source.DEMO:
        return f"demo cluster, fixed at {moment}"
    if passed < -_SKEW:
        ahead = duration(-passed.total_seconds())
        what = "live, read at" if cluster.source is Source.LIVE else "snapshot of"
        return f"{what} {moment} ({ahead} ahead of this machine's clock)"
    if cluster.source is Source.LIVE:
        return f"live, read {age(passed)} ago"
    return f"snapshot of {moment} ({age(passed)} ago)"
