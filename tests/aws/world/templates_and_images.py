"""Patch moto's EC2: versions of a launch template that are based on another version, and images that require IMDSv2.

moto's own 1286 images are left out: none is an image of today's EKS nodes, and creating them takes most of a reset.
Of moto's internals: methods of EC2Response are the answers, and read the request from `params`, a dictionary by the
model's names; the serialiser finds ImdsSupport as `imds_support`; the
setting `ec2_load_default_amis` is read whenever a backend is created.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

EKS_IMAGES = "602401143452"  # the account that publishes them
Method = Callable[[Any], Any]


def mend() -> None:
    """Patch moto, once per process."""
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
    """With SourceVersion the new version has the parameters of that version, too; a parameter that is given again
    replaces the old one."""

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
