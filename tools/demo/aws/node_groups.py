"""EKS's answers about managed node groups: the demo's own have no custom launch template."""

from __future__ import annotations

from tools.demo.aws.names import NODE_ROLE, ZONES, Params, at, role, subnet_of
from tools.demo.aws.pools import DISK, INSTANCE_TYPE, Estate, Pool
from tools.demo.meta import Json
from tools.demo.world import CLUSTER


def list_nodegroups(estate: Estate, params: Params) -> Json:
    """Their names."""
    return {"nodegroups": [pool.name for pool in estate.groups]}


def describe_nodegroup(estate: Estate, params: Params) -> Json:
    """One node group; `launchTemplate` is present only for a custom one."""
    return {"nodegroup": next(_a_group(pool) for pool in estate.groups if pool.name == params["nodegroupName"])}


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
        **_disk_or_template(pool),
        "health": {"issues": []},
        "updateConfig": {"maxUnavailable": 1},
        "tags": {},
    }


def _disk_or_template(pool: Pool) -> Json:
    """A custom launch template has the disk size."""
    own = pool.own
    if own is None:
        return {"diskSize": DISK}
    return {"launchTemplate": {"name": own.name, "version": str(own.version), "id": own.id}}
