"""AWS data for the update of one EKS add-on: four questions, two at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from kubectl_eksdoc.amazon import versions as skew
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import (
    Addon,
    AddonHistoryFacts,
    AddonUpdateFacts,
    AddonVersionDetails,
    AddonVersions,
    EksAddonUpdate,
    UpdateHistory,
)
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value, without_path
from kubectl_eksdoc.model.kinds import Absent, Unknown, absent_as_unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version, parse_version

from . import eks
from .asking import VerifiedCluster, ask_all, ask_concurrently
from .eks import values_or_unknown

# Default values of the Helm charts of EKS add-ons, by version; only those of vpc-cni are known.


_OWN_VERSION = ("env", "VPC_CNI_VERSION")
_KNOWN_ADDON = "vpc-cni"


@frozen
class AddonChartValues:
    """`patch`: values as a merge patch of the previous version."""

    addon: str
    version: Version
    patch: Doc
    source: KnowledgeSource


@frozen
class AddonChartVariable:
    """An environment variable. `deprecated`: since which version."""

    addon: str
    name: str
    default: str
    source: KnowledgeSource
    since: Version | None = None
    deprecated: Version | None = None


_VALUES = records(AddonChartValues, "chart_values")
_VARIABLES = records(AddonChartVariable, "chart_variables")


def chart_defaults(addon: str, version: str) -> Doc | Unknown:
    """The chart's default values for an add-on's version, such as ``v1.12.6-eksbuild.1``; the version of the chart is
    the part before ``-eksbuild``.

    For a version between two of the table: the values of the older one, if both differ only in their own version.
    """
    if addon != _KNOWN_ADDON:
        return Unknown(f"which defaults the chart of {addon} has is not known here, only those of {_KNOWN_ADDON}")
    chart_version = parse_version(version)
    if chart_version is None or chart_version.patch is None:
        return Unknown(f"{version!r} is no version of a chart")
    table = _vpc_cni_values()
    older_versions = [each for each in table if not chart_version < each]
    newer_versions = [each for each in table if chart_version < each]
    if older_versions and older_versions[-1] == chart_version:
        return table[chart_version]
    if not older_versions:
        return Unknown(
            f"chart defaults of {_KNOWN_ADDON} are known from {newer_versions[0]} on, not of {chart_version}"
        )
    if not newer_versions:
        return Unknown(f"chart defaults of {_KNOWN_ADDON} are known up to {older_versions[-1]}, not of {chart_version}")
    below, above = table[older_versions[-1]], table[newer_versions[0]]
    if without_path(below, _OWN_VERSION) != without_path(above, _OWN_VERSION):
        return Unknown(
            f"chart defaults of {_KNOWN_ADDON} {chart_version} are not known, and {older_versions[-1]} and "
            f"{newer_versions[0]} differ"
        )
    return below if nested_field(below, *_OWN_VERSION) is None else with_value(below, _OWN_VERSION, str(chart_version))


@lru_cache(maxsize=1)
def chart_variables() -> frozenset[str]:
    """The names of all variables that a chart sets or the README documents."""
    charts = _vpc_cni_values().values()
    set_in_charts = (name for values in charts for path in _ENV_PATHS for name in nested_field(values, *path) or ())
    return frozenset((*set_in_charts, *(each.name for each in _VARIABLES)))


_ENV_PATHS = (("env",), ("init", "env"), ("nodeAgent", "env"))


@lru_cache(maxsize=1)
def _vpc_cni_values() -> dict[Version, Doc]:
    """The values by version, the oldest first."""
    values_by_version: dict[Version, Doc] = {}
    values: Doc = {}
    for each in _VALUES:
        values_by_version[each.version] = values = (
            _apply_merge_patch(values, each.patch) if values_by_version else each.patch
        )
    return values_by_version


def _apply_merge_patch(values: Doc, patch: Doc) -> Doc:
    """Apply a merge patch (RFC 7386): null removes a key."""
    merged = {key: value for key, value in values.items() if patch.get(key, value) is not None or key not in patch}
    for key, value in patch.items():
        old_value = merged.get(key)
        if isinstance(value, dict) and isinstance(old_value, dict):
            merged[key] = _apply_merge_patch(old_value, value)
        elif value is not None:
            merged[key] = value
    return merged


def require_addon(verified: VerifiedCluster, name: str, answer: object) -> Addon:
    """The add-on in an answer of EKS, which everything else requires.

    Raises:
        AwsMissing: the cluster has no such EKS add-on.
        AwsDenied: it may not be described.
    """
    if isinstance(answer, Absent):
        raise AwsMissing(
            f"{name} is no EKS add-on of cluster {verified.cluster.name}",
            "Is it self-managed (installed by Helm or a manifest)? --all in place of its name is for those of EKS.",
        )
    if isinstance(answer, Unknown):
        raise AwsDenied(answer.why, "", answer.missing)
    assert isinstance(answer, Addon), "as it was asked"
    return answer


def addon_side(verified: VerifiedCluster, name: str, requested: str | None) -> AddonUpdateFacts:
    """`requested`: a version, ``latest``, "" for EKS's default version, or None for the installed version.

    Raises:
        AwsMissing: the cluster has no such EKS add-on.
        AwsDenied: it may not be described.
        UsageError: the requested version is not known.
        AwsError: as `AwsClient.ask`.
    """
    answers = ask_all(
        {"addon": lambda: eks.addon(verified, name), "offered": lambda: eks.versions_of_addon(verified, name)}
    )
    addon, offered = require_addon(verified, name, answers["addon"]), absent_as_unknown(answers["offered"])
    target = addon.version if requested is None else _target_version(verified, offered, name, requested)
    versions = dict(
        ask_concurrently(dict.fromkeys((addon.version, target)), lambda version: version_side(verified, name, version))
    )
    sides = addon, versions[addon.version], versions[target], values_or_unknown(addon.configuration)
    if isinstance(offered, Unknown):
        return AddonUpdateFacts(*sides, offered, (target,), ())
    kubernetes = verified.cluster.version
    return AddonUpdateFacts(
        *sides,
        skew.is_offered(offered, kubernetes, target),
        skew.update_steps(name, offered, kubernetes, addon.version, target),
        skew.versions_between(offered, kubernetes, addon.version, target),
    )


def installed_side(
    verified: VerifiedCluster, name: str, requested: str | None = None
) -> AddonUpdateFacts | Absent | Unknown:
    """The side of an installed add-on; Absent where EKS does not manage it. `requested`: as `addon_side`.

    Raises:
        AwsError: nothing can be asked.
    """
    try:
        return addon_side(verified, name, requested)
    except AwsMissing as error:
        return Absent(error.message)
    except AwsDenied as error:
        return Unknown(error.message, error.missing)


def creation_side(verified: VerifiedCluster, name: str, requested: str) -> AddonUpdateFacts:
    """The side of an add-on that is not an EKS add-on yet, without version and values. `requested`: as `addon_side`.

    Raises:
        AwsMissing: EKS offers no such add-on.
        UsageError, AwsError: as `addon_side`.
    """
    answers = eks.addon_versions(verified, name)
    if isinstance(answers, Absent) or answers == ():
        raise AwsMissing(
            f"EKS offers no add-on {name} for Kubernetes {verified.cluster.version}",
            "Those that it offers: aws eks describe-addon-versions",
        )
    offered = answers if isinstance(answers, Unknown) else answers[0]
    target = _target_version(verified, offered, name, requested)
    not_installed = Unknown(f"{name} is no add-on of EKS yet")
    return AddonUpdateFacts(
        Addon(name, "", ""),
        AddonVersionDetails("", not_installed, not_installed),
        version_side(verified, name, target),
        {},
        skew.is_offered(offered, verified.cluster.version, target) if isinstance(offered, AddonVersions) else offered,
        (target,),
    )


def _target_version(verified: VerifiedCluster, offered: object, name: str, requested: str) -> str:
    kubernetes = verified.cluster.version
    if isinstance(offered, AddonVersions):
        target = skew.target_version(offered, kubernetes, requested)
    else:
        target = "" if requested in ("", skew.LATEST) else requested
    if not target:
        kind = "latest" if requested else "default"
        reason_text = f": {offered.why}" if isinstance(offered, Unknown) else ""
        raise UsageError(
            f"it is not known which version of {name} is the {kind} one for Kubernetes {kubernetes}{reason_text}",
            "Name the version: --to VERSION.",
        )
    return target


def version_side(verified: VerifiedCluster, name: str, version: str) -> AddonVersionDetails:
    """The defaults and the schema of one version, with one question."""
    configuration = absent_as_unknown(eks.addon_configuration(verified, name, version))
    return AddonVersionDetails(
        version,
        chart_defaults(name, version),
        configuration if isinstance(configuration, Unknown) else configuration.schema,
    )


# AWS data for an add-on after an update: its state and its latest updates, two questions at a time.


_ADDON_UPDATE = "AddonUpdate"


def addon_past(verified: VerifiedCluster, name: str, update_id: str) -> AddonHistoryFacts:
    """`update_id`: of the update that is checked, "" for the latest.

    Raises:
        AwsMissing: the cluster has no such EKS add-on, or the add-on no such update.
        AwsDenied: it may not be described.
        AwsError: as `AwsClient.ask`.
    """
    target_filter = {"addonName": name}
    answers = ask_all(
        {
            "addon": lambda: eks.addon(verified, name),
            "history": lambda: eks.update_history(verified, target_filter, eks.MAX_UPDATES),
        }
    )
    addon, history = require_addon(verified, name, answers["addon"]), answers["history"]
    details = ask_all(
        {
            "now": lambda: version_side(verified, name, addon.version),
            "update": lambda: _chosen_update(verified, name, update_id, history),
        }
    )
    chosen_update = details["update"]
    if isinstance(chosen_update, Absent) and update_id:
        raise AwsMissing(
            f"{update_id} is no update of add-on {name} in cluster {verified.cluster.name}",
            f"aws eks list-updates --name {verified.cluster.name} --addon-name {name} lists those that EKS remembers.",
        )
    if isinstance(history, UpdateHistory):
        configurations = {
            each.id: each.parameter("ConfigurationValues")
            for each in (*history.updates, chosen_update)
            if isinstance(each, EksAddonUpdate)
        }
        history = replace(
            history, values={id: values_or_unknown(text) for id, text in configurations.items() if text.strip()}
        )
    return AddonHistoryFacts(addon, details["now"], values_or_unknown(addon.configuration), history, chosen_update)


def _chosen_update(
    verified: VerifiedCluster, name: str, update_id: str, history: UpdateHistory | Unknown
) -> EksAddonUpdate | Unknown | Absent:
    if not update_id:
        # The latest update of the add-on itself; if one could not be described, that one may be the latest.
        if isinstance(history, Unknown):
            return history
        unknown = [each for each in history.updates if isinstance(each, Unknown)]
        if unknown:
            return unknown[0]
        updates = (each for each in history.updates if isinstance(each, EksAddonUpdate) and each.type == _ADDON_UPDATE)
        return next(updates, None) or Absent("EKS lists no update of it")
    known_updates = history.updates if isinstance(history, UpdateHistory) else ()
    matching = (each for each in known_updates if isinstance(each, EksAddonUpdate) and each.id == update_id)
    return next(matching, None) or eks.describe_update(verified, {"addonName": name}, update_id)
