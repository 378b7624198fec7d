"""EC2's answers about subnets: one in each zone; the one in zone b is nearly full."""

from __future__ import annotations

from tools.demo.aws.names import ZONES, Params, arn, subnet_of
from tools.demo.aws.tags import tags
from tools.demo.meta import Json
from tools.demo.world import ACCOUNT, CLUSTER, VPC

_FREE = (842, 3, 917)
"""Free addresses in each zone."""


def describe_subnets(params: Params) -> Json:
    return {"Subnets": [_a_subnet(place, zone) for place, zone in enumerate(ZONES)]}


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
