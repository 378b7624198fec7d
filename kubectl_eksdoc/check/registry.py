"""Registry of all checks, and the choice among them. A new module of checks takes one line here."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.kinds import NODES, PODS, CheckNeed, Resource

from .checking import Area, Gate, UpgradeCheck
from .checks import (
    addresses,
    api_manifests,
    compatibility,
    control_plane,
    group_updates,
    insights,
    release_notes,
    sockets,
    software,
    version_skew,
    webhooks,
    workloads,
)

ALL_CHECKS: tuple[UpgradeCheck, ...] = (
    *control_plane.SUPPORT_CHECKS,
    *control_plane.CHECKS,
    *insights.CHECKS,
    *software.CHECKS,
    *group_updates.CHECKS,
    *group_updates.NODE_IMAGE_CHECKS,
    *addresses.CHECKS,
    *addresses.QUOTA_CHECKS,
    *api_manifests.CHECKS,
    *webhooks.CHECKS,
    *webhooks.EXTENSION_CHECKS,
    *version_skew.CHECKS,
    *compatibility.CHECKS,
    *release_notes.CHECKS,
    *sockets.CHECKS,
    *workloads.UNHEALTHY_CHECKS,
    *workloads.CHECKS,
    *release_notes.SUMMARY_CHECKS,
)

CODES: tuple[Code, ...] = tuple(dict.fromkeys(code for check in ALL_CHECKS for code in check.codes))
"""The codes that ``--only`` accepts."""


def known_codes() -> tuple[str, ...]:
    """The names of all codes, which a file of suppressions accepts."""
    return tuple(code.name for code in CODES)


def codes_of_areas(areas: Collection[str]) -> tuple[str, ...]:
    """The names of the codes in these areas, given by their ``--area`` values."""
    return tuple(dict.fromkeys(code.name for check in ALL_CHECKS if check.area.flag in areas for code in check.codes))


_OPT_IN_NEEDS = {permissions.HELM_RELEASES.name: CheckNeed.HELM}


def choose_checks(
    only: Iterable[str] = (), gate: Gate | None = None, excluded: Collection[str] = ()
) -> tuple[UpgradeCheck, ...]:
    """The checks that find one of the codes `only`, or all checks except `Area.WORKLOADS`; at one gate, or at all. None
    if only partial checks remain. `excluded`: opt-ins that are left out, with all checks that need them."""
    names = frozenset(only)
    excluded_needs = {need for name, need in _OPT_IN_NEEDS.items() if name in excluded}
    checks = tuple(
        check
        for check in ALL_CHECKS
        if (any(code.name in names for code in check.codes) if names else check.area is not Area.WORKLOADS)
        and (gate is None or check.gate is gate)
        and excluded_needs.isdisjoint(check.needs)
    )
    return () if all(check.partial for check in checks) else checks


def kinds_of(checks: Iterable[UpgradeCheck]) -> tuple[Resource, ...]:
    """The lists that the checks judge by. Nodes and pods are always read: they identify the cluster and give the age of
    its nodes."""
    return tuple(dict.fromkeys((NODES, PODS, *(resource for check in checks for resource in check.kinds))))


def needs_of(checks: Iterable[UpgradeCheck]) -> frozenset[CheckNeed]:
    """The other facts that the checks judge by."""
    return frozenset(need for check in checks for need in check.needs)
