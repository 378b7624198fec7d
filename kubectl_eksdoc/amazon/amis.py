"""AMI families and release notes: last Kubernetes version of each family, cgroup version, containerd, and how a node
group changes its AMI.

Sources: botocore 1.44.5 eks (AMITypes, UpdateNodegroupVersionRequest); EKS user guide, kubernetes-versions,
nodes/al2023, eks-ami-deprecation-faqs, launch-templates; Kubernetes release notes of 1.26, 1.35 and 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, last_kubernetes_read, records, rule_basis
from kubectl_eksdoc.model.quantities import Version, parse_version

from .versions import Fit, SourcedVerdict, beyond_table, format_version, minor_of


class AmiFamily(str, Enum):
    AL2 = "AL2"
    AL2023 = "AL2023"
    BOTTLEROCKET = "Bottlerocket"
    WINDOWS = "Windows"
    UBUNTU = "Ubuntu"
    UNKNOWN = "unknown"  # a custom AMI (CUSTOM), or a name that is not known here


CUSTOM = "CUSTOM"


class Cgroup(str, Enum):
    V1 = "v1"
    V2 = "v2"


@frozen
class AmiFamilyInfo:
    """An AMI family. `type_prefix`: of amiTypes, `any_type`: one of them; `os_image`: a pattern. `last`: the last
    version that EKS publishes an AMI for, with no new ones since `ended`; None while it continues. `cgroup` is
    None where it depends on the release. `parameters` of Systems Manager, by amiType, have the recommended release."""

    family: AmiFamily
    name: str
    os_image: str
    source: KnowledgeSource
    type_prefix: str = ""
    any_type: str = ""
    last: Version | None = None
    ended: date | None = None
    cgroup: Cgroup | None = None
    parameters: tuple[tuple[str, str], ...] = ()


AMIS = {each.family: each for each in records(AmiFamilyInfo, "amis")}
_FAMILY_BY_TYPE_PREFIX = tuple((each.type_prefix, each.family) for each in AMIS.values() if each.type_prefix)
_FAMILY_BY_OS_PATTERN = tuple((re.compile(each.os_image), each.family) for each in AMIS.values())


def family_of_type(ami_type: str) -> AmiFamily:
    """The family of a managed node group's amiType: ``AL2023_x86_64_STANDARD``."""
    return next((family for start, family in _FAMILY_BY_TYPE_PREFIX if ami_type.startswith(start)), AmiFamily.UNKNOWN)


def family_of_os(os_image: str) -> AmiFamily:
    """The family of a node's ``status.nodeInfo.osImage``: ``Amazon Linux 2023.7.20250609``."""
    return next((family for pattern, family in _FAMILY_BY_OS_PATTERN if pattern.match(os_image)), AmiFamily.UNKNOWN)


AL2_INFO = AMIS[AmiFamily.AL2]


def dockershim_removed_in() -> Version:
    """The version since which nodes, or AMIs for it, have no Docker."""
    return rule_basis("dockershim").since


def is_ami_offered(family: AmiFamily, kubernetes: Version) -> SourcedVerdict:
    """Whether EKS publishes an AMI of that family for that version."""
    info = AMIS.get(family)
    if info is not None and info.last is not None:
        last_text = f"the last AMI of {info.name} is for {format_version(info.last)}"
        if minor_of(kubernetes) > info.last:
            return SourcedVerdict(Fit.TOO_OLD, last_text, info.source)
        return SourcedVerdict(Fit.FITS, f"{last_text}; none has been published since {info.ended}", info.source)
    if info is not None and info.type_prefix:
        return SourcedVerdict(Fit.FITS, f"EKS publishes AMIs of {family.value} for its versions", info.source)
    publisher = "Canonical publishes it" if family is AmiFamily.UBUNTU else "it is an AMI of the owner's own"
    return SourcedVerdict(Fit.UNKNOWN, f"{publisher}: which versions it is made for is not known to EKS")


def no_ami_reason(os_images: Iterable[str], cluster: Cluster) -> str:
    """Why EKS publishes no AMI of the nodes' families for the cluster's version, so that an update of their group
    cannot bring newer ones, a clause; "" where it does, or it is not known. Where the server version is not known, it
    is at least that of the newest kubelet. Source: kubernetes.io, Version Skew Policy."""
    kubelets = (node.kubelet for node in cluster.nodes if node.kubelet is not None)
    version = parse_version(cluster.identity.server_version) or max(kubelets, key=minor_of, default=None)
    if version is None:
        return ""
    verdicts = (is_ami_offered(family, version) for family in sorted(set(map(family_of_os, os_images))))
    return next((each.reason for each in verdicts if each.fit is Fit.TOO_OLD), "")


