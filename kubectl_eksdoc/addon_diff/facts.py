"""What an update of an add-on is judged by, and what was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.manifests import NearestManifest
from kubectl_eksdoc.addon_diff.modes import Mode
from kubectl_eksdoc.addon_diff.schema.allowed import SchemaPaths
from kubectl_eksdoc.addon_diff.usage import Usage
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.addons import Addon
from kubectl_eksdoc.model.aws.clusters import EksCluster


@dataclass(frozen=True, slots=True)
class OfVersion:
    """A version of the add-on: what its chart sets by default, and what its schema allows."""

    version: str
    chart: Doc | Unknown
    schema: SchemaPaths | Unknown


@dataclass(frozen=True, slots=True)
class AddonFacts:
    """`values`: the configuration values of today. `objects` are live, with their managedFields; `unread` are those
    that could not be read, and why. `steps`: the version of each minor on the way, the target last; several where the
    add-on may not skip one. `offered`: whether EKS offers the target for this cluster. `installed`: EKS manages it
    already; where it does not, `addon` and `now` have no version, and none of its objects need be there. `manifest`:
    the target's, as a user gives it."""

    cluster: EksCluster
    addon: Addon
    now: OfVersion
    target: OfVersion
    values: Doc | Unknown
    objects: tuple[Doc, ...]
    unread: tuple[tuple[ObjectName, Unknown], ...]
    usage: Usage
    offered: bool | Unknown = True
    steps: tuple[str, ...] = ()
    installed: bool = True
    manifest: NearestManifest | None = None


@dataclass(frozen=True, slots=True)
class AddonUpdateRequest:
    """`values`: those that the call gives, None where it gives none and EKS keeps today's. `manifest`: what the target
    version applies, as a user has rendered it; None where nobody gives one."""

    mode: Mode = Mode.NONE
    values: Doc | None = None
    manifest: NearestManifest | None = None
