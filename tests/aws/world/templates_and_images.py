"""Mends moto's EC2: versions of a launch template that build on another one, images that want IMDSv2, pages of both.

moto's own 1286 images are left out: none is of EKS's nodes of today, and making them is most of what a reset costs.
Of moto's internals: methods of EC2Response are the answers, and read the request from `params`, a dictionary by the
model's names; an ActionResult holds its answer in `result`; the serialiser finds ImdsSupport as `imds_support`; the
setting `ec2_load_default_amis` is asked whenever a backend begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.aws.world.refused import refused

_ALL = 100_000
EKS_IMAGES = "602401143452"  # the account that publishes them
Method = Callable[[Any], Any]


def mend() -> None:
    """Once per process."""
    from moto import settings
    from moto.ec2.responses import EC2Response

    settings.ec2_load_default_amis = lambda: False
    EC2Response.create_launch_template_version = _building_on_source(EC2Response.create_launch_template_version)
    EC2Response.register_image = _telling_imds_support(EC2Response.register_image)
    for name, key in (
        ("describe_launch_template_versions", "LaunchTemplateVersions"),
        ("describe_images", "Images"),
    ):
        setattr(EC2Response, name, _in_pages(getattr(EC2Response, name), key))


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


def _telling_imds_support(original: Method) -> Method:
    def method(response: Any) -> Any:
        answer = original(response)
        image = response.ec2_backend.amis[answer.result["ImageId"]]
        image.imds_support, image.root_device_type = response._get_param("ImdsSupport"), "ebs"
        return answer

    return method


def _in_pages(original: Method, key: str) -> Method:
    """moto cuts the list of versions at 15 without a token, and knows no pages of images."""

    def method(response: Any) -> Any:
        size, token = response._get_int_param("MaxResults", _ALL), response._get_param("NextToken", "0")
        if not token.isdigit():
            raise refused("InvalidNextToken", f"The token '{token}' is invalid")
        response.params["MaxResults"] = _ALL
        answer = original(response)
        found, start = list(answer.result[key]), int(token)
        answer.result[key] = found[start : start + size]
        if start + size < len(found):
            answer.result["NextToken"] = str(start + size)
        return answer

    return method
