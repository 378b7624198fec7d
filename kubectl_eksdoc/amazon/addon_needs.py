"""Add-ons and other cluster software: recognition by image or label, compatibility with Kubernetes, and update order.

Neither "add-ons last" nor "add-ons first" is right for all software: the known requirements decide for each one. For
EKS add-ons, DescribeAddonVersions is more complete than any table here (`amazon.versions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeVar

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records, rule_basis, sections
from kubectl_eksdoc.model.quantities import Version, parse_version

from .removed_apis import CUSTOM_APIS
from .versions import Fit, SourcedVerdict, format_version, kube_proxy_skew, minor_of

# Container image references: the last part of the repository, and the version in the tag.
#
# Source of the format: distribution/reference, reference.go (domain/path:tag@digest).


_T = TypeVar("_T")


def image_repository(image: str) -> str:
    """The repository without registry, tag and digest: ``argoproj/argocd`` of ``quay.io/argoproj/argocd:v3.1.0``."""
    path = _without_tag(image)
    first, slash, rest = path.partition("/")
    registry = slash and ("." in first or ":" in first or first == "localhost")
    return rest if registry else path


def lookup_by_image(table: Mapping[str, _T], image: str) -> _T | None:
    """A value of a table by repository suffixes, in complete parts: ``argoproj/argocd``, ``coredns``."""
    parts = image_repository(image).split("/")
    suffixes = ("/".join(parts[at:]) for at in range(len(parts)))
    return next((table[end] for end in suffixes if end in table), None)


def image_tag(image: str) -> str:
    """The tag; "" without one."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]


def image_version(image: str) -> Version | Unknown:
    """The version in the tag: ``v1.12.6-eksbuild.1``, ``2.4.7``; Unknown for others (``latest``, a commit, none)."""
    tag = image_tag(image)
    if not tag:
        return Unknown(f"the image {image} has no tag")
    return parse_version(tag) or Unknown(f'the tag "{tag}" of the image is no version')


def _without_tag(image: str) -> str:
    path = image.partition("@")[0]
    parent, slash, name = path.rpartition("/")
    return f"{parent}{slash}{name.partition(':')[0]}"


# Software of a cluster: add-ons of EKS, controllers and agents; how each is recognised, and where its version is.
#
# Images are the first choice, because labels differ between charts. Software that is not in knowledge/software.json is
# not known to matter; it may matter all the same.


@frozen
class SoftwareRole:
    """Its role for pods that are created again; `effect`: a clause on the time without it, with its severity."""

    what: str
    severity: Severity
    effect: str


@frozen
class Software:
    """`eks_addon`: EKS has an add-on of that name, with the purpose `about`. `images`: suffixes of repositories, in
    complete parts (``karpenter/controller``). `labels`: of its pods; each identifies it (`software_of_labels`).
    `replacements_need`: None where pods that are created again do not need it; `controller_labels`: more labels that
    identify it in that case. `upgrades`: its version matters for an upgrade. `variable`: an environment variable of the
    container that has its version instead of the tag."""

    name: str
    source: KnowledgeSource
    eks_addon: bool = False
    about: str = ""
    images: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    controller_labels: tuple[tuple[str, str], ...] = ()
    replacements_need: SoftwareRole | None = None
    upgrades: bool = False
    variable: str = ""

    @property
    def addon(self) -> str:
        """The name of its EKS add-on, "" if there is none."""
        return self.name if self.eks_addon else ""


KNOWN_SOFTWARE = records(Software, "software")
UPGRADE_SOFTWARE = tuple(each for each in KNOWN_SOFTWARE if each.upgrades)
"""Software whose version matters for an upgrade."""

SOFTWARE_BY_NAME = {each.name: each for each in UPGRADE_SOFTWARE}
VPC_CNI, KUBE_PROXY, COREDNS = SOFTWARE_BY_NAME["vpc-cni"], SOFTWARE_BY_NAME["kube-proxy"], SOFTWARE_BY_NAME["coredns"]
CLUSTER_AUTOSCALER = SOFTWARE_BY_NAME["cluster-autoscaler"]
_SOFTWARE_BY_IMAGE = {image: each for each in UPGRADE_SOFTWARE for image in each.images}


