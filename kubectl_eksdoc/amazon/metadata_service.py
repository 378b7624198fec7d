"""Instance metadata service (IMDS): access from pods and nodes by hop limit, and the metadata options of new instances.

Sources: EC2 user guide, "Use the Instance Metadata Service" (the hop limit is the IP TTL of the response that carries
the token; precedence of options at launch); botocore's model of EC2, InstanceMetadataOptionsRequest and
Image.ImdsSupport; the EKS user guide and the issues named below on the templates that EKS creates.
"""

from __future__ import annotations

import re
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions, Image, MetadataOptions

TOKENS_REQUIRED, TOKENS_OPTIONAL = "required", "optional"
HOST_HOPS, POD_HOPS, NESTED_HOPS = 1, 2, 3
"""Hops to IMDS: from the node itself, from a pod's network namespace, from a network namespace inside a pod."""


class ImdsReach(str, Enum):
    """Whether requests reach IMDS."""

    REACHABLE = "reachable"
    V1_ONLY = "v1 only"  # the token response is lost; requests without a token are answered
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"


@frozen
class ImdsVerdict:
    """`why`: a clause."""

    reach: ImdsReach
    why: str


def imds_verdict(options: MetadataOptions | Unknown | None, hops: int) -> ImdsVerdict:
    """The access from `hops` hops away. Instances always have options: None is a response without them."""
    if options is None or isinstance(options, Unknown):
        return ImdsVerdict(ImdsReach.UNKNOWN, "its options were not told" if options is None else options.why)
    if options.pending:
        return ImdsVerdict(ImdsReach.UNKNOWN, "its options were changed, and EC2 has not applied them yet")
    if not options.endpoint:
        return ImdsVerdict(ImdsReach.UNREACHABLE, "its endpoint is disabled")
    limit = f"the hop limit is {options.hop_limit}"
    if options.hop_limit >= hops:
        return ImdsVerdict(ImdsReach.REACHABLE, f"{limit}, and {hops} {'is' if hops == 1 else 'are'} needed")
    if options.tokens == TOKENS_OPTIONAL:
        return ImdsVerdict(ImdsReach.V1_ONLY, f"{limit}, but {hops} are needed; IMDSv1 is allowed")
    return ImdsVerdict(ImdsReach.UNREACHABLE, f"{limit}, but {hops} are needed, and IMDSv2 is required")


class OptionsOrigin(str, Enum):
    """The source of an option at launch, in the order of precedence."""

    TEMPLATE = "the launch template"
    ACCOUNT = "the account's default"
    ACCOUNT_V2 = "the account's default of IMDSv2 (confidence: medium)"
    IMAGE = "the AMI (ImdsSupport v2.0)"
    EC2 = "EC2's own default"


@frozen
class _LaunchOption:
    """A value and its source; `origin` is None where the value is not known."""

    value: str | int | bool | Unknown
    origin: OptionsOrigin | None


@frozen
class LaunchOptions:
    """The metadata options of an instance that is launched now."""

    tokens: _LaunchOption
    hop_limit: _LaunchOption
    endpoint: _LaunchOption

    @property
    def options(self) -> MetadataOptions | Unknown:
        """All options, or why one is unknown."""
        for option in (self.tokens, self.hop_limit, self.endpoint):
            if isinstance(option.value, Unknown):
                return option.value
        return MetadataOptions(str(self.tokens.value), int(str(self.hop_limit.value)), bool(self.endpoint.value))


OptionsLayer = DeclaredMetadataOptions | Unknown

_EC2_DEFAULT = DeclaredMetadataOptions(TOKENS_OPTIONAL, 1, True, False)
_IMAGE_OPTIONS = DeclaredMetadataOptions(TOKENS_REQUIRED, 2)
_ACCOUNT_V2_HOPS = DeclaredMetadataOptions(hop_limit=2)
"""The hop limit with IMDSv2 as the account's default and no other hop limit (EC2 user guide, "Set IMDSv2 as the default
for the account")."""


