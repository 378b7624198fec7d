"""AMIs of the demo's nodes, as EC2 and Systems Manager describe them, and the account's metadata defaults."""

from __future__ import annotations

import json

from tools.demo.aws.names import Params, day
from tools.demo.aws.pools import IMAGES, NEWEST, Estate, Image
from tools.demo.meta import Json
from tools.demo.world import EKS_IMAGES, REGION

_PUBLISHER = EKS_IMAGES.partition(".")[0]
_PREFIX = "ami-"
_PARAMETERS = "/aws/service/eks/optimized-ami/"


def describe_images(params: Params) -> Json:
    """The AMIs of the demo's nodes, and the newest of each kind."""
    return {"Images": [_an_image(each) for each in (*IMAGES, *NEWEST)]}


def get_instance_metadata_defaults(estate: Estate, params: Params) -> Json:
    """The demo's account has no defaults."""
    return {"AccountLevel": {"ManagedBy": "account", **estate.defaults}}


def get_parameter(params: Params) -> Json:
    """The newest AMI of each kind in the demo; Systems Manager returns nothing for an unknown parameter."""
    name = params["Name"]
    held = {key: value for image in NEWEST for key, value in parameters(image).items()}
    value, made = held[name]
    parameter: Json = {"Name": name, "Type": "String", "Value": value, "Version": 1, "DataType": "text"}
    parameter |= {"LastModifiedDate": day(made), "ARN": f"arn:aws:ssm:{REGION}::parameter{name}"}
    return {"Parameter": parameter}


def parameters(image: Image) -> dict[str, tuple[str, str]]:
    """Names and values of the parameters of an AMI, each with the day on which it was written."""
    said = {"image_id": image.id, "image_name": image.name, "release_version": image.release}
    whole = json.dumps({"schema_version": "2", **said})
    top = f"{_PARAMETERS}{image.parameter}/recommended"
    values = {top: whole, **{f"{top}/{key}": value for key, value in said.items()}}
    return {key: (value, image.made) for key, value in values.items()}


def _an_image(image: Image) -> Json:
    made = f"{image.made}T00:00:00.000Z"
    said = {"ImdsSupport": image.imds} if image.imds else {}
    return {
        "Architecture": "x86_64",
        "CreationDate": made,
        "Description": f"EKS Kubernetes Worker AMI, {image.name}",
        "EnaSupport": True,
        "Hypervisor": "xen",
        "ImageId": image.id,
        "ImageLocation": f"amazon/{image.name}",
        "ImageOwnerAlias": "amazon",
        "ImageType": "machine",
        "Name": image.name,
        "OwnerId": _PUBLISHER,
        "PlatformDetails": "Linux/UNIX",
        "Public": True,
        "RootDeviceName": "/dev/xvda",
        "RootDeviceType": "ebs",
        "State": "available",
        "VirtualizationType": "hvm",
        **said,
    }
