"""Asks all that the reading commands ask, so that whoever writes the answers down has them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress

from kubectl_eksdoc.addon_diff import read as addons
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest
from kubectl_eksdoc.check import read as check
from kubectl_eksdoc.check.registry import ALL, chosen
from kubectl_eksdoc.check.way import UpgradePath
from kubectl_eksdoc.coredns_lameduck import read as dns
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.imds_probe import read as metadata
from kubectl_eksdoc.interruption import read as interruption
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.check_needs import FURTHER, CheckNeed
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.session.session import ClusterSession

_OF_API = frozenset((CheckNeed.API_WRITTEN, CheckNeed.API_GONE))
_NOBODYS = frozenset((CheckNeed.API_REQUESTS, CheckNeed.HELM, CheckNeed.MANIFESTS, *_OF_API))
_WISHES = (None, "", "latest")


def every_kind() -> tuple[Resource, ...]:
    """The lists that any of them reads."""
    of_all = (
        kinds.ALL,
        addons.KINDS,
        metadata.KINDS,
        dns.KINDS,
        interruption.KINDS,
        check.kinds_for(ALL),
    )
    return tuple(dict.fromkeys(resource for read in of_all for resource in read))


def ask_check(session: ClusterSession, without: Collection[str] = (), proxied: bool = True) -> None:
    """For the next version and those after it, and by each need alone: a check that is chosen asks less. `without`:
    opt-ins that are left out.

    Raises:
        UsageError: nothing tells where the control plane is.
        ClusterError, AwsError: nothing can be asked at all.
    """
    first, given = check.way_to(session, None), check.CheckInput(proxied=proxied)
    check.check_facts(session, first, chosen(without=without), CommandTarget(), check.OF_CHANGES, given)
    check.changes_told(session)
    for need in CheckNeed:
        if need not in _NOBODYS:
            check.upgrade_side(session, check.wanted_of(session, first, frozenset((need,))))
    for way in (first, *_further(session, first)):
        check.upgrade_side(session, check.wanted_of(session, way, frozenset((CheckNeed.INSIGHTS,))))
        check.api_told(session, (), check.wanted_of(session, way, _OF_API))


def _further(session: ClusterSession, first: UpgradePath) -> Iterable[UpgradePath]:
    for more in range(1, FURTHER):
        with suppress(UsageError):  # no way leads there
            yield check.way_to(session, Version(first.target.major, first.target.minor + more))


def ask_addons(session: ClusterSession, left_out: Callable[[str, str], None]) -> None:
    """Of each that EKS manages; `left_out` is told of one that cannot be.

    Raises:
        ClusterError, AwsError: nothing can be asked at all.
    """
    for name in addons.addon_names(session):
        for wish in _WISHES:
            try:
                side = addons.side_of(session, name, wish)
            except (AwsDenied, AwsMissing, UsageError) as error:
                left_out(name, error.message)
                continue
            addons.versions_of(session, name, (*side.steps, *side.between))
            addons.plan_addon(session, side, AddonUpdateRequest())
        try:
            past = addons.past_of(session, name, "")
        except (AwsDenied, AwsMissing) as error:
            left_out(name, error.message)
        else:
            addons.look_back_on(session, past)