_INSTANCE_FAMILY = re.compile(r"([a-z]+)(\d+)[a-z0-9-]*\.")


@frozen
class RecentFamily:
    """A family of instance types, below the eighth generation, from mid-2024 or later: ``c7i-flex``."""

    family: str
    source: KnowledgeSource


_RECENT_FAMILIES = records(RecentFamily, "instance_families")


def _default_of_type(instance_type: str) -> OptionsLayer:
    """EC2's own default. "The newly released instance types from mid-2024 use only IMDSv2 by default" (AWS news blog,
    November 2023; confidence medium); EC2 does not publish which types these are."""
    match = _INSTANCE_FAMILY.match(instance_type)
    if match is None or (
        int(match[2]) < 8 and not {match[0][:-1], match[1] + match[2]} & {*_RECENT_FAMILIES.by("family")}
    ):
        return _EC2_DEFAULT
    return Unknown(f"EC2's own default for {instance_type} is not published: types from mid-2024 on require IMDSv2")


def resolve_launch_options(
    template: OptionsLayer, account: OptionsLayer, image: Image | Unknown, instance_type: str = ""
) -> LaunchOptions:
    """Each option from the first layer that sets it: the template, the account's default, the AMI, EC2. An unknown
    layer makes only those options unknown that no layer above it sets.

    The order is that of the EC2 user guide (confidence medium: the API model mentions "other combinations").
    """
    image_layer: OptionsLayer = (
        image if isinstance(image, Unknown) else _IMAGE_OPTIONS if image.v2 else DeclaredMetadataOptions()
    )
    account_requires_v2 = isinstance(account, DeclaredMetadataOptions) and account.tokens == TOKENS_REQUIRED
    layers = (
        (OptionsOrigin.TEMPLATE, template),
        (OptionsOrigin.ACCOUNT, account),
        (OptionsOrigin.ACCOUNT_V2, _ACCOUNT_V2_HOPS if account_requires_v2 else DeclaredMetadataOptions()),
        (OptionsOrigin.IMAGE, image_layer),
        (OptionsOrigin.EC2, _default_of_type(instance_type)),
    )
    return LaunchOptions(
        _first_option(layers, "tokens"), _first_option(layers, "hop_limit"), _first_option(layers, "endpoint")
    )


def _first_option(layers: tuple[tuple[OptionsOrigin, OptionsLayer], ...], name: str) -> _LaunchOption:
    for origin, layer in layers:
        if isinstance(layer, Unknown):
            if origin is OptionsOrigin.IMAGE and name == "endpoint":
                continue  # no image sets it
            if origin is OptionsOrigin.EC2 and name == "endpoint":
                return _LaunchOption(True, origin)
            return _LaunchOption(layer, None)
        value = getattr(layer, name)
        if value not in (None, ""):
            return _LaunchOption(value, origin)
    raise AssertionError("EC2 says something of everything")


def eks_template_options(ami_type: str) -> DeclaredMetadataOptions | Unknown:
    """The options in the template that EKS creates for a managed node group without a custom template.

    AL2023: user guide, nodes/al2023 ("default hop count for managed node groups is set to 1"), hashicorp/aws #38516
    (confidence high). AL2: the same issue (medium). The user guide's page on launch templates says two hops for all,
    which is out of date. For other families nothing is published.
    """
    if ami_type.startswith("AL2023_"):
        return DeclaredMetadataOptions(TOKENS_REQUIRED, 1)
    if ami_type.startswith("AL2_"):
        return DeclaredMetadataOptions(TOKENS_OPTIONAL, 2)
    return Unknown(f"what EKS gives nodes of AMI type {ami_type or 'that is not known'} is not published")


AUTO_MODE_OPTIONS = DeclaredMetadataOptions(TOKENS_REQUIRED, 1)
"""Options of nodes that EKS Auto Mode creates (containers-roadmap #2633; confidence medium); they cannot be changed."""
