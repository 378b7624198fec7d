"""The first line on stderr: which cluster, whose account, and how old the data is."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from kubectl_eksdoc.model.cluster import NO_TIME, Cluster, Identity, Source
from kubectl_eksdoc.model.quantities import duration

from .text import Look, age, between, rfc3339, shown

UNKNOWN = "unknown"
NO_CLUSTER = "manifests alone, no cluster was read"

_SKEW = timedelta(seconds=2)
"""Clocks may differ by this much before an age from the future is called one."""


def named(who: Identity) -> tuple[tuple[str, str], ...]:
    """What a cluster is known by, each with its word; "" for what could not be told."""
    told = (("context", who.context), ("cluster", who.cluster), ("account", who.account), ("region", who.region))
    return tuple((word, f"{name} (unverified)" if word in who.unverified else name) for word, name in told)


def called(cluster: Cluster) -> str:
    """As a title has it."""
    who, nothing = cluster.identity, "manifests" if cluster.source is Source.FILE else "an unknown cluster"
    return who.cluster or who.context or nothing


def identity_line(cluster: Cluster, now: datetime, look: Look | None = None) -> str:
    """``context prod-eu · cluster shop · account 111122223333 · region eu-west-1 · live, read 2s ago``.

    One line without its end. What could not be told is called unknown.
    """
    look = look or Look()
    if cluster.source is Source.FILE:
        return NO_CLUSTER
    parts = [f"{word} {value or UNKNOWN}" for word, value in named(cluster.identity)]
    dot = " | " if look.ascii else " · "
    return dot.join(shown(part, look) for part in [*parts, data_age(cluster, now)])


def origin(cluster: Cluster, tool_version: str) -> str:
    """Which cluster, by what data, by which tool, on one line."""
    who = cluster.identity
    names = [f"{word} {value or UNKNOWN}" for word, value in (*named(who), ("server", who.server_version))]
    source = f"{cluster.source.value} data of {rfc3339(cluster.observed_at)}"
    return " · ".join((*names, source, f"kubectl eksdoc {tool_version}"))


def is_production(who: Identity, pattern: str) -> bool:
    """Whether the context or the cluster is called like `pattern`, a regular expression; "" is like none."""
    wanted = re.compile(pattern, re.IGNORECASE) if pattern else None
    return wanted is not None and any(name and wanted.search(name) for name in (who.context, who.cluster))


def data_age(cluster: Cluster, now: datetime) -> str:
    """Where the data came from and how old it is at `now`."""
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