def software_of_image(image: str) -> Software | None:
    """The software of a container image; None where the image is not recognised."""
    return lookup_by_image(_SOFTWARE_BY_IMAGE, image)


def software_of_labels(labels: Mapping[str, str]) -> Software | None:
    """The software of a pod by its labels, for images that are not recognised (a mirror under other names). It does not
    show which container has the version: sidecars have others."""
    index = min((_INDEX_BY_LABEL[pair] for pair in labels.items() if pair in _INDEX_BY_LABEL), default=None)
    return None if index is None else UPGRADE_SOFTWARE[index]


_INDEX_BY_LABEL = {pair: place for place, each in reversed([*enumerate(UPGRADE_SOFTWARE)]) for pair in each.labels}
"""The first in `UPGRADE_SOFTWARE` with that label, indexed because every pod of a cluster is looked up here."""


def installed_version(software: Software, image: str, variables: Mapping[str, str] | None = None) -> Version | Unknown:
    """The version of a container with that image and these environment variables (at least `variable`)."""
    if not software.variable:
        return image_version(image)
    value = (variables or {}).get(software.variable, "")
    if not value:
        return Unknown(f"its variable {software.variable}, which tells its version, is not known")
    return parse_version(value.rpartition("/")[2]) or Unknown(
        f'its variable {software.variable} is "{value}", no version'
    )


# Version requirements, and the order of updates.


AL2023_FAMILY = "AL2023"

InstalledVersion = Version | Unknown | None
"""None: it is not in the cluster, and all lists that would show it were read."""


class SupportPromise(str, Enum):
    """What the vendor promises for the Kubernetes versions in a row."""

    SUPPORTED = "supported"  # other versions are not supported
    TESTED = "tested"  # no statement about other versions
    NONE = "none"  # the vendor publishes no table


@frozen
class _Row:
    """Valid from version `since` until the next row. `newest` is None for an open range (``1.34+``)."""

    since: Version
    oldest: Version
    newest: Version | None


@frozen
class CompatibilityTable:
    """The Kubernetes versions that each version of the software `name` supports, as its vendor publishes it. `rows`:
    the oldest first."""

    name: str
    promise: SupportPromise
    rows: tuple[_Row, ...]
    source: KnowledgeSource

    @property
    def last_software_minor(self) -> Version:
        """The last minor version of the software in the table."""
        return minor_of(self.rows[-1].since)

    @property
    def last_kubernetes(self) -> Version:
        """The last Kubernetes version in the table."""
        return max((row.newest or row.oldest for row in self.rows), key=lambda each: (each.major, each.minor))


TABLES = sections(CompatibilityTable, "software", "compatibility")


def _compatibility_table(software: Software, extra_tables: Iterable[CompatibilityTable]) -> CompatibilityTable | None:
    """The table of the software, from `extra_tables` before those of the package."""
    return next((each for each in extra_tables if each.name == software.name), None) or TABLES.by("name").get(
        software.name
    )


@frozen
class VersionRequirement:
    """The software `name` must be installed, in version `at_least` or newer (None: any), before the control plane gets
    `kubernetes`, or where that is None before there are nodes of the family `nodes`. `only_if`: a condition, "" for no
    condition."""

    name: str
    reason: str
    source: KnowledgeSource
    at_least: Version | None = None
    kubernetes: Version | None = None
    nodes: str = ""
    only_if: str = ""


VERSION_REQUIREMENTS = sections(VersionRequirement, "software", "needs")


def requirements(
    software: Software, current: Version, step: Version, nodes: str = ""
) -> tuple[VersionRequirement, ...]:
    """The requirements of the step from `current` to `step`, and of nodes of that family. A cluster that has passed a
    version has met its requirements."""
    return tuple(
        each
        for each in VERSION_REQUIREMENTS
        if each.name == software.name and _applies_to_step(each, current, step, nodes)
    )


