"""EKS's add-on calls: create, list, describe and update, with the checks that AWS makes first.

Each function gets the state of one account and region and the request's parameters by botocore's names, and returns
botocore's response shape; refusals are raised.
"""

from __future__ import annotations

from typing import Any

from tests.aws.world import configured
from tests.aws.world.catalogue import Offer
from tests.aws.world.eks_state import EksState, Update, now
from tests.aws.world.paging import page
from tests.aws.world.refused import invalid, refused

Params = dict[str, Any]
_CONFLICTS = ("OVERWRITE", "NONE", "PRESERVE")
_VERSION = "Addon version specified is not supported"


def create_addon(eks: EksState, params: Params) -> dict[str, Any]:
    cluster, name = params["clusterName"], params["addonName"]
    version = eks.cluster(cluster).version
    if name in eks.addons.get(cluster, {}):
        raise refused("ResourceInUseException", "Addon already exists.", clusterName=cluster, addonName=name)
    offer = _offer(eks, cluster, name, params.get("addonVersion") or _default(eks, name, version))
    _check(params, offer)
    arn = eks.arn("addon", cluster, name, f"{eks.serial():08x}-98dd-3203-60b0-4b939b2a5e5f")
    addon = {
        "addonName": name,
        "clusterName": cluster,
        "status": "ACTIVE",
        "addonVersion": offer.version,
        "health": {"issues": []},
        "addonArn": arn,
        "createdAt": now(),
        "modifiedAt": now(),
        "tags": params.get("tags", {}),
        "publisher": "eks",
        "owner": "aws",
        "namespaceConfig": params.get("namespaceConfig") or {"namespace": offer.namespace},
        **{key: params[key] for key in ("serviceAccountRoleArn", "configurationValues") if params.get(key)},
    }
    eks.addons.setdefault(cluster, {})[name] = addon
    return {"addon": {**addon, "status": "CREATING"}}


def list_addons(eks: EksState, params: Params) -> dict[str, Any]:
    eks.cluster(params["clusterName"])
    return page(sorted(eks.addons.get(params["clusterName"], {})), "addons", params)


def describe_addon(eks: EksState, params: Params) -> dict[str, Any]:
    return {"addon": eks.addon(params["clusterName"], params["addonName"])}


def update_addon(eks: EksState, params: Params) -> dict[str, Any]:
    cluster, name = params["clusterName"], params["addonName"]
    addon = eks.addon(cluster, name)
    if under_way := eks.running((cluster, None, name)):
        message = f"Cannot AddonUpdate because addon {name} currently has update {under_way.id} in progress"
        raise refused("ResourceInUseException", message, clusterName=cluster, addonName=name)
    offer = _offer(eks, cluster, name, params.get("addonVersion") or addon["addonVersion"])
    _check(params, offer)

    def succeed() -> None:
        addon.update(addonVersion=offer.version, status="ACTIVE", health={"issues": []}, modifiedAt=now())
        addon.update({key: params[key] for key in ("serviceAccountRoleArn", "configurationValues") if key in params})

    def fail(errors: list[dict[str, Any]]) -> None:
        issues = [
            {"code": e["errorCode"], "message": e["errorMessage"], "resourceIds": e["resourceIds"]} for e in errors
        ]
        addon.update(status="UPDATE_FAILED", health={"issues": issues}, modifiedAt=now())

    addon.update(status="UPDATING", modifiedAt=now())
    return eks.begin(Update("AddonUpdate", cluster, _told(params), succeed, fail, addon=name))


def describe_addon_versions(eks: EksState, params: Params) -> dict[str, Any]:
    found = eks.catalogue.described(params.get("addonName"), params.get("kubernetesVersion"))
    return page(found, "addons", params)


def describe_addon_configuration(eks: EksState, params: Params) -> dict[str, Any]:
    """An add-on without a known schema has none in the answer: the answers of AWS for versions before schemas are not
    published."""
    offer = eks.catalogue.find(params["addonName"], params["addonVersion"])
    if offer is None:
        raise invalid(_VERSION, addonName=params["addonName"])
    answer = {"addonName": offer.addon, "addonVersion": offer.version}
    return {**answer, "configurationSchema": offer.schema} if offer.schema else answer


def _default(eks: EksState, name: str, cluster_version: str) -> str:
    offer = eks.catalogue.default(name, cluster_version)
    return offer.version if offer else ""


def _offer(eks: EksState, cluster: str, name: str, version: str) -> Offer:
    if not eks.catalogue.of(name):
        raise invalid("Addon specified is not supported", clusterName=cluster, addonName=name)
    offer = eks.catalogue.find(name, version)
    if offer is None or eks.cluster(cluster).version not in offer.clusters:
        raise invalid(_VERSION, clusterName=cluster, addonName=name)
    return offer


def _check(params: Params, offer: Offer) -> None:
    conflicts = params.get("resolveConflicts")
    if conflicts is not None and conflicts not in _CONFLICTS:
        raise invalid(
            f"1 validation error detected: Value '{conflicts}' at 'resolveConflicts' failed to satisfy constraint: "
            f"Member must satisfy enum value set: [{', '.join(_CONFLICTS)}]"
        )
    if params.get("configurationValues"):
        configured.check(params["configurationValues"], offer.schema)


def _told(params: Params) -> list[dict[str, str]]:
    """The update's params: only those of the request."""
    names = ("addonVersion", "serviceAccountRoleArn", "resolveConflicts", "configurationValues")
    return [{"type": name[0].upper() + name[1:], "value": params[name]} for name in names if params.get(name)]
