"""The way of the control plane: one minor at a time and never backwards, but for a week of rollback.

Sources: EKS user guide, update-cluster and rollback-cluster; botocore 1.44.5, eks/2017-11-01 (UpdateClusterVersion,
UpdateType VersionRollback).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from kubectl_eksdoc.amazon.upgrades.sourced import in_words, minor_of
from kubectl_eksdoc.model.asked import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.quantities import Version

ONE_AT_A_TIME = KnowledgeSource("EKS user guide, update-cluster; botocore eks, UpdateClusterVersion")
FREE_ADDRESSES = 5
"""An update of the control plane needs up to so many free addresses in the cluster's subnets (user guide)."""


@dataclass(frozen=True, slots=True)
class NoPath:
    """`why` in a clause."""

    why: str
    source: KnowledgeSource = ONE_AT_A_TIME


def path(now: Version, target: Version) -> tuple[Version, ...] | NoPath:
    """Every version that the control plane goes through, `target` the last; none where it is there already. Patches do
    not count: EKS chooses them."""
    here, there = minor_of(now), minor_of(target)
    if here.major != there.major:
        return NoPath(f"{in_words(there)} is another major version than {in_words(here)}")
    if there < here:
        way = "; only a rollback of a fresh upgrade goes back, by one minor" if here.minor - there.minor == 1 else ""
        return NoPath(f"{in_words(there)} is older than {in_words(here)}, and EKS upgrades only{way}")
    return tuple(Version(here.major, minor) for minor in range(here.minor + 1, there.minor + 1))


ROLLBACK_FOR = timedelta(days=7)
_ROLLBACK = KnowledgeSource("EKS user guide, rollback-cluster")
_ROLLBACK_DETAIL = KnowledgeSource("EKS user guide, rollback-cluster; botocore eks, RollbackConfig", Confidence.MEDIUM)


@dataclass(frozen=True, slots=True)
class _Condition:
    """Of a rollback: `text` is a clause that must hold."""

    text: str
    source: KnowledgeSource = _ROLLBACK_DETAIL


ROLLBACK_CONDITIONS = (
    _Condition("the upgrade was in place, and ended less than 7 days ago", _ROLLBACK),
    _Condition("it goes back by exactly one minor version", _ROLLBACK),
    _Condition("the cluster was not created at its present version"),
    _Condition("EKS did not upgrade it by itself at the end of extended support"),
    _Condition("the version to go back to is still supported; if by extended support, the upgrade policy is EXTENDED"),
    _Condition("the cluster is ACTIVE, with no update under way"),
    _Condition("no node is newer than the version to go back to: nodes and add-ons are brought down first, by you"),
    _Condition("no pod of Fargate is there: rollback does not support it"),
    _Condition("no rollback insight is an ERROR, or --force is given"),
)
ROLLBACK_LEAVES = ("etcd and all objects in it", "add-ons", "managed and self-managed nodes", "volumes")
"""What a rollback does not touch (user guide, rollback-cluster); nodes of Auto Mode it does."""
DOUBT = _Condition(
    "UpdateNodegroupVersion says that a node group cannot go back to an earlier version, rollback-cluster that it can",
    KnowledgeSource(
        "botocore eks, UpdateNodegroupVersion, against EKS user guide, rollback-cluster", Confidence.MEDIUM
    ),
)


def rollback_left(now: datetime, upgraded: datetime | Unknown | None) -> timedelta | Unknown:
    """How long the upgrade that ended at `upgraded` can still be taken back, if all else holds; nothing is left at 7
    days. None: EKS tells of no upgrade."""
    if upgraded is None:
        return timedelta(0)
    if isinstance(upgraded, Unknown):
        return upgraded
    if now < upgraded:
        return Unknown("the upgrade ended later than now, by these clocks")
    return max(timedelta(0), upgraded + ROLLBACK_FOR - now)