def check_requirement(requirement: VersionRequirement, installed: InstalledVersion) -> SourcedVerdict:
    """Whether the installed version meets the requirement."""
    if installed is None:
        is_required = requirement.at_least is None
        reason = f"{requirement.name} is not installed"
        return SourcedVerdict(
            Fit.ABSENT if is_required else Fit.FITS,
            f"{reason}: {requirement.reason}" if is_required else reason,
            requirement.source,
        )
    if requirement.at_least is None:
        return SourcedVerdict(Fit.FITS, f"{requirement.name} is installed", requirement.source)
    if isinstance(installed, Unknown):
        return SourcedVerdict(Fit.UNKNOWN, installed.why, requirement.source)
    if installed.patch is None and requirement.at_least.patch and minor_of(installed) == minor_of(requirement.at_least):
        reason = f"only {format_version(installed)} is told, and {format_version(requirement.at_least)} is needed"
        return SourcedVerdict(Fit.UNKNOWN, reason, requirement.source)
    if installed < requirement.at_least:
        reason = (
            f"{format_version(requirement.at_least)} or newer is needed, it is "
            f"{format_version(installed)}: {requirement.reason}"
        )
        return SourcedVerdict(Fit.TOO_OLD, reason, requirement.source)
    return SourcedVerdict(
        Fit.FITS,
        f"{format_version(requirement.at_least)} or newer is needed, it is {format_version(installed)}",
        requirement.source,
    )


def check_compatibility(
    software: Software, version: Version | Unknown, kubernetes: Version, extra_tables: Sequence[CompatibilityTable] = ()
) -> SourcedVerdict:
    """Whether that version supports that Kubernetes version, by the vendor's table. `extra_tables`: take precedence
    over those of the package."""
    if isinstance(version, Unknown):
        return SourcedVerdict(Fit.UNKNOWN, version.why)
    if software == KUBE_PROXY:
        return kube_proxy_skew(kubernetes, version)
    if software == CLUSTER_AUTOSCALER:
        is_same_minor = minor_of(version) == minor_of(kubernetes)
        reason = "its minor is to be that of the control plane"
        return SourcedVerdict(
            Fit.FITS if is_same_minor else Fit.UNTESTED,
            f"{reason}, it is {format_version(version)}",
            rule_basis("autoscaler-minor").source,
        )
    table = _compatibility_table(software, extra_tables)
    if table is None:
        return SourcedVerdict(Fit.UNKNOWN, f"no table of Kubernetes versions is known for {software.name}")
    return _check_table(table, version, kubernetes)


def compatible_versions(
    software: Software, kubernetes: Sequence[Version], extra_tables: Sequence[CompatibilityTable] = ()
) -> tuple[Version, ...]:
    """The versions of its table that support all of these, the oldest first; each stands for all up to the next row."""
    table = _compatibility_table(software, extra_tables)
    rows = table.rows if table is not None else ()
    return tuple(row.since for row in rows if all(_covers_version(row, minor_of(each)) for each in kubernetes))


class UpdatePosition(str, Enum):
    """The position of an update within one upgrade step."""

    BEFORE_CONTROL_PLANE = "before the control plane"
    AFTER_CONTROL_PLANE = "after the control plane"
    BEFORE_NODES = "before the nodes"
    NO_ORDER = "at any time"
    NO_PROMISE = "no promise"  # the vendor has tested other versions of Kubernetes, or publishes none
    UNKNOWN = "unknown"


@frozen
class UpdateOrder:
    """`to_version`: at least this version, None where none is known. `only_if`: a condition, "" for no condition."""

    position: UpdatePosition
    reason: str
    to_version: Version | None = None
    source: KnowledgeSource | None = None
    only_if: str = ""

    def is_reached(self, installed: InstalledVersion) -> bool:
        """Whether the installed version is `to_version`, or newer."""
        return self.to_version is not None and isinstance(installed, Version) and not installed < self.to_version


