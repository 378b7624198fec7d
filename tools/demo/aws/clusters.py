"""EKS's answers about the cluster and about the Kubernetes versions that it offers."""

from __future__ import annotations

from datetime import datetime

from tools.demo.aws.names import (
    CLUSTER_GROUP,
    VERSION,
    ZONES,
    Params,
    an_id,
    arn,
    at,
    day,
    role,
    subnet_of,
)
from tools.demo.meta import NOW, Json, hexadecimal
from tools.demo.world import CLUSTER, REGION, VPC

BORN, UPGRADED = 90_010, 1_600
"""Minutes ago: a little older than its oldest object; its control plane has its version since yesterday."""

PLATFORM = "eks.38"
"""The newest platform version of every Kubernetes version; the number is made up."""

_ID = hexadecimal(32, "cluster", CLUSTER).upper()
ENDPOINT = f"https://{_ID}.gr7.{REGION}.eks.amazonaws.com"
_AUTHORITY = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="

# version, release on EKS, end of standard and of extended support, newest patch: the EKS user guide's calendar
# (kubernetes-versions, read in November 2026); the patches are made up where no node of the demo shows them.
_CALENDAR = (
    ("1.36", "2026-06-02", "2027-08-02", "2028-08-02", "1.36.2"),
    ("1.35", "2026-01-28", "2027-03-27", "2028-03-27", "1.35.7"),
    ("1.34", "2025-10-02", "2026-12-02", "2027-12-02", "1.34.9"),
    ("1.33", "2025-05-29", "2026-07-29", "2027-07-29", "1.33.13"),
    ("1.32", "2025-01-23", "2026-03-23", "2027-03-23", "1.32.13"),
    ("1.31", "2024-09-26", "2025-11-26", "2026-11-26", "1.31.14"),
    ("1.30", "2024-05-23", "2025-07-23", "2026-07-23", "1.30.14"),
    ("1.29", "2024-01-23", "2025-03-23", "2026-03-23", "1.29.15"),
    ("1.28", "2023-09-26", "2024-11-26", "2025-11-26", "1.28.15"),
)
_DEFAULT = "1.35"
_UNSUPPORTED = "UNSUPPORTED"


def describe_cluster(params: Params) -> Json:
    """The demo's only cluster."""
    network: Json = {"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4", "elasticLoadBalancing": {"enabled": False}}
    logs = [{"types": ["api", "audit"], "enabled": True}]
    logs.append({"types": ["authenticator", "controllerManager", "scheduler"], "enabled": False})
    cluster: Json = {
        "name": CLUSTER,
        "arn": arn("eks", f"cluster/{CLUSTER}"),
        "createdAt": at(BORN),
        "version": VERSION,
        "platformVersion": PLATFORM,
        "status": "ACTIVE",
        "endpoint": ENDPOINT,
        "certificateAuthority": {"data": _AUTHORITY},
        "identity": {"oidc": {"issuer": f"https://oidc.eks.{REGION}.amazonaws.com/id/{_ID}"}},
        "roleArn": role(f"{CLUSTER}-cluster"),
        "resourcesVpcConfig": _network(),
        "kubernetesNetworkConfig": network,
        "logging": {"clusterLogging": logs},
        "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"},
        "upgradePolicy": {"supportType": "EXTENDED"},
        "health": {"issues": []},
        "tags": {"team": "shop"},
        "deletionProtection": False,
    }
    return {"cluster": cluster}


def _network() -> Json:
    return {
        "vpcId": VPC,
        "subnetIds": [subnet_of(zone) for zone in ZONES],
        "securityGroupIds": [an_id("sg", "control plane")],
        "clusterSecurityGroupId": CLUSTER_GROUP,
        "endpointPublicAccess": True,
        "endpointPrivateAccess": True,
        "publicAccessCidrs": ["0.0.0.0/0"],
    }


def describe_cluster_versions(params: Params) -> Json:
    """The supported versions, the newest first."""
    versions = [_a_version(*row) for row in _CALENDAR]
    return {"clusterVersions": [each for each in versions if each["versionStatus"] != _UNSUPPORTED]}


def supported() -> tuple[str, ...]:
    """The versions that EKS supports at the demo's time, newest first."""
    return tuple(each["clusterVersion"] for each in describe_cluster_versions({})["clusterVersions"])


def _a_version(version: str, released: str, standard: str, extended: str, patch: str) -> Json:
    status = _status(day(standard), day(extended))
    return {
        "clusterVersion": version,
        "clusterType": "eks",
        "defaultPlatformVersion": PLATFORM,
        "defaultVersion": version == _DEFAULT,
        "releaseDate": day(released),
        "endOfStandardSupportDate": day(standard),
        "endOfExtendedSupportDate": day(extended),
        "status": status.lower().replace("_", "-"),
        "versionStatus": status,
        "kubernetesPatchVersion": patch,
    }


def _status(standard: datetime, extended: datetime) -> str:
    """Extended support begins on the day on which standard support ends."""
    return "STANDARD_SUPPORT" if standard > NOW else "EXTENDED_SUPPORT" if extended > NOW else _UNSUPPORTED
