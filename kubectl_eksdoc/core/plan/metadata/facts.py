"""What the metadata service of nodes is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.aws.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.machines import (
    Image,
    Instance,
    NodeGroup,
    SaidOptions,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.core.model.cluster import Cluster


@dataclass(frozen=True, slots=True)
class MetadataFacts:
    """Whatever is asked for by name: what is not in it was not asked for, and is unknown."""

    cluster: Cluster
    instances: Mapping[str, Instance | Absent | Unknown] = field(default_factory=dict)
    node_groups: Mapping[str, NodeGroup | Absent | Unknown] = field(default_factory=dict)
    scaling_groups: Mapping[str, ScalingGroup | Absent | Unknown] = field(default_factory=dict)
    templates: Mapping[TemplateRef, TemplateVersion | Absent | Unknown] = field(default_factory=dict)
    images: Mapping[str, Image | Absent | Unknown] = field(default_factory=dict)
    account: SaidOptions | Unknown = field(default=Unknown("the account's defaults were not asked for"))
