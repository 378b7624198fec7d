"""EC2's answers about subnets: one in each zone, of which that of zone b is nearly full."""

from __future__ import annotations

from collections.abc import Mapping

from tools.demo.aws.filters import Field, kept, tags
from tools.demo.aws.names import ZONES, Params, arn, subnet_of
from tools.demo.aws.refused import Refused
from tools.demo.meta import Json
from tools.demo.world import ACCOUNT, CLUSTER, VPC

_FREE = (842, 3, 917)
"""Addresses that are left, zone by zone."""

_FIELDS: Mapping[str, Field] = {
    "availability-zone": lambda s: s["AvailabilityZone"],
    "subnet-id": lambda s: s["SubnetId"],
    "vpc-id": lambda s: s["VpcId"],
}


def describe_subnets(params: Params) -> Json:
    """By `SubnetIds` or all, and of these what `Filters` keep."""
    subnets = [_a_subnet(place, zone) for place, zone in enumerate(ZONES)]
    held = [each["SubnetId"] for each in subnets]
    asked = params.get("SubnetIds") or held
    lost = [each for each in asked if each not in held]
    if lost:
        raise Refused("InvalidSubnetID.NotFound", f"The subnet ID '{lost[0]}' does not exist")
    return {"Subnets": kept((each for each in subnets if each["SubnetId"] in asked), params, _FIELDS)}


def _a_subnet(place: int, zone: str) -> Json:
    ident = subnet_of(zone)
    return {
        "SubnetId": ident,
        "SubnetArn": arn("ec2", f"subnet/{ident}"),
        "VpcId": VPC,
        "OwnerId": ACCOUNT,
        "State": "available",
        "AvailabilityZone": zone,
        "CidrBlock": f"10.0.{16 * place}.0/20",
        "AvailableIpAddressCount": _FREE[place],
        "DefaultForAz": False,
        "MapPublicIpOnLaunch": False,
        "Tags": tags({f"kubernetes.io/cluster/{CLUSTER}": "shared", "Name": f"{CLUSTER}-{zone}"}),
    }