def cgroup_version(family: AmiFamily) -> Cgroup | Unknown:
    """The default cgroup version of a family's AMIs; user data may change it. Windows has none."""
    version = AMIS[family].cgroup if family in AMIS else None
    reason = f"which cgroup version nodes of family {family.value} have depends on their release"
    return version or Unknown(reason)


def check_cgroup(family: AmiFamily, kubelet: Version, fargate: bool = False) -> SourcedVerdict:
    """Whether a kubelet of that version starts there. Fargate nodes still run with cgroup v1 at 1.35."""
    rule = rule_basis("cgroup-v1")
    source, since = rule.source, format_version(rule.since)
    if minor_of(kubelet) < rule.since:
        return SourcedVerdict(Fit.FITS, f"kubelets before {since} start with cgroup v1 too", source)
    if fargate or family is AmiFamily.BOTTLEROCKET:
        platform = "Fargate" if fargate else "Bottlerocket"
        return SourcedVerdict(
            Fit.FITS, f"{platform} lets its kubelet start with cgroup v1 (failCgroupV1: false)", source
        )
    if family is AmiFamily.WINDOWS:
        return SourcedVerdict(Fit.FITS, "Windows has no cgroups", source)
    version = cgroup_version(family)
    if isinstance(version, Unknown):
        return SourcedVerdict(Fit.UNKNOWN, version.why, source)
    if version is Cgroup.V2:
        return SourcedVerdict(Fit.FITS, f"{family.value} has cgroup v2", source)
    return SourcedVerdict(
        Fit.TOO_OLD, f"{family.value} has cgroup v1, with which kubelets of {since} do not start", source
    )


def check_runtime(runtime: str, kubelet: Version) -> SourcedVerdict:
    """Whether a kubelet of that version runs with the runtime. `runtime`: a node's ``containerRuntimeVersion``, as in
    ``containerd://1.7.27``; a new AMI brings its own."""
    name, separator, text = runtime.partition("://")
    version, kubelet_minor = parse_version(text), minor_of(kubelet)
    if name == "docker" and separator:
        removed_in, source = dockershim_removed_in(), rule_basis("dockershim").source
        if not kubelet_minor < removed_in:
            return SourcedVerdict(
                Fit.TOO_OLD, f"Docker is no runtime of a kubelet from {format_version(removed_in)} on", source
            )
        return SourcedVerdict(Fit.FITS, f"kubelets before {format_version(removed_in)} run with Docker", source)
    if name != "containerd" or version is None:
        return SourcedVerdict(Fit.UNKNOWN, f'"{runtime}" is no runtime that is known here')
    containerd_2, cri_v1_rule, version_text = (
        rule_basis("containerd/2"),
        rule_basis("containerd/cri-v1"),
        format_version(version),
    )
    if not kubelet_minor < containerd_2.since and version < containerd_2.at_least:
        last_minor = Version(containerd_2.since.major, containerd_2.since.minor - 1)
        reason = f"{format_version(last_minor)} is the last with containerd 1.x, it is {version_text}"
        return SourcedVerdict(Fit.TOO_OLD, reason, containerd_2.source)
    if not kubelet_minor < cri_v1_rule.since and version < cri_v1_rule.at_least:
        reason = f"containerd {format_version(cri_v1_rule.at_least)} or newer is needed, it is {version_text}"
        return SourcedVerdict(Fit.TOO_OLD, reason, cri_v1_rule.source)
    rule = cri_v1_rule if kubelet_minor < containerd_2.since else containerd_2
    return SourcedVerdict(Fit.FITS, f"containerd {version_text} will do", rule.source)


class GroupUpdateKind(str, Enum):
    """How a managed node group is upgraded to a version."""

    IN_PLACE = "update the group: it replaces its nodes by itself"
    NEW_GROUP = "make a new group and drain the old one: an update cannot change the amiType"
    TEMPLATE = "put an AMI of that version into a new version of its launch template, and update the group to that"
    UNKNOWN = "unknown"


