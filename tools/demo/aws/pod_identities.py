"""EKS's answers about EKS Pod Identity. The demo has no associations: every role is for a service account by IRSA."""

from __future__ import annotations

from tools.demo.aws.names import Params, arn, role
from tools.demo.aws.pools import Estate
from tools.demo.meta import Json, suffix
from tools.demo.world import CLUSTER


def list_pod_identity_associations(estate: Estate, params: Params) -> Json:
    """The summaries of all associations."""
    return {"associations": [_in_short(each) for each in estate.identities]}


def describe_pod_identity_association(estate: Estate, params: Params) -> Json:
    """One association by its id."""
    ident = params["associationId"]
    each = next(each for each in estate.identities if _id(each) == ident)
    return {"association": {**_in_short(each), "roleArn": role(f"{CLUSTER}-{each.partition('/')[2]}")}}


def _id(service_account: str) -> str:
    return f"a-{suffix(17, 'association', service_account)}"


def _in_short(service_account: str) -> Json:
    namespace, _, name = service_account.partition("/")
    ident = _id(service_account)
    said = {"clusterName": CLUSTER, "namespace": namespace, "serviceAccount": name, "associationId": ident}
    return {**said, "associationArn": arn("eks", f"podidentityassociation/{CLUSTER}/{ident}")}
