"""EKS's pod identity associations: the role for the pods of a service account. Shapes as in eks_addons.py."""

from __future__ import annotations

from typing import Any

from tests.aws.world.eks_state import EksState, now
from tests.aws.world.paging import page
from tests.aws.world.refused import refused

Params = dict[str, Any]
_SUMMARY = ("clusterName", "namespace", "serviceAccount", "associationArn", "associationId")


def create_pod_identity_association(eks: EksState, params: Params) -> dict[str, Any]:
    cluster = params["clusterName"]
    eks.cluster(cluster)
    for known in eks.associations.get(cluster, {}).values():
        if (known["namespace"], known["serviceAccount"]) == (params["namespace"], params["serviceAccount"]):
            message = f"Association already exists: {known['associationId']}"
            raise refused("ResourceInUseException", message, clusterName=cluster)
    number = f"a-{eks.serial():017x}"
    association = {
        "clusterName": cluster,
        "namespace": params["namespace"],
        "serviceAccount": params["serviceAccount"],
        "roleArn": params["roleArn"],
        "associationArn": eks.arn("podidentityassociation", cluster, number),
        "associationId": number,
        "tags": params.get("tags", {}),
        "createdAt": now(),
        "modifiedAt": now(),
    }
    eks.associations.setdefault(cluster, {})[number] = association
    return {"association": association}


def list_pod_identity_associations(eks: EksState, params: Params) -> dict[str, Any]:
    eks.cluster(params["clusterName"])
    found = eks.associations.get(params["clusterName"], {}).values()
    for key in ("namespace", "serviceAccount"):
        found = [one for one in found if params.get(key) in (None, one[key])]
    rows = [{key: one[key] for key in _SUMMARY if key in one} for one in found]
    return page(sorted(rows, key=lambda one: str(one["associationId"])), "associations", params)


def describe_pod_identity_association(eks: EksState, params: Params) -> dict[str, Any]:
    eks.cluster(params["clusterName"])
    known = eks.associations.get(params["clusterName"], {})
    if params["associationId"] not in known:
        message = f"The specified association does not exist: {params['associationId']}"
        raise refused("ResourceNotFoundException", message, clusterName=params["clusterName"])
    return {"association": known[params["associationId"]]}
