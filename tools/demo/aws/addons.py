"""EKS's answers about installed and available add-ons.

It has the first incident: the configuration values of vpc-cni have one of the two settings that security groups for
pods need. The other one was set on the live DaemonSet by hand, and an update with OVERWRITE resets it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.embedded.demo.reader import read_file
from tools.demo.aws.catalogue import OFFERED, cluster_versions, offered
from tools.demo.aws.names import Params, arn, at, role
from tools.demo.meta import Json, uid
from tools.demo.world import CLUSTER

_CNI_VALUES = '{"env":{"ENABLE_POD_ENI":"true"}}'


@dataclass(frozen=True, slots=True)
class Installed:
    """An add-on of the cluster; `born` and `changed` in minutes ago, `role` is the IRSA role of its service account."""

    name: str
    version: str
    born: int
    changed: int
    role: str = ""
    values: str = ""


INSTALLED = (
    Installed("aws-ebs-csi-driver", "v1.44.0-eksbuild.1", 89_000, 41_000, role=f"{CLUSTER}-ebs-csi-controller"),
    Installed("coredns", "v1.11.4-eksbuild.2", 90_000, 48_000),
    Installed("kube-proxy", "v1.32.3-eksbuild.7", 90_000, 48_500),
    Installed("metrics-server", "v0.7.2-eksbuild.3", 89_000, 89_000),
    Installed("vpc-cni", "v1.19.5-eksbuild.1", 90_000, 49_000, role=f"{CLUSTER}-aws-node", values=_CNI_VALUES),
)


def list_addons(params: Params) -> Json:
    """The names of installed add-ons."""
    return {"addons": [each.name for each in INSTALLED]}


def describe_addon(params: Params) -> Json:
    """An installed add-on."""
    return {"addon": _described(installed(params["addonName"]))}


def installed(name: str) -> Installed:
    return next(each for each in INSTALLED if each.name == name)


def describe_addon_versions(params: Params) -> Json:
    """The add-ons that EKS offers; only with the compatibility of the requested cluster version."""
    versions, name = cluster_versions(params.get("kubernetesVersion")), params.get("addonName")
    asked_for = (each for each in OFFERED.values() if name in (None, each.name))
    return {"addons": [offered(each, versions) for each in asked_for]}


def describe_addon_configuration(params: Params) -> Json:
    """The configuration of one version; without `configurationSchema` where no real document is known."""
    name, version = params["addonName"], params["addonVersion"]
    addon = OFFERED[name]
    answer: Json = {"addonName": name, "addonVersion": version, "podIdentityConfiguration": []}
    if addon.service_account:
        advice = {"serviceAccount": addon.service_account, "recommendedManagedPolicies": list(addon.policies)}
        answer["podIdentityConfiguration"] = [advice]
    if addon.schema:
        answer["configurationSchema"] = read_file(f"schemas/{addon.schema}").decode()
    return answer


def _described(each: Installed) -> Json:
    addon = OFFERED[each.name]
    told: Json = {"configurationValues": each.values} if each.values else {}
    if each.role:
        told["serviceAccountRoleArn"] = role(each.role)
    return {
        "addonName": each.name,
        "clusterName": CLUSTER,
        "status": "ACTIVE",
        "addonVersion": each.version,
        "health": {"issues": []},
        "addonArn": arn("eks", f"addon/{CLUSTER}/{each.name}/{uid('Addon', CLUSTER, each.name)}"),
        "createdAt": at(each.born),
        "modifiedAt": at(each.changed),
        "tags": {},
        "publisher": addon.publisher,
        "owner": addon.owner,
        "podIdentityAssociations": [],
        "namespaceConfig": {"namespace": "kube-system"},
        **told,
    }