def update_order(
    software: Software,
    installed: InstalledVersion,
    current: Version,
    step: Version,
    nodes: str = "",
    extra_tables: Sequence[CompatibilityTable] = (),
) -> UpdateOrder:
    """The position of its update in the step from `current` to the next minor `step`. `nodes`: the family of the nodes
    that come after it (AL2023; "" for the present ones). The caller decides whether an `only_if` condition holds."""
    if software == KUBE_PROXY:
        reason = "it must never be newer than the control plane"
        return UpdateOrder(
            UpdatePosition.AFTER_CONTROL_PLANE, reason, minor_of(step), rule_basis("kube-proxy-order").source
        )
    if software == CLUSTER_AUTOSCALER:
        reason = "its minor follows that of the control plane"
        return UpdateOrder(
            UpdatePosition.AFTER_CONTROL_PLANE, reason, minor_of(step), rule_basis("autoscaler-minor").source
        )
    return _order_by_requirements(software, installed, (current, step), nodes) or _order_by_table(
        software, installed, current, step, extra_tables
    )


def _order_by_requirements(
    software: Software, installed: InstalledVersion, step: tuple[Version, Version], nodes: str
) -> UpdateOrder | None:
    """By the first requirement that is not met; updates before the control plane come before those for nodes."""
    for requirement in sorted(
        requirements(software, *step, nodes), key=lambda each: (each.kubernetes is None, _strictness(each))
    ):
        verdict = check_requirement(requirement, installed)
        if verdict.fit is Fit.FITS:
            continue
        if verdict.fit is Fit.UNKNOWN:
            return UpdateOrder(
                UpdatePosition.UNKNOWN, verdict.reason, requirement.at_least, requirement.source, requirement.only_if
            )
        position = (
            UpdatePosition.BEFORE_NODES if requirement.kubernetes is None else UpdatePosition.BEFORE_CONTROL_PLANE
        )
        return UpdateOrder(position, verdict.reason, requirement.at_least, requirement.source, requirement.only_if)
    return None


def _order_by_table(
    software: Software,
    installed: InstalledVersion,
    current: Version,
    step: Version,
    extra_tables: Sequence[CompatibilityTable],
) -> UpdateOrder:
    if installed is None:
        return UpdateOrder(UpdatePosition.NO_ORDER, "it is not installed")
    table = _compatibility_table(software, extra_tables)
    if table is None:
        if software.addon:
            reason = (
                "EKS offers the versions of an add-on by the cluster's version, new ones once the control plane has it"
            )
            return UpdateOrder(UpdatePosition.AFTER_CONTROL_PLANE, reason, None, rule_basis("addon-order").source)
        if any(each.name == software.name for each in VERSION_REQUIREMENTS):
            return UpdateOrder(UpdatePosition.NO_ORDER, "it has what is known to be needed")
        return UpdateOrder(UpdatePosition.UNKNOWN, f"no table of Kubernetes versions is known for {software.name}")
    verdict = check_compatibility(software, installed, step, extra_tables)
    if table.promise is not SupportPromise.SUPPORTED:
        position = UpdatePosition.NO_ORDER if verdict.fit is Fit.FITS else UpdatePosition.NO_PROMISE
        return UpdateOrder(position, verdict.reason, None, verdict.source)
    if verdict.fit is Fit.UNKNOWN:
        return UpdateOrder(UpdatePosition.UNKNOWN, verdict.reason, None, verdict.source)
    newer_versions: tuple[Version, ...] = ()
    if not isinstance(installed, Unknown):
        newer_versions = tuple(
            each for each in compatible_versions(software, (step,), extra_tables) if installed < each
        )
    if verdict.fit is Fit.TOO_OLD and newer_versions:
        for_both = tuple(
            each for each in newer_versions if each in compatible_versions(software, (current,), extra_tables)
        )
        gap_text = (
            ""
            if for_both
            else f"; no version is made for both {format_version(minor_of(current))} and "
            f"{format_version(minor_of(step))}"
        )
        reason = (
            f"{verdict.reason}{gap_text}"
            f"{''.join(_custom_resource_moves(software.name, installed, (for_both or newer_versions)[0]))}"
        )
        return UpdateOrder(
            UpdatePosition.BEFORE_CONTROL_PLANE, reason, for_both[0] if for_both else None, verdict.source
        )
    return UpdateOrder(UpdatePosition.NO_ORDER, verdict.reason, None, verdict.source)