@frozen
class AmiChange:
    kind: GroupUpdateKind
    reason: str
    source: KnowledgeSource


def choose_ami_change(ami_type: str, kubernetes: Version, own_image: bool | None = False) -> AmiChange:
    """The kind of update for a group of that amiType. `own_image`: its launch template names an AMI, None if that is
    not known; then an update may set neither version nor release."""
    source = rule_basis("group-update").source
    if own_image or ami_type == CUSTOM:
        return AmiChange(GroupUpdateKind.TEMPLATE, "its launch template names the AMI", source)
    family = family_of_type(ami_type)
    verdict = is_ami_offered(family, kubernetes)
    if verdict.fit is Fit.TOO_OLD:
        return AmiChange(
            GroupUpdateKind.NEW_GROUP, f"{verdict.reason}; {GroupUpdateKind.NEW_GROUP.value}", verdict.source or source
        )
    if own_image is None:
        return AmiChange(GroupUpdateKind.UNKNOWN, "whether its launch template names an AMI is not known", source)
    if family is AmiFamily.UNKNOWN:
        return AmiChange(GroupUpdateKind.UNKNOWN, f'"{ami_type}" is no amiType that is known here', source)
    return AmiChange(
        GroupUpdateKind.IN_PLACE, f"EKS has AMIs of {family.value} for {format_version(minor_of(kubernetes))}", source
    )


# Warnings in the release notes of a version, and the objects that each one concerns, to be compared with a cluster.
#
# Removed APIs, add-ons, sockets and AMIs have tables of their own; a warning about one of them refers to its table.


class ConcernedObjects(str, Enum):
    """The kind of the names in `ReleaseNoteConcern.names`, and so where to look whether a cluster is concerned."""

    EVERYBODY = "everybody"  # no object shows who is concerned
    KIND = "kind"  # ``Kind.group``, of the core group ``Kind``; in spec
    FIELD = "field"  # ``Kind path``: objects of the kind that have the field
    IMAGE = "image"  # suffixes of image repositories
    SOFTWARE = "software"  # a name in `addon_needs.UPGRADE_SOFTWARE`
    NODE_FLAG = "node flag"  # of the kubelet or the bootstrap script: in user data and AMIs, not in the cluster
    AMI = "AMI"  # a name of `amis.AmiFamily`
    INSTANCE = "instance type"  # prefixes of types
    ANNOTATION = "annotation"  # of pods
    CONFIG = "config"  # ``namespace/ConfigMap``
    CLIENT = "client"  # a library or program outside the cluster or in images, not visible in the API
    IAM = "IAM action"


class UpgradeHalf(str, Enum):
    """The half of an upgrade that brings the change."""

    CONTROL_PLANE = "the control plane gets the version"
    NODES = "nodes get the version"
    NEW_GROUPS = "a node group is made at the version"


class NoteEffect(str, Enum):
    """The effect of the version on the objects that it concerns."""

    BREAKS = "breaks"
    UNSURE = "unsure"  # only on some of them, and the observed facts do not show which
    LATER = "later"  # none now: it is deprecated, or is only information


@frozen
class ReleaseNoteConcern:
    about: ConcernedObjects
    names: tuple[str, ...] = ()


@frozen
class KnownReleaseNote:
    """`id`: for code and tests; `what`: a sentence; `do`: what to do before, a sentence."""

    id: str
    version: Version
    when: UpgradeHalf
    what: str
    do: str
    concerns: tuple[ReleaseNoteConcern, ...]
    source: KnowledgeSource
    effect: NoteEffect = NoteEffect.BREAKS


RELEASE_NOTES = records(KnownReleaseNote, "release_notes")
"""Release notes, the oldest first."""


def notes_between(current: Version, target: Version, when: UpgradeHalf) -> tuple[KnownReleaseNote, ...]:
    """The notes that `when` brings after `current` up to `target`. For nodes `current` is their kubelets' version."""
    current_minor, target_minor = minor_of(current), minor_of(target)
    return tuple(
        each
        for each in RELEASE_NOTES
        if each.when is when and current_minor < each.version and not target_minor < each.version
    )


NOTES_READ_TO = last_kubernetes_read("release_notes")
"""The last version whose release notes were read."""


def notes_not_read(target: Version) -> Unknown | None:
    """Unknown if the notes up to `target` were not all read; None if they were."""
    return beyond_table(target, NOTES_READ_TO, "the table of release notes")
