"""All that AWS is asked of an add-on that was updated already: how it is, and its latest updates, two at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.aws.addon_side import installed, values_now, version_side
from kubectl_eksdoc.aws.asking import at_once
from kubectl_eksdoc.aws.believing import VerifiedCluster
from kubectl_eksdoc.aws.values import kept_values
from kubectl_eksdoc.errors import AwsMissing
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Addon, AddonPast, EksAddonUpdate, UpdateHistory, VersionSide

_ADDON_UPDATE = "AddonUpdate"


def addon_past(of: VerifiedCluster, name: str, update: str) -> AddonPast:
    """`update`: the id of the one that is looked at, "" for the latest.

    Raises:
        AwsMissing: it is no add-on of the cluster, or no update of it.
        AwsDenied: it may not be described.
        AwsError: as `Aws.ask`.
    """
    told = dict(at_once(("addon", "history"), lambda what: _asked(of, name, what)))
    addon, history = installed(of, name, told["addon"]), told["history"]
    assert isinstance(history, (UpdateHistory, Unknown)), "as they were asked"
    version = addon.version
    more = dict(at_once(("now", "update"), lambda what: _more(of, name, what, version, update, history)))
    now, chosen = more["now"], more["update"]
    assert isinstance(now, VersionSide) and not isinstance(chosen, VersionSide), "as they were asked"
    if isinstance(chosen, Absent) and update:
        raise AwsMissing(
            f"{update} is no update of add-on {name} in cluster {of.cluster.name}",
            f"aws eks list-updates --name {of.cluster.name} --addon-name {name} lists those that EKS remembers.",
        )
    return AddonPast(addon, now, values_now(addon), _with_values(history, chosen), chosen)


def _asked(of: VerifiedCluster, name: str, what: str) -> Addon | UpdateHistory | Unknown | Absent:
    if what == "addon":
        return eks.addon(of, name)
    told = eks.updates_of_addon(of, name)
    return UpdateHistory(()) if isinstance(told, Absent) else told


def _more(
    of: VerifiedCluster, name: str, what: str, version: str, update: str, history: UpdateHistory | Unknown
) -> VersionSide | EksAddonUpdate | Unknown | Absent:
    if what == "now":
        return version_side(of, name, version)
    if not update:
        return _latest(history)
    known = history.updates if isinstance(history, UpdateHistory) else ()
    same = (each for each in known if isinstance(each, EksAddonUpdate) and each.id == update)
    return next(same, None) or eks.update_of_addon(of, name, update)


def _latest(history: UpdateHistory | Unknown) -> EksAddonUpdate | Unknown | Absent:
    """Of the add-on itself. One that could not be described may be the latest: then nobody knows."""
    if isinstance(history, Unknown):
        return history
    unknown = [each for each in history.updates if isinstance(each, Unknown)]
    if unknown:
        return unknown[0]
    updates = (each for each in history.updates if isinstance(each, EksAddonUpdate) and each.type == _ADDON_UPDATE)
    return next(updates, None) or Absent("EKS lists no update of it")


def _with_values(
    history: UpdateHistory | Unknown, chosen: EksAddonUpdate | Unknown | Absent
) -> UpdateHistory | Unknown:
    if isinstance(history, Unknown):
        return history
    updates = [each for each in (*history.updates, chosen) if isinstance(each, EksAddonUpdate)]
    return replace(history, values=_values(updates))


def _values(updates: list[EksAddonUpdate]) -> Mapping[str, Doc | Unknown]:
    given = {each.id: each.parameter("ConfigurationValues") for each in updates}
    return {id: kept_values(text) for id, text in given.items() if text.strip()}
