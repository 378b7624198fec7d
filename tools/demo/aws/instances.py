"""EC2's answers about instances: one for each of the demo's nodes but Fargate's, all running."""

from __future__ import annotations

from datetime import datetime

from tools.demo.aws.names import CLUSTER_GROUP, Params, an_id, at, subnet_of
from tools.demo.aws.pools import INSTANCE_TYPE, OWNED, Estate, Maker, Pool
from tools.demo.aws.tags import tags
from tools.demo.meta import Json, suffix
from tools.demo.nodes import address, instance_id
from tools.demo.world import ACCOUNT, CLUSTER, MACHINES, REGION, VPC, Machine


def describe_instances(estate: Estate, params: Params) -> Json:
    """Reservations of one instance each. Those of EKS Auto Mode are hidden unless managed instances are requested
    (Get/ModifyManagedResourceVisibility)."""
    seen = [p for p in estate.pools if p.maker is not Maker.AUTO_MODE or params.get("IncludeManagedResources")]
    instances = [_an_instance(machine, pool) for pool in seen for machine in pool.machines]
    return {
        "Reservations": [
            {
                "ReservationId": an_id("r", each["InstanceId"]),
                "OwnerId": ACCOUNT,
                "Groups": [],
                "Instances": [each],
            }
            for each in instances
        ]
    }


def launched(machine: Machine) -> datetime:
    """A minute before its Node was created."""
    return at(machine.age + 1)


def _an_instance(machine: Machine, pool: Pool) -> Json:
    group = {"GroupId": CLUSTER_GROUP, "GroupName": f"eks-cluster-sg-{CLUSTER}"}
    return {
        "Architecture": "x86_64",
        "EbsOptimized": True,
        "Hypervisor": "xen",
        "IamInstanceProfile": {"Arn": pool.profile, "Id": f"AIPA{suffix(16, pool.profile).upper()}"},
        "ImageId": pool.image.id,
        "InstanceId": instance_id(machine),
        "InstanceType": INSTANCE_TYPE,
        "LaunchTime": launched(machine),
        "MetadataOptions": _metadata_options(pool),
        "Placement": {"AvailabilityZone": machine.zone, "GroupName": "", "Tenancy": "default"},
        "PlatformDetails": "Linux/UNIX",
        "PrivateDnsName": f"ip-{address(machine).replace('.', '-')}.{REGION}.compute.internal",
        "PrivateIpAddress": address(machine),
        "RootDeviceName": "/dev/xvda",
        "RootDeviceType": "ebs",
        "SecurityGroups": [group],
        "State": {"Code": 16, "Name": "running"},
        "SubnetId": subnet_of(machine.zone),
        "Tags": tags(_tags(machine, pool)),
        "VirtualizationType": "hvm",
        "VpcId": VPC,
        **_launched_by(machine, pool),
    }


def _launched_by(machine: Machine, pool: Pool) -> Json:
    if pool.maker is Maker.AUTO_MODE:
        return {"Operator": {"Managed": True, "Principal": "eks.amazonaws.com"}}
    if pool.maker is not Maker.KARPENTER:
        return {}
    return {"InstanceLifecycle": "spot", "SpotInstanceRequestId": f"sir-{suffix(8, 'spot', machine.name)}"}


def _metadata_options(pool: Pool) -> Json:
    return {
        "State": "applied",
        **pool.metadata_options,
        "HttpEndpoint": "enabled",
        "HttpProtocolIpv6": "disabled",
        "InstanceMetadataTags": "disabled",
    }


def _tags(machine: Machine, pool: Pool) -> dict[str, str]:
    """The tags that Auto Scaling and EKS, or Karpenter, set on instances (Karpenter's docs, NodeClasses, spec.tags)."""
    version = pool.template_version
    template = {"aws:ec2launchtemplate:id": pool.template_id, "aws:ec2launchtemplate:version": version}
    if pool.managed:
        return {**template, **OWNED, "aws:autoscaling:groupName": pool.group_name, "eks:nodegroup-name": pool.name}
    if pool.maker is Maker.OWNER:
        ours = {f"kubernetes.io/cluster/{CLUSTER}": "owned", "Name": f"{CLUSTER}-{pool.name}"}
        return {**template, **ours, "aws:autoscaling:groupName": pool.group_name, **pool.tags}
    if pool.maker is Maker.AUTO_MODE:
        return {"eks:eks-cluster-name": CLUSTER, "karpenter.sh/nodepool": pool.name, **pool.tags}
    return {
        **template,
        "Name": machine.name,
        "aws:ec2:fleet-id": an_id("fleet", machine.name),
        "eks:eks-cluster-name": CLUSTER,
        "karpenter.k8s.aws/ec2nodeclass": "default",
        "karpenter.sh/nodeclaim": f"{pool.name}-{suffix(5, 'claim', machine.name)}",
        "karpenter.sh/nodepool": pool.name,
        f"kubernetes.io/cluster/{CLUSTER}": "owned",
        **pool.tags,
    }


def describe_spot_instance_requests(params: Params) -> Json:
    """One for each Spot instance, all fulfilled, without an interruption notice."""
    requests = [_spot_request(machine) for machine in MACHINES if machine.pool == "general"]
    return {"SpotInstanceRequests": requests}


def _spot_request(machine: Machine) -> Json:
    status = {"Code": "fulfilled", "Message": "Your spot request is fulfilled.", "UpdateTime": launched(machine)}
    ident = an_id("sir", instance_id(machine))
    return {
        "SpotInstanceRequestId": ident,
        "InstanceId": instance_id(machine),
        "State": "active",
        "Status": status,
        "Type": "one-time",
        "CreateTime": launched(machine),
    }
