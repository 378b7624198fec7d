"""AWS data for the update of one EKS add-on: four questions, two at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from kubectl_eksdoc.amazon import versions as skew
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import (
    Addon,
    AddonPast,
    AddonSide,
    AddonVersions,
    EksAddonUpdate,
    UpdateHistory,
    VersionSide,
)
from kubectl_eksdoc.model.api_objects import Doc, at, with_value, without
from kubectl_eksdoc.model.kinds import Absent, Unknown, known_or_unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version, parse

from . import eks
from .asking import VerifiedCluster, at_once, together
from .eks import kept_values

# Default values of the Helm charts of EKS add-ons, by version; only those of vpc-cni are known.


_OWN_VERSION = ("env", "VPC_CNI_VERSION")
_ADDON = "vpc-cni"


@frozen
class ChartValues:
    """`patch`: values as a merge patch of the previous version."""

    addon: str
    version: Version
    patch: Doc
    source: KnowledgeSource


@frozen
class ChartVariable:
    """An environment variable. `deprecated`: since which version."""

    addon: str
    name: str
    default: str
    source: KnowledgeSource
    since: Version | None = None
    deprecated: Version | None = None


_VALUES = records(ChartValues, "chart_values")
_VARIABLES = records(ChartVariable, "chart_variables")


def chart_defaults(addon: str, version: str) -> Doc | Unknown:
    """The chart's default values for an add-on's version, such as ``v1.12.6-eksbuild.1``; the version of the chart is
    the part before ``-eksbuild``.

    For a version between two of the table: the values of the older one, if both differ only in their own version.
    """
    if addon != _ADDON:
        return Unknown(f"which defaults the chart of {addon} has is not known here, only those of {_ADDON}")
    wanted = parse(version)
    if wanted is None or wanted.patch is None:
        return Unknown(f"{version!r} is no version of a chart")
    table = _vpc_cni()
    older = [each for each in table if not wanted < each]
    newer = [each for each in table if wanted < each]
    if older and older[-1] == wanted:
        return table[wanted]
    if not older:
        return Unknown(f"chart defaults of {_ADDON} are known from {newer[0]} on, not of {wanted}")
    if not newer:
        return Unknown(f"chart defaults of {_ADDON} are known up to {older[-1]}, not of {wanted}")
    below, above = table[older[-1]], table[newer[0]]
    if without(below, _OWN_VERSION) != without(above, _OWN_VERSION):
        return Unknown(f"chart defaults of {_ADDON} {wanted} are not known, and {older[-1]} and {newer[0]} differ")
    return below if at(below, *_OWN_VERSION) is None else with_value(below, _OWN_VERSION, str(wanted))


@lru_cache(maxsize=1)
def variables() -> frozenset[str]:
    """The names of all variables that a chart sets or the README documents."""
    charts = _vpc_cni().values()
    set_there = (name for values in charts for path in _ENV for name in at(values, *path) or ())
    return frozenset((*set_there, *(each.name for each in _VARIABLES)))


_ENV = (("env",), ("init", "env"), ("nodeAgent", "env"))


@lru_cache(maxsize=1)
def _vpc_cni() -> dict[Version, Doc]:
    """The values by version, the oldest first."""
    found: dict[Version, Doc] = {}
    values: Doc = {}
    for each in _VALUES:
        found[each.version] = values = _patched(values, each.patch) if found else each.patch
    return found


def _patched(values: Doc, patch: Doc) -> Doc:
    """Apply a merge patch (RFC 7386): null removes a key."""
    made = {key: value for key, value in values.items() if patch.get(key, value) is not None or key not in patch}
    for key, value in patch.items():
        old = made.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            made[key] = _patched(old, value)
        elif value is not None:
            made[key] = value
    return made


def installed(of: VerifiedCluster, name: str, told: object) -> Addon:
    """The add-on in an answer of EKS, which everything else requires.

    Raises:
        AwsMissing: the cluster has no such EKS add-on.
        AwsDenied: it may not be described.
    """
    if isinstance(told, Absent):
        raise AwsMissing(
            f"{name} is no EKS add-on of cluster {of.cluster.name}",
            "Is it self-managed (installed by Helm or a manifest)? --all in place of its name is for those of EKS.",
        )
    if isinstance(told, Unknown):
        raise AwsDenied(told.why, "", told.missing)
    assert isinstance(told, Addon), "as it was asked"
    return told


def addon_side(of: VerifiedCluster, name: str, wish: str | None) -> AddonSide:
    """`requested`: a version, ``latest``, "" for EKS's default version, or None for the installed version.

    Raises:
        AwsMissing: the cluster has no such EKS add-on.
        AwsDenied: it may not be described.
        UsageError: the requested version is not known.
        AwsError: as `AwsClient.ask`.
    """
    told = together({"addon": lambda: eks.addon(of, name), "offered": lambda: eks.versions_of(of, name)})
    addon, offered = installed(of, name, told["addon"]), known_or_unknown(told["offered"])
    target = addon.version if wish is None else _target(of, offered, name, wish)
    versions = dict(at_once(dict.fromkeys((addon.version, target)), lambda version: version_side(of, name, version)))
    sides = addon, versions[addon.version], versions[target], kept_values(addon.configuration)
    if isinstance(offered, Unknown):
        return AddonSide(*sides, offered, (target,), ())
    kubernetes = of.cluster.version
    return AddonSide(
        *sides,
        skew.is_offered(offered, kubernetes, target),
        skew.steps(name, offered, kubernetes, addon.version, target),
        skew.on_the_way(offered, kubernetes, addon.version, target),
    )


def installed_side(of: VerifiedCluster, name: str, wish: str | None = None) -> AddonSide | Absent | Unknown:
    """The side of an installed add-on; Absent where EKS does not manage it. `requested`: as `addon_side`.

    Raises:
        AwsError: nothing can be asked.
    """
    try:
        return addon_side(of, name, wish)
    except AwsMissing as error:
        return Absent(error.message)
    except AwsDenied as error:
        return Unknown(error.message, error.missing)


def creation_side(of: VerifiedCluster, name: str, wish: str) -> AddonSide:
    """The side of an add-on that is not an EKS add-on yet, without version and values. `requested`: as `addon_side`.

    Raises:
        AwsMissing: EKS offers no such add-on.
        UsageError, AwsError: as `addon_side`.
    """
    told = eks.addon_versions(of, name)
    if isinstance(told, Absent) or told == ():
        raise AwsMissing(
            f"EKS offers no add-on {name} for Kubernetes {of.cluster.version}",
            "Those that it offers: aws eks describe-addon-versions",
        )
    offered = told if isinstance(told, Unknown) else told[0]
    target = _target(of, offered, name, wish)
    none = Unknown(f"{name} is no add-on of EKS yet")
    return AddonSide(
        Addon(name, "", ""),
        VersionSide("", none, none),
        version_side(of, name, target),
        {},
        skew.is_offered(offered, of.cluster.version, target) if isinstance(offered, AddonVersions) else offered,
        (target,),
    )


def _target(of: VerifiedCluster, offered: object, name: str, wish: str) -> str:
    kubernetes = of.cluster.version
    if isinstance(offered, AddonVersions):
        target = skew.target(offered, kubernetes, wish)
    else:
        target = "" if wish in ("", skew.LATEST) else wish
    if not target:
        which = "latest" if wish else "default"
        why = f": {offered.why}" if isinstance(offered, Unknown) else ""
        raise UsageError(
            f"it is not known which version of {name} is the {which} one for Kubernetes {kubernetes}{why}",
            "Name the version: --to VERSION.",
        )
    return target


def version_side(of: VerifiedCluster, name: str, version: str) -> VersionSide:
    """The defaults and the schema of one version, with one question."""
    told = known_or_unknown(eks.addon_configuration(of, name, version))
    return VersionSide(version, chart_defaults(name, version), told if isinstance(told, Unknown) else told.schema)


# AWS data for an add-on after an update: its state and its latest updates, two questions at a time.


_ADDON_UPDATE = "AddonUpdate"


def addon_past(of: VerifiedCluster, name: str, update: str) -> AddonPast:
    """`update_id`: of the update that is checked, "" for the latest.

    Raises:
        AwsMissing: the cluster has no such EKS add-on, or the add-on no such update.
        AwsDenied: it may not be described.
        AwsError: as `AwsClient.ask`.
    """
    whose = {"addonName": name}
    told = together({"addon": lambda: eks.addon(of, name), "history": lambda: eks.history(of, whose, eks.MOST_UPDATES)})
    addon, history = installed(of, name, told["addon"]), told["history"]
    more = together(
        {
            "now": lambda: version_side(of, name, addon.version),
            "update": lambda: _chosen(of, name, update, history),
        }
    )
    chosen = more["update"]
    if isinstance(chosen, Absent) and update:
        raise AwsMissing(
            f"{update} is no update of add-on {name} in cluster {of.cluster.name}",
            f"aws eks list-updates --name {of.cluster.name} --addon-name {name} lists those that EKS remembers.",
        )
    if isinstance(history, UpdateHistory):
        given = {
            each.id: each.parameter("ConfigurationValues")
            for each in (*history.updates, chosen)
            if isinstance(each, EksAddonUpdate)
        }
        history = replace(history, values={id: kept_values(text) for id, text in given.items() if text.strip()})
    return AddonPast(addon, more["now"], kept_values(addon.configuration), history, chosen)


def _chosen(
    of: VerifiedCluster, name: str, update: str, history: UpdateHistory | Unknown
) -> EksAddonUpdate | Unknown | Absent:
    if not update:
        # The latest update of the add-on itself; if one could not be described, that one may be the latest.
        if isinstance(history, Unknown):
            return history
        unknown = [each for each in history.updates if isinstance(each, Unknown)]
        if unknown:
            return unknown[0]
        updates = (each for each in history.updates if isinstance(each, EksAddonUpdate) and each.type == _ADDON_UPDATE)
        return next(updates, None) or Absent("EKS lists no update of it")
    known = history.updates if isinstance(history, UpdateHistory) else ()
    same = (each for each in known if isinstance(each, EksAddonUpdate) and each.id == update)
    return next(same, None) or eks.update(of, {"addonName": name}, update)
