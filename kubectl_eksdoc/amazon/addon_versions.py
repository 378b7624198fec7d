"""Versions of add-ons: which one an update goes to, and by which others.

Sources: EKS user guide, "Update the Amazon VPC CNI add-on" (one minor version at a time is recommended), and
DescribeAddonVersions, which lists the newest first and marks the default for each Kubernetes version.
"""

from __future__ import annotations

from kubectl_eksdoc.model.addons import AddonVersions
from kubectl_eksdoc.model.quantities import parse

LATEST = "latest"
_BY_MINORS = frozenset(("vpc-cni",))


def target(offered: AddonVersions, kubernetes: str, wish: str) -> str:
    """The version that is meant: `wish`, the newest for that Kubernetes version (``latest``), or without a wish the one
    that EKS marks as its default; "" where none is."""
    if wish and wish != LATEST:
        return wish
    fitting = [each for each in offered.versions if any(fit.kubernetes == kubernetes for fit in each.fits)]
    if wish == LATEST:
        return fitting[0].version if fitting else ""
    return next((each.version for each in fitting if each.is_default_for(kubernetes)), "")


def is_offered(offered: AddonVersions, kubernetes: str, version: str) -> bool:
    """For that Kubernetes version."""
    return any(
        each.version == version and any(fit.kubernetes == kubernetes for fit in each.fits) for each in offered.versions
    )


def offered_for(offered: AddonVersions, *kubernetes: str) -> tuple[str, ...]:
    """Those for all of these Kubernetes versions, the newest first."""
    return tuple(
        each.version for each in offered.versions if {fit.kubernetes for fit in each.fits}.issuperset(kubernetes)
    )


def steps(addon: str, offered: AddonVersions, kubernetes: str, now: str, to: str) -> tuple[str, ...]:
    """The versions to go by, `to` the last: of each minor between, the newest that is offered. Only one where the
    add-on may skip minors, or where the versions are none."""
    old, new = parse(now), parse(to)
    if addon not in _BY_MINORS or old is None or new is None:
        return (to,)
    newest: dict[tuple[int, int], str] = {}
    for each in offered.versions:
        version = parse(each.version)
        if version is None or not is_offered(offered, kubernetes, each.version):
            continue
        if (old.major, old.minor) < (version.major, version.minor) < (new.major, new.minor):
            newest.setdefault((version.major, version.minor), each.version)
    return (*(newest[minor] for minor in sorted(newest)), to)


def on_the_way(offered: AddonVersions, kubernetes: str, now: str, to: str) -> tuple[str, ...]:
    """Every version that EKS offers for that Kubernetes version, newer than `now` and up to `to`, the oldest first;
    none where one of the two is no version."""
    old, new = parse(now), parse(to)
    if old is None or new is None:
        return ()
    known = ((parse(each.version), each.version) for each in offered.versions)
    found = [
        (version, name)
        for version, name in known
        if version is not None and old < version and not new < version and is_offered(offered, kubernetes, name)
    ]
    return tuple(name for _, name in sorted(found))


def skips_minors(addon: str, now: str, to: str) -> bool:
    """Whether `to` is further away from `now`, up or down, than AWS recommends to go at once."""
    old, new = parse(now), parse(to)
    if addon not in _BY_MINORS or old is None or new is None:
        return False
    return old.major != new.major or abs(old.minor - new.minor) > 1
