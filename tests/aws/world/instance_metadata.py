"""Patch moto's EC2: the source of an instance's metadata options, and the calls that change and describe them.

Of moto's internals: every way of launching calls `Instance.__init__` (RunInstances, fleets, auto scaling groups),
which takes `launch_template` and `metadata_options`; methods of EC2Response are the answers; a backend's
dictionary is emptied by moto's reset, so the account's defaults are stored there; an auto scaling group does not
report which version of its template it launches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

_PLACE = "eksdoc_metadata_defaults"
_HELD = "eksdoc_metadata_held"
_FIELDS = ("HttpTokens", "HttpPutResponseHopLimit", "HttpEndpoint", "HttpProtocolIpv6", "InstanceMetadataTags")
_DEFAULTS = ("HttpTokens", "HttpPutResponseHopLimit", "HttpEndpoint", "InstanceMetadataTags", "HttpTokensEnforced")
EC2_DEFAULT = {
    "HttpTokens": "optional",
    "HttpPutResponseHopLimit": 1,
    "HttpEndpoint": "enabled",
    "HttpProtocolIpv6": "disabled",
    "InstanceMetadataTags": "disabled",
}
# The options of a launch without any, from an image with ImdsSupport v2.0.
IMAGE_V2 = {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}
_NO_PREFERENCE = ("no-preference", -1)

_group_version: ContextVar[str | None] = ContextVar("group_version", default=None)


def effective(
    call: Mapping[str, Any], template: Mapping[str, Any], account: Mapping[str, Any], image_v2: bool
) -> dict[str, Any]:
    """The options of a new instance, field by field: call, template, account's default (of IMDSv2: two hops),
    image, EC2's default."""
    image = IMAGE_V2 if image_v2 else {}
    of_v2 = {"HttpPutResponseHopLimit": 2} if account.get("HttpTokens") == "required" else {}
    layers = (EC2_DEFAULT, image, of_v2, account, template, call)
    return {name: value for layer in layers for name, value in layer.items() if name in _FIELDS and value is not None}


def hold(ec2_backend: Any, held: bool = True) -> None:
    """Whether changed options stay `pending`; on release, all are applied."""
    ec2_backend.__dict__[_HELD] = held
    for instance in () if held else ec2_backend.all_instances():
        instance.metadata_options.state = "applied"


def mend() -> None:
    """Patch moto, once per process."""
    from moto.autoscaling.models import FakeAutoScalingGroup
    from moto.ec2.models.instances import Instance, MetadataOptions
    from moto.ec2.responses import EC2Response
    from moto.ec2.utils import filter_dict_attribute_mapping as of_filter

    Instance.__init__ = _launching(Instance.__init__)
    launch = FakeAutoScalingGroup.replace_autoscaling_group_instances
    FakeAutoScalingGroup.replace_autoscaling_group_instances = _telling_version(launch)
    EC2Response.modify_instance_metadata_options = modify_instance_metadata_options
    EC2Response.get_instance_metadata_defaults = get_instance_metadata_defaults
    EC2Response.modify_instance_metadata_defaults = modify_instance_metadata_defaults
    MetadataOptions.hop_limit_text = property(lambda options: str(options.http_put_response_hop_limit))
    of_filter["metadata-options.http-put-response-hop-limit"] = "metadata_options.hop_limit_text"


def _launching(original: Callable[..., None]) -> Callable[..., None]:
    def init(self: Any, ec2_backend: Any, image_id: str, *args: Any, **kwargs: Any) -> None:
        asked = kwargs.get("launch_template") or {}
        if asked and "Version" not in asked and (version := _group_version.get()):
            asked = kwargs["launch_template"] = {**asked, "Version": version}
        template = ec2_backend._get_template_from_args(asked) if asked else None
        image = ec2_backend.amis.get(image_id or (template.image_id if template else ""))
        kwargs["metadata_options"] = effective(
            kwargs.get("metadata_options") or {},
            template.data.get("MetadataOptions") or {} if template else {},
            ec2_backend.__dict__.get(_PLACE, {}),
            getattr(image, "imds_support", None) == "v2.0",
        )
        original(self, ec2_backend, image_id, *args, **kwargs)

    return init


def _telling_version(original: Callable[..., Any]) -> Callable[..., Any]:
    def replace(self: Any, *args: Any, **kwargs: Any) -> Any:
        token = _group_version.set(self.launch_template_version if self.ec2_launch_template else None)
        try:
            return original(self, *args, **kwargs)
        finally:
            _group_version.reset(token)

    return replace


def modify_instance_metadata_options(response: Any) -> Any:
    """Options that are not named keep their values; the answer says `pending`, as AWS does."""
    from moto.core.responses import ActionResult
    from moto.ec2.models.instances import MetadataOptions

    response.error_on_dryrun()
    backend = response.ec2_backend
    instance = backend.get_instance(response._get_param("InstanceId"))
    was = instance.metadata_options
    merged = {
        "HttpTokens": was.http_tokens,
        "HttpPutResponseHopLimit": was.http_put_response_hop_limit,
        "HttpEndpoint": was.http_endpoint,
        "HttpProtocolIpv6": was.http_protocol_ipv6,
        "InstanceMetadataTags": was.instance_metadata_tags,
    }
    merged.update({name: value for name in _FIELDS if (value := response._get_param(name)) is not None})
    state = "pending" if backend.__dict__.get(_HELD) else "applied"
    instance.metadata_options = MetadataOptions({**merged, "State": state})
    told = MetadataOptions({**merged, "State": "pending"})
    return ActionResult({"InstanceId": instance.id, "InstanceMetadataOptions": told})


def get_instance_metadata_defaults(response: Any) -> Any:
    from moto.core.responses import ActionResult

    response.error_on_dryrun()
    known = response.ec2_backend.__dict__.get(_PLACE, {})
    return ActionResult({"AccountLevel": {**known, "ManagedBy": "account"}})


def modify_instance_metadata_defaults(response: Any) -> Any:
    """`no-preference` and -1 remove a default. HttpTokensEnforced is stored and returned; launches are not refused."""
    from moto.core.responses import ActionResult

    response.error_on_dryrun()
    known = response.ec2_backend.__dict__.setdefault(_PLACE, {})
    for name in _DEFAULTS:
        value = response._get_param(name)
        if value in _NO_PREFERENCE:
            known.pop(name, None)
        elif value is not None:
            known[name] = value
    return ActionResult({"Return": True})
