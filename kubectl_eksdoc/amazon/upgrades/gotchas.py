"""What the release notes of a version warn of, and whom each warning concerns, so that a cluster can be asked.

Removed APIs, add-ons, sockets and AMIs have tables of their own here; a warning about one of them points there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.amazon.upgrades.sourced import beyond, minor_of
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, read_to, records
from kubectl_eksdoc.model.versions import Version


class ConcernedObjects(str, Enum):
    """What `ReleaseNoteConcern.names` are names of, and so where to look whether a cluster is concerned."""

    EVERYBODY = "everybody"  # nothing tells who is concerned
    KIND = "kind"  # ``Kind.group``, of the core group ``Kind``; in spec
    FIELD = "field"  # ``Kind path``: objects of the kind that have the field
    IMAGE = "image"  # ends of images' repositories
    SOFTWARE = "software"  # a name in `software.SOFTWARE`
    NODE_FLAG = "node flag"  # of the kubelet or the bootstrap script: in user data and AMIs, not in the cluster
    AMI = "AMI"  # a name of `amis.Family`
    INSTANCE = "instance type"  # how its name begins
    ANNOTATION = "annotation"  # of pods
    CONFIG = "config"  # ``namespace/ConfigMap``
    CLIENT = "client"  # a library or program outside the cluster or in images, not to be seen from the API
    IAM = "IAM action"


class UpgradeHalf(str, Enum):
    """Which half of an upgrade brings it."""

    CONTROL_PLANE = "the control plane gets the version"
    NODES = "nodes get the version"
    NEW_GROUPS = "a node group is made at the version"


@dataclass(frozen=True, slots=True)
class ReleaseNoteConcern:
    about: ConcernedObjects
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownReleaseNote:
    """`id` is for code and tests; `what` a sentence; `do` what to do before, a sentence."""

    id: str
    version: Version
    when: UpgradeHalf
    what: str
    do: str
    concerns: tuple[ReleaseNoteConcern, ...]
    source: KnowledgeSource


RELEASE_NOTES = records(KnownReleaseNote, "release_notes")
"""The oldest first."""


def on_the_way(now: Version, target: Version, when: UpgradeHalf) -> tuple[KnownReleaseNote, ...]:
    """Those that `when` brings from `now`, exclusive, to `target`. For nodes `now` is the version of their kubelets."""
    here, there = minor_of(now), minor_of(target)
    return tuple(
        each for each in RELEASE_NOTES if each.when is when and here < each.version and not there < each.version
    )


READ_TO = read_to("release_notes")
"""The last version whose notes were read."""


def unread(target: Version) -> Unknown | None:
    """That the notes up to `target` were not all read; None where they were."""
    return beyond(target, READ_TO, "the table of release notes")
