"""EKS's answers about managed node groups: neither has a launch template that somebody else than EKS made."""

from __future__ import annotations

from kubectl_eksdoc.embedded.demo.aws.names import NODE_ROLE, ZONES, Params, at, given, our_cluster, role, subnet_of
from kubectl_eksdoc.embedded.demo.aws.pools import DISK, GROUPS, INSTANCE_TYPE, Pool
from kubectl_eksdoc.embedded.demo.aws.refused import missing
from kubectl_eksdoc.embedded.demo.meta import Json
from kubectl_eksdoc.embedded.demo.world import CLUSTER


def list_nodegroups(params: Params) -> Json:
    """Their names."""
    our_cluster(params)
    return {"nodegroups": [pool.name for pool in GROUPS]}


def describe_nodegroup(params: Params) -> Json:
    """One of them; `launchTemplate` is there only for an owner's own."""
    our_cluster(params)
    return {"nodegroup": _a_group(a_group(given(params, "nodegroupName")))}


def a_group(name: str) -> Pool:
    """The node group of that name; raises `Refused` (ResourceNotFoundException)."""
    for pool in GROUPS:
        if pool.name == name:
            return pool
    raise missing(f"No node group found for name: {name}.")


def _a_group(pool: Pool) -> Json:
    least, most = pool.size
    return {
        "nodegroupName": pool.name,
        "nodegroupArn": pool.arn,
        "clusterName": CLUSTER,
        "version": pool.image.version,
        "releaseVersion": pool.image.release,
        "createdAt": at(pool.born),
        "modifiedAt": at(pool.born - 5),
        "status": "ACTIVE",
        "capacityType": "ON_DEMAND",
        "scalingConfig": {"minSize": least, "maxSize": most, "desiredSize": len(pool.machines)},
        "instanceTypes": [INSTANCE_TYPE],
        "subnets": [subnet_of(zone) for zone in ZONES],
        "amiType": pool.image.ami_type,
        "nodeRole": role(NODE_ROLE),
        "labels": {},
        "resources": {"autoScalingGroups": [{"name": pool.group_name}]},
        "diskSize": DISK,
        "health": {"issues": []},
        "updateConfig": {"maxUnavailable": 1},
        "tags": {},
    }
