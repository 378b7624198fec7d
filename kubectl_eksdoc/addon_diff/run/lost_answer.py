"""Which update of EKS's list was asked for by a call whose answer nobody wrote down."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.addons import EksAddonUpdate

_CLOCKS_DIFFER = timedelta(minutes=15)
"""AWS takes no request whose time is further away from its own than that (signature version 4: five minutes), and a
machine's clock may have been set meanwhile."""


def asked_for(
    updates: Iterable[EksAddonUpdate | Unknown], version: str, mode: str, at: datetime
) -> EksAddonUpdate | Unknown:
    """The one that gives that version in that mode and began after `at`, when it was written down. Its values are not
    compared: EKS may write them otherwise. Several, or none, are unknown: EKS may still not have begun it."""
    found = [
        each
        for each in updates
        if isinstance(each, EksAddonUpdate)
        and each.type == "AddonUpdate"
        and each.parameter("AddonVersion") == version
        and each.parameter("ResolveConflicts") == mode
        and each.begun is not None
        and each.begun >= at - _CLOCKS_DIFFER
    ]
    if len(found) == 1:
        return found[0]
    count = "none" if not found else str(len(found))
    return Unknown(f"of the updates that EKS lists, {count} can be it")
