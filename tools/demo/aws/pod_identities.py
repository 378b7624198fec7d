"""EKS's answers about EKS Pod Identity. The demo has none: every role of it is one for a service account (IRSA)."""

from __future__ import annotations

from tools.demo.aws.names import Params, arn, given, our_cluster, role
from tools.demo.aws.pools import Estate
from tools.demo.aws.refused import missing
from tools.demo.meta import Json, suffix
from tools.demo.world import CLUSTER


def list_pod_identity_associations(estate: Estate, params: Params) -> Json:
    """Of all service accounts that have one, in short."""
    our_cluster(params)
    return {"associations": [_in_short(each) for each in estate.identities]}


def describe_pod_identity_association(estate: Estate, params: Params) -> Json:
    """One of them by its id; raises `Refused` (ResourceNotFoundException)."""
    our_cluster(params)
    ident = given(params, "associationId")
    for each in estate.identities:
        if _id(each) == ident:
            return {"association": {**_in_short(each), "roleArn": role(f"{CLUSTER}-{each.partition('/')[2]}")}}
    raise missing(f"Association not found for associationId: {ident}")


def _id(service_account: str) -> str:
    return f"a-{suffix(17, 'association', service_account)}"


def _in_short(service_account: str) -> Json:
    namespace, _, name = service_account.partition("/")
    ident = _id(service_account)
    said = {"clusterName": CLUSTER, "namespace": namespace, "serviceAccount": name, "associationId": ident}
    return {**said, "associationArn": arn("eks", f"podidentityassociation/{CLUSTER}/{ident}")}
