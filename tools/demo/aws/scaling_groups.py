"""Auto Scaling's answers: the group that EKS created for each node group, with the instances of its nodes, and
self-managed groups."""

from __future__ import annotations

from tools.demo.aws.names import ZONES, Params, arn, at, subnet_of
from tools.demo.aws.pools import INSTANCE_TYPE, OWNED, Estate, Pool
from tools.demo.meta import Json
from tools.demo.nodes import instance_id
from tools.demo.world import Machine


def describe_auto_scaling_groups(estate: Estate, params: Params) -> Json:
    return {"AutoScalingGroups": [_a_group(pool) for pool in estate.pools if pool.scaled]}


def _template(pool: Pool) -> Json:
    version = pool.template_version
    return {"LaunchTemplateId": pool.template_id, "LaunchTemplateName": pool.template_name, "Version": version}


def _a_group(pool: Pool) -> Json:
    least, most = pool.size
    name, wanted = pool.group_name, len(pool.machines)
    return {
        "AutoScalingGroupARN": arn("autoscaling", f"autoScalingGroup:{pool.id}:autoScalingGroupName/{name}"),
        "AutoScalingGroupName": name,
        "AvailabilityZones": list(ZONES),
        "CapacityRebalance": True,
        "CreatedTime": at(pool.born - 1),
        "DefaultCooldown": 300,
        "DesiredCapacity": wanted,
        "HealthCheckGracePeriod": 15,
        "HealthCheckType": "EC2",
        "Instances": [_a_member(machine, pool) for machine in pool.machines],
        "MaxSize": most,
        "MinSize": least,
        **_launched_from(pool),
        "NewInstancesProtectedFromScaleIn": False,
        "Tags": _tags(pool),
        "TerminationPolicies": ["AllocationStrategy", "OldestLaunchTemplate", "OldestInstance"],
        "VPCZoneIdentifier": ",".join(map(subnet_of, ZONES)),
    }


def _launched_from(pool: Pool) -> Json:
    """EKS writes a policy of instance types, even for one type; eksctl and the Terraform module a plain template."""
    if not pool.managed:
        return {"LaunchTemplate": _template(pool)}
    template = {"LaunchTemplateSpecification": _template(pool), "Overrides": [{"InstanceType": INSTANCE_TYPE}]}
    on_demand: Json = {"OnDemandAllocationStrategy": "prioritized", "OnDemandBaseCapacity": 0}
    on_demand |= {"OnDemandPercentageAboveBaseCapacity": 100, "SpotAllocationStrategy": "lowest-price"}
    return {"MixedInstancesPolicy": {"InstancesDistribution": on_demand, "LaunchTemplate": template}}


def _a_member(machine: Machine, pool: Pool) -> Json:
    return {
        "AvailabilityZone": machine.zone,
        "HealthStatus": "Healthy",
        "InstanceId": instance_id(machine),
        "InstanceType": INSTANCE_TYPE,
        "LaunchTemplate": _template(pool),
        "LifecycleState": "InService",
        "ProtectedFromScaleIn": False,
    }


def _tags(pool: Pool) -> list[Json]:
    same: Json = {"PropagateAtLaunch": True, "ResourceId": pool.group_name, "ResourceType": "auto-scaling-group"}
    held = {**OWNED, "eks:nodegroup-name": pool.name} if pool.managed else dict(pool.tags)
    return [{"Key": key, "Value": value, **same} for key, value in sorted(held.items())]
