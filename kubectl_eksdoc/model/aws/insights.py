"""What EKS itself sees in the way of an upgrade (insights), and how fresh that is.

Source of the shapes: botocore 1.44.5, eks/2017-11-01 (Insight, InsightsRefreshStatus).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.model.asked import Unknown

PASSING, WARNING, ERROR = "PASSING", "WARNING", "ERROR"
READINESS, MISCONFIGURATION, ROLLBACK = "UPGRADE_READINESS", "MISCONFIGURATION", "ROLLBACK_READINESS"


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks for an API. `requests`: in the last 30 days, None where that is not told; `last`: the latest of them."""

    agent: str
    requests: int | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class Deprecation:
    """An API that somebody asks for: its path, the one that replaces it, and the version that does not serve it."""

    usage: str
    instead: str = ""
    stops: str = ""
    clients: tuple[Client, ...] = ()


@dataclass(frozen=True, slots=True)
class UnfitAddon:
    """An installed add-on that does not fit, and the versions of it that do, as EKS lists them."""

    addon: str
    fitting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InsightDetail:
    """What DescribeInsight says besides. `resources`: ARNs, or paths as ``nodes/ip-10-0-1-2.ec2.internal``."""

    recommendation: str = ""
    deprecations: tuple[Deprecation, ...] = ()
    misfits: tuple[UnfitAddon, ...] = ()
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Insight:
    """`version`: about an upgrade to which one, "" where it is about none. `changed`: when its status last did.
    `detail` is None where it passes: that is not asked for."""

    id: str
    name: str
    category: str = ""
    version: str = ""
    status: str = ""
    reason: str = ""
    refreshed: datetime | None = None
    changed: datetime | None = None
    detail: InsightDetail | Unknown | None = None


@dataclass(frozen=True, slots=True)
class Refresh:
    """A refresh that was asked for. `status`: ``IN_PROGRESS``, ``COMPLETED`` or ``FAILED``."""

    status: str
    said: str = ""
    ended: datetime | None = None
