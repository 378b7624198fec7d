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
from kubectl_eksdoc.model.machines import Image, MetadataOptions, SaidOptions

REQUIRED, OPTIONAL = "required", "optional"
HOST, POD, NESTED = 1, 2, 3
"""Hops to IMDS: from the node itself, from a pod's network namespace, from a network namespace inside a pod."""


class Reach(str, Enum):
    """Whether requests reach IMDS."""

    REACHABLE = "reachable"
    V1_ONLY = "v1 only"  # the token response is lost; requests without a token are answered
    CUT_OFF = "unreachable"
    UNKNOWN = "unknown"


@frozen
class ImdsVerdict:
    """`why`: a clause."""

    reach: Reach
    why: str


def verdict(options: MetadataOptions | Unknown | None, hops: int) -> ImdsVerdict:
    """The access from `hops` hops away. Instances always have options: None is a response without them."""
    if options is None or isinstance(options, Unknown):
        return ImdsVerdict(Reach.UNKNOWN, "its options were not told" if options is None else options.why)
    if options.pending:
        return ImdsVerdict(Reach.UNKNOWN, "its options were changed, and EC2 has not applied them yet")
    if not options.endpoint:
        return ImdsVerdict(Reach.CUT_OFF, "its endpoint is disabled")
    limit = f"the hop limit is {options.hop_limit}"
    if options.hop_limit >= hops:
        return ImdsVerdict(Reach.REACHABLE, f"{limit}, and {hops} {'is' if hops == 1 else 'are'} needed")
    if options.tokens == OPTIONAL:
        return ImdsVerdict(Reach.V1_ONLY, f"{limit}, but {hops} are needed; IMDSv1 is allowed")
    return ImdsVerdict(Reach.CUT_OFF, f"{limit}, but {hops} are needed, and IMDSv2 is required")


class OptionsOrigin(str, Enum):
    """The source of an option at launch, in the order of precedence."""

    TEMPLATE = "the launch template"
    ACCOUNT = "the account's default"
    ACCOUNT_V2 = "the account's default of IMDSv2 (confidence: medium)"
    IMAGE = "the AMI (ImdsSupport v2.0)"
    EC2 = "EC2's own default"


@frozen
class _Said:
    """A value and its source; `origin` is None where the value is not known."""

    value: str | int | bool | Unknown
    origin: OptionsOrigin | None


@frozen
class Launch:
    """The metadata options of an instance that is launched now."""

    tokens: _Said
    hop_limit: _Said
    endpoint: _Said

    @property
    def options(self) -> MetadataOptions | Unknown:
        """All options, or why one is unknown."""
        for said in (self.tokens, self.hop_limit, self.endpoint):
            if isinstance(said.value, Unknown):
                return said.value
        return MetadataOptions(str(self.tokens.value), int(str(self.hop_limit.value)), bool(self.endpoint.value))


Layer = SaidOptions | Unknown

_OF_EC2 = SaidOptions(OPTIONAL, 1, True, False)
_OF_IMAGE = SaidOptions(REQUIRED, 2)
_HOPS_OF_V2 = SaidOptions(hop_limit=2)
"""The hop limit with IMDSv2 as the account's default and no other hop limit (EC2 user guide, "Set IMDSv2 as the default
for the account")."""


_FAMILY = re.compile(r"([a-z]+)(\d+)[a-z0-9-]*\.")


@frozen
class RecentFamily:
    """A family of instance types, below the eighth generation, from mid-2024 or later: ``c7i-flex``."""

    family: str
    source: KnowledgeSource


_RECENT = records(RecentFamily, "instance_families")


def _of_type(instance_type: str) -> Layer:
    """EC2's own default. "The newly released instance types from mid-2024 use only IMDSv2 by default" (AWS news blog,
    November 2023; confidence medium); EC2 does not publish which types these are."""
    found = _FAMILY.match(instance_type)
    if found is None or (int(found[2]) < 8 and not {found[0][:-1], found[1] + found[2]} & {*_RECENT.by("family")}):
        return _OF_EC2
    return Unknown(f"EC2's own default for {instance_type} is not published: types from mid-2024 on require IMDSv2")


def launch(template: Layer, account: Layer, image: Image | Unknown, instance_type: str = "") -> Launch:
    """Each option from the first layer that sets it: the template, the account's default, the AMI, EC2. An unknown
    layer makes only those options unknown that no layer above it sets.

    The order is that of the EC2 user guide (confidence medium: the API model mentions "other combinations").
    """
    of_image: Layer = image if isinstance(image, Unknown) else _OF_IMAGE if image.v2 else SaidOptions()
    v2 = isinstance(account, SaidOptions) and account.tokens == REQUIRED
    layers = (
        (OptionsOrigin.TEMPLATE, template),
        (OptionsOrigin.ACCOUNT, account),
        (OptionsOrigin.ACCOUNT_V2, _HOPS_OF_V2 if v2 else SaidOptions()),
        (OptionsOrigin.IMAGE, of_image),
        (OptionsOrigin.EC2, _of_type(instance_type)),
    )
    return Launch(_first(layers, "tokens"), _first(layers, "hop_limit"), _first(layers, "endpoint"))


def _first(layers: tuple[tuple[OptionsOrigin, Layer], ...], name: str) -> _Said:
    for origin, layer in layers:
        if isinstance(layer, Unknown):
            if origin is OptionsOrigin.IMAGE and name == "endpoint":
                continue  # no image sets it
            if origin is OptionsOrigin.EC2 and name == "endpoint":
                return _Said(True, origin)
            return _Said(layer, None)
        value = getattr(layer, name)
        if value not in (None, ""):
            return _Said(value, origin)
    raise AssertionError("EC2 says something of everything")


def of_group_by_eks(ami_type: str) -> SaidOptions | Unknown:
    """The options in the template that EKS creates for a managed node group without a template of its own.

    AL2023: user guide, nodes/al2023 ("default hop count for managed node groups is set to 1"), hashicorp/aws #38516
    (confidence high). AL2: the same issue (medium). The user guide's page on launch templates says two hops for all,
    which is out of date. For other families nothing is published.
    """
    if ami_type.startswith("AL2023_"):
        return SaidOptions(REQUIRED, 1)
    if ami_type.startswith("AL2_"):
        return SaidOptions(OPTIONAL, 2)
    return Unknown(f"what EKS gives nodes of AMI type {ami_type or 'that is not known'} is not published")


AUTO_MODE = SaidOptions(REQUIRED, 1)
"""Options of nodes that EKS Auto Mode creates (containers-roadmap #2633; confidence medium); they cannot be changed."""