def _custom_resource_moves(name: str, installed: InstalledVersion, to_version: Version) -> Iterator[str]:
    """Clauses on custom resources whose versions are removed between the two: they have to be migrated before."""
    for row in {each.removed: each for each in reversed(CUSTOM_APIS) if each.software == name}.values():
        if (
            row.removed is not None
            and isinstance(installed, Version)
            and installed < row.removed
            and not to_version < row.removed
        ):
            removal_text = f"{format_version(row.removed)}, which does not serve {row.api_version}"
            yield f"; before {removal_text}, move its objects to {row.replacement}"


def _applies_to_step(requirement: VersionRequirement, current: Version, step: Version, nodes: str) -> bool:
    if requirement.kubernetes is None:
        return requirement.nodes == nodes
    return minor_of(current) < requirement.kubernetes and not minor_of(step) < requirement.kubernetes


def _strictness(requirement: VersionRequirement) -> tuple[int, int, int]:
    """A sort key: the strictest requirement first."""
    at_least = requirement.at_least or Version(0, 0)
    return -at_least.major, -at_least.minor, -(at_least.patch or 0)


def _check_table(table: CompatibilityTable, version: Version, kubernetes: Version) -> SourcedVerdict:
    kubernetes_minor, text = minor_of(kubernetes), format_version(version)
    if not table.rows:
        return SourcedVerdict(
            Fit.UNTESTED, f"the makers of {table.name} publish no table of Kubernetes versions", table.source
        )
    if table.last_software_minor < minor_of(version):
        return SourcedVerdict(
            Fit.UNKNOWN, f"its table ends with {format_version(table.last_software_minor)}, it is {text}", table.source
        )
    # The last row that begins at or before the version. A version without a patch begins its minor.
    row = next((each for each in reversed(table.rows) if not version < each.since), None)
    if row is None:
        reason = f"its table begins with {format_version(table.rows[0].since)}, it is {text}"
        return SourcedVerdict(Fit.UNKNOWN, reason, table.source)
    if row.newest is not None and table.last_kubernetes < kubernetes_minor:
        reason = f"its table knows nothing after Kubernetes {format_version(table.last_kubernetes)}"
        return SourcedVerdict(Fit.UNKNOWN, reason, table.source)
    message = f"{table.name} {text} is {table.promise.value} with Kubernetes {_range_text(row)}"
    if _covers_version(row, kubernetes_minor):
        return SourcedVerdict(Fit.FITS, message, table.source)
    fit = Fit.TOO_NEW if kubernetes_minor < row.oldest else Fit.TOO_OLD
    fit = Fit.UNTESTED if table.promise is SupportPromise.TESTED else fit
    return SourcedVerdict(fit, f"{message}, not {format_version(kubernetes_minor)}", table.source)


def _covers_version(row: _Row, kubernetes: Version) -> bool:
    return not kubernetes < row.oldest and (row.newest is None or not row.newest < kubernetes)


def _range_text(row: _Row) -> str:
    return f"{format_version(row.oldest)} {'and newer' if row.newest is None else f'to {format_version(row.newest)}'}"


# Instances that count for the vCPU quotas. Source: EC2 user guide, On-Demand Instance limits.


_STANDARD_FAMILIES = re.compile(r"(?:[acdhimrtz]\d|im\d|is\d)")
"""A, C, D, H, I, M, R, T and Z; not dl1, hpc7, inf2, mac2, trn1, which have quotas of their own."""


def is_standard_instance(instance_type: str) -> bool:
    """Whether ``m6i.xlarge`` counts for the quotas of Standard instances."""
    return bool(_STANDARD_FAMILIES.match(instance_type))
