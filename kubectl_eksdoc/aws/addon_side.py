"""All that AWS is asked for one add-on's update: four questions, two at a time."""

from __future__ import annotations

from kubectl_eksdoc.amazon import addon_versions
from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.aws.asking import at_once
from kubectl_eksdoc.aws.believing import VerifiedCluster
from kubectl_eksdoc.aws.charts import chart_defaults
from kubectl_eksdoc.aws.values import kept_values
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Addon, AddonSide, AddonVersions, VersionSide


def installed(of: VerifiedCluster, name: str, told: object) -> Addon:
    """Of what EKS says of an add-on, without which nothing can be said at all.

    Raises:
        AwsMissing: it is no add-on of the cluster.
        AwsDenied: it may not be described.
    """
    if isinstance(told, Absent):
        raise AwsMissing(
            f"{name} is no EKS add-on of cluster {of.cluster.name}",
            "Is it self-managed (installed by Helm or a manifest)? kubectl eksdoc addon-diff --all: those of EKS.",
        )
    if isinstance(told, Unknown):
        raise AwsDenied(told.why, "", told.missing)
    assert isinstance(told, Addon), "as it was asked"
    return told


def addon_side(of: VerifiedCluster, name: str, wish: str | None) -> AddonSide:
    """`wish`: a version, ``latest``, "" for the one that EKS marks as default, or None for the one that is installed.

    Raises:
        AwsMissing: it is no add-on of the cluster.
        AwsDenied: it may not be described.
        UsageError: the version that is meant cannot be told.
        AwsError: as `Aws.ask`.
    """
    answers = dict(at_once(("addon", "versions"), lambda what: _asked(of, name, what)))
    addon, offered = installed(of, name, answers["addon"]), answers["versions"]
    assert isinstance(offered, (AddonVersions, Unknown)), "as they were asked"
    target = addon.version if wish is None else _target(of, offered, name, wish)
    versions = dict(at_once(dict.fromkeys((addon.version, target)), lambda version: version_side(of, name, version)))
    return AddonSide(
        addon,
        versions[addon.version],
        versions[target],
        values_now(addon),
        addon_versions.is_offered(offered, of.cluster.version, target)
        if isinstance(offered, AddonVersions)
        else offered,
        addon_versions.steps(name, offered, of.cluster.version, addon.version, target)
        if isinstance(offered, AddonVersions)
        else (target,),
        addon_versions.on_the_way(offered, of.cluster.version, addon.version, target)
        if isinstance(offered, AddonVersions)
        else (),
    )


def installed_side(of: VerifiedCluster, name: str, wish: str | None = None) -> AddonSide | Absent | Unknown:
    """As it is installed; Absent where EKS does not manage it. `wish`: as `addon_side`.

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
    """Of an add-on that EKS does not manage yet: it has no version and no values. `wish` as `addon_side`.

    Raises:
        AwsMissing: EKS knows no such add-on.
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
        addon_versions.is_offered(offered, of.cluster.version, target)
        if isinstance(offered, AddonVersions)
        else offered,
        (target,),
    )


def _asked(of: VerifiedCluster, name: str, what: str) -> Addon | AddonVersions | Unknown | Absent:
    if what == "addon":
        return eks.addon(of, name)
    told = eks.addon_versions(of, name)
    if isinstance(told, tuple):
        return told[0] if told else Unknown(f"EKS lists no versions of {name}")
    return told if isinstance(told, Unknown) else Unknown(told.said)


def _target(of: VerifiedCluster, offered: object, name: str, wish: str) -> str:
    kubernetes = of.cluster.version
    if isinstance(offered, AddonVersions):
        target = addon_versions.target(offered, kubernetes, wish)
    else:
        target = "" if wish in ("", addon_versions.LATEST) else wish
    if not target:
        which = "latest" if wish else "default"
        why = f": {offered.why}" if isinstance(offered, Unknown) else ""
        raise UsageError(
            f"it is not known which version of {name} is the {which} one for Kubernetes {kubernetes}{why}",
            "Name the version: --to VERSION.",
        )
    return target


def version_side(of: VerifiedCluster, name: str, version: str) -> VersionSide:
    """One question."""
    told = eks.addon_configuration(of, name, version)
    schema: Doc | Unknown
    if isinstance(told, Absent):
        schema = Unknown(told.said)
    else:
        schema = told if isinstance(told, Unknown) else told.schema
    return VersionSide(version, chart_defaults(name, version), schema)


def values_now(addon: Addon) -> Doc | Unknown:
    """The configuration values of today; {} for none."""
    return kept_values(addon.configuration)
