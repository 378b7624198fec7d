"""Mends moto's EC2: versions of a launch template that build on another one, images that want IMDSv2.

moto's own 1286 images are left out: none is of EKS's nodes of today, and making them is most of what a reset costs.
Of moto's internals: methods of EC2Response are the answers, and read the request from `params`, a dictionary by the
model's names; the serialiser finds ImdsSupport as `imds_support`; the
setting `ec2_load_default_amis` is asked whenever a backend begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

EKS_IMAGES = "602401143452"  # the account that publishes them
Method = Callable[[Any], Any]


def mend() -> None:
    """Once per process."""
    from moto import settings
    from moto.ec2.responses import EC2Response

    settings.ec2_load_default_amis = lambda: False
    EC2Response.create_launch_template_version = _building_on_source(EC2Response.create_launch_template_version)


def publish(ec2_backend: Any, name: str, imds_support: str | None, description: str) -> str:
    """The id of an image that Amazon publishes for EKS's nodes."""
    image = ec2_backend.register_image(name, description)
    image.owner_id, image.owner_alias, image.image_owner_alias = EKS_IMAGES, "amazon", "amazon"
    image.imds_support, image.root_device_type = imds_support, "ebs"
    return str(image.id)


def _building_on_source(original: Method) -> Method:
    """With SourceVersion the new version has that one's parameters too; a parameter named anew replaces the old one."""

    def method(response: Any) -> Any:
        source = response._get_param("SourceVersion")
        if source:
            name, number = response._get_param("LaunchTemplateName"), response._get_param("LaunchTemplateId")
            backend = response.ec2_backend
            template = backend.get_launch_template_by_name(name) if name else backend.get_launch_template(number)
            named = response._get_param("LaunchTemplateData", {})
            response.params["LaunchTemplateData"] = {**template.get_version(source).data, **named}
        return original(response)

    return method
