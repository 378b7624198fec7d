"""Patch moto's clusters and node groups: set the defaults that EKS has today.

Of moto's internals: both answers hold the backend's own object (Cluster, Nodegroup) in `result`, whose attributes
DescribeCluster and DescribeNodegroup return; None is left out. moto's node groups have the versions of 2021, and one
`health` and one default `scaling_config` for all; the auto scaling group that they name does not exist until a test
creates it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.aws.world.eks_state import state_of

Method = Callable[[Any], Any]


def mend() -> None:
    """Patch moto, once per process."""
    from moto.eks.responses import EKSResponse

    EKSResponse.create_cluster = _cluster(EKSResponse.create_cluster)
    EKSResponse.create_nodegroup = _nodegroup(EKSResponse.create_nodegroup)


def _cluster(original: Method) -> Method:
    def method(response: Any) -> Any:
        answer = original(response)
        cluster = answer.result["cluster"]
        newest = state_of(response.eks_backend).catalogue.cluster_versions()[0]["clusterVersion"]
        cluster.version = response._get_param("version") or newest
        cluster.upgrade_policy = response._get_param("upgradePolicy") or {"supportType": "EXTENDED"}
        cluster.access_config = response._get_param("accessConfig") or {"authenticationMode": "CONFIG_MAP"}
        cluster.health = {"issues": []}
        return answer

    return method


def _nodegroup(original: Method) -> Method:
    """Amazon Linux 2023 from 1.30 on; a group with a template takes disk, key and, if necessary, types from it."""

    def method(response: Any) -> Any:
        answer = original(response)
        group = answer.result["nodegroup"]
        cluster = response.eks_backend.clusters[group.cluster_name]
        group.version = response._get_param("version") or cluster.version
        group.release_version = response._get_param("releaseVersion") or f"{group.version}.0-20261101"
        modern = int(group.version.split(".")[1]) >= 30
        group.ami_type = response._get_param("amiType") or ("AL2023_x86_64_STANDARD" if modern else "AL2_x86_64")
        group.update_config = response._get_param("updateConfig") or {"maxUnavailable": 1}
        group.remote_access = response._get_param("remoteAccess")
        group.health, group.scaling_config = {"issues": []}, dict(group.scaling_config)
        if group.launch_template:
            group.launch_template.setdefault("version", "$Default")
            group.disk_size, group.instance_types = None, response._get_param("instanceTypes")
        return answer

    return method
