"""What EKS says, made facts. Source of the shapes: botocore 1.44.5, eks/2017-11-01."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.aws.asking import Aws, Json, answered, at_once, found, known
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.addons import (
    Addon,
    AddonConfiguration,
    AddonVersion,
    AddonVersions,
    Fits,
    Issue,
    Update,
)
from kubectl_eksdoc.core.model.aws.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.clusters import Caller, ClusterVersion, EksCluster


def caller(aws: Aws) -> Caller:
    """
    Raises:
        AwsError: as `Aws.ask`.
    """
    return answered(aws, questions.CALLER, {}, lambda said: Caller(said.get("Account", ""), said.get("Arn", "")))


def cluster(aws: Aws, name: str) -> EksCluster:
    """
    Raises:
        AwsMissing: there is none of that name in the account and region.
        AwsError: as `Aws.ask`.
    """
    return answered(aws, questions.CLUSTER, {"name": name}, lambda said: _cluster(said["cluster"]))


def _cluster(said: Json) -> EksCluster:
    return EksCluster(
        name=said["name"],
        arn=said.get("arn", ""),
        version=said["version"],
        platform_version=said.get("platformVersion", ""),
        status=said.get("status", ""),
        endpoint=said.get("endpoint", ""),
        ca=said.get("certificateAuthority", {}).get("data", ""),
        support=said.get("upgradePolicy", {}).get("supportType", ""),
        auto_mode=bool(said.get("computeConfig", {}).get("enabled", False)),
        vpc=said.get("resourcesVpcConfig", {}).get("vpcId", ""),
        created=said.get("createdAt"),
    )


def cluster_versions(aws: Aws) -> tuple[ClusterVersion, ...] | Unknown:
    """Those that EKS supports, and how long."""

    def made(said: Json) -> tuple[ClusterVersion, ...]:
        return tuple(_version(each) for each in said.get("clusterVersions", ()))

    return known(aws, questions.CLUSTER_VERSIONS, {}, made)


def _version(said: Json) -> ClusterVersion:
    return ClusterVersion(
        version=said.get("clusterVersion", ""),
        status=said.get("versionStatus") or said.get("status", "").replace("-", "_").upper(),
        default=bool(said.get("defaultVersion", False)),
        released=said.get("releaseDate"),
        standard_ends=said.get("endOfStandardSupportDate"),
        extended_ends=said.get("endOfExtendedSupportDate"),
    )


def addons(aws: Aws, of: str) -> tuple[Addon | Unknown, ...] | Unknown:
    """All of a cluster, by name; what of them may not be asked is unknown each."""
    names = known(aws, questions.ADDONS, {"clusterName": of}, lambda said: tuple(sorted(said["addons"])))
    if isinstance(names, Unknown):
        return names
    told = at_once(names, lambda name: addon(aws, of, name))
    return tuple(each for _, each in told if not isinstance(each, Absent))  # it was taken away meanwhile


def addon(aws: Aws, of: str, name: str) -> Addon | Unknown | Absent:
    """One of a cluster."""
    return found(aws, questions.ADDON, {"clusterName": of, "addonName": name}, lambda said: _addon(said["addon"]))


def _addon(said: Json) -> Addon:
    return Addon(
        name=said.get("addonName", ""),
        version=said.get("addonVersion", ""),
        status=said.get("status", ""),
        configuration=said.get("configurationValues", ""),
        role=said.get("serviceAccountRoleArn", ""),
        namespace=said.get("namespaceConfig", {}).get("namespace", ""),
        issues=tuple(
            Issue(each.get("code", ""), each.get("message", ""), tuple(each.get("resourceIds", ())))
            for each in said.get("health", {}).get("issues", ())
        ),
        changed=said.get("modifiedAt"),
    )


def addon_versions(aws: Aws, name: str = "", kubernetes: str = "") -> tuple[AddonVersions, ...] | Unknown | Absent:
    """Those of an add-on ("": of all), for a Kubernetes version ("": for any)."""
    wanted = {"addonName": name, "kubernetesVersion": kubernetes}

    def made(said: Json) -> tuple[AddonVersions, ...]:
        return tuple(_addon_versions(each) for each in said.get("addons", ()))

    return found(aws, questions.ADDON_VERSIONS, {key: value for key, value in wanted.items() if value}, made)


def _addon_versions(said: Json) -> AddonVersions:
    return AddonVersions(
        said.get("addonName", ""),
        said.get("type", ""),
        said.get("publisher", ""),
        tuple(
            AddonVersion(
                each.get("addonVersion", ""),
                tuple(
                    Fits(fit.get("clusterVersion", ""), bool(fit.get("defaultVersion", False)))
                    for fit in each.get("compatibilities", ())
                ),
                bool(each.get("requiresConfiguration", False)),
            )
            for each in said.get("addonVersions", ())
        ),
    )


def addon_configuration(aws: Aws, name: str, version: str) -> AddonConfiguration | Unknown | Absent:
    """What may be configured of a version."""
    wanted = {"addonName": name, "addonVersion": version}

    def made(said: Json) -> AddonConfiguration:
        return AddonConfiguration(name, version, said.get("configurationSchema", ""))

    return found(aws, questions.ADDON_CONFIGURATION, wanted, made)


def updates_of_addon(aws: Aws, of: str, name: str) -> tuple[Update | Unknown, ...] | Unknown | Absent:
    """Of an add-on, the latest first; EKS keeps those of some time."""
    wanted = {"name": of, "addonName": name}
    ids = found(aws, questions.UPDATES, wanted, lambda said: tuple(said.get("updateIds", ())))
    if isinstance(ids, (Unknown, Absent)):
        return ids
    told = at_once(ids, lambda id: found(aws, questions.UPDATE, {**wanted, "updateId": id}, _update))
    return _latest_first([each for _, each in told if not isinstance(each, Absent)])


def _latest_first(told: Sequence[Update | Unknown]) -> tuple[Update | Unknown, ...]:
    """What is unknown comes last."""
    updates = [each for each in told if isinstance(each, Update)]
    updates.sort(key=lambda each: (each.begun.timestamp() if each.begun is not None else 0.0, each.id), reverse=True)
    return (*updates, *(each for each in told if isinstance(each, Unknown)))


def _update(said: Json) -> Update:
    update = said["update"]
    return Update(
        id=update.get("id", ""),
        type=update.get("type", ""),
        status=update.get("status", ""),
        parameters=tuple((each.get("type", ""), each.get("value", "")) for each in update.get("params", ())),
        begun=update.get("createdAt"),
        errors=tuple(
            Issue(each.get("errorCode", ""), each.get("errorMessage", ""), tuple(each.get("resourceIds", ())))
            for each in update.get("errors", ())
        ),
    )
