"""What AWS says of an upgrade: supported versions, add-ons and their versions.

Source of the shapes: botocore 1.44.5, eks/2017-11-01.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.addons import Addon, AddonVersions
from kubectl_eksdoc.core.model.aws.clusters import ClusterVersion

NOT_ASKED = Unknown("it was not asked for")


@dataclass(frozen=True, slots=True)
class UpgradeTold:
    """Each answer, or why there is none. `addon_versions`: of the installed add-ons by their names."""

    versions: tuple[ClusterVersion, ...] | Unknown = NOT_ASKED
    addons: tuple[Addon | Unknown, ...] | Unknown = NOT_ASKED
    addon_versions: Mapping[str, AddonVersions | Absent | Unknown] = field(default_factory=dict)
