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
from kubectl_eksdoc.model.knowledge import KnowledgeSource, basis, records, sections
from kubectl_eksdoc.model.quantities import Version, parse

from .removed_apis import CUSTOM_ROWS
from .versions import Fit, SourcedVerdict, in_words, kube_proxy_skew, minor_of

# Container image references: the last part of the repository, and the version in the tag.
#
# Source of the format: distribution/reference, reference.go (domain/path:tag@digest).


_T = TypeVar("_T")


def repository(image: str) -> str:
    """The repository without registry, tag and digest: ``argoproj/argocd`` of ``quay.io/argoproj/argocd:v3.1.0``."""
    path = _untagged(image)
    first, slash, rest = path.partition("/")
    registry = slash and ("." in first or ":" in first or first == "localhost")
    return rest if registry else path


def by_image(table: Mapping[str, _T], image: str) -> _T | None:
    """A value of a table by repository suffixes, in complete parts: ``argoproj/argocd``, ``coredns``."""
    parts = repository(image).split("/")
    ends = ("/".join(parts[at:]) for at in range(len(parts)))
    return next((table[end] for end in ends if end in table), None)


def tag_of(image: str) -> str:
    """The tag; "" without one."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]


def version_of(image: str) -> Version | Unknown:
    """The version in the tag: ``v1.12.6-eksbuild.1``, ``2.4.7``; Unknown for others (``latest``, a commit, none)."""
    tag = tag_of(image)
    if not tag:
        return Unknown(f"the image {image} has no tag")
    return parse(tag) or Unknown(f'the tag "{tag}" of the image is no version')


def _untagged(image: str) -> str:
    path = image.partition("@")[0]
    before, slash, name = path.rpartition("/")
    return f"{before}{slash}{name.partition(':')[0]}"


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


KNOWN = records(Software, "software")
SOFTWARE = tuple(each for each in KNOWN if each.upgrades)
"""Software whose version matters for an upgrade."""

BY_NAME = {each.name: each for each in SOFTWARE}
VPC_CNI, KUBE_PROXY, COREDNS = BY_NAME["vpc-cni"], BY_NAME["kube-proxy"], BY_NAME["coredns"]
CLUSTER_AUTOSCALER = BY_NAME["cluster-autoscaler"]
_BY_IMAGE = {image: each for each in SOFTWARE for image in each.images}


def recognised(image: str) -> Software | None:
    """The software of a container image; None where the image is not recognised."""
    return by_image(_BY_IMAGE, image)


def labelled(labels: Mapping[str, str]) -> Software | None:
    """The software of a pod by its labels, for images that are not recognised (a mirror under other names). It does not
    show which container has the version: sidecars have others."""
    found = min((_BY_LABEL[pair] for pair in labels.items() if pair in _BY_LABEL), default=None)
    return None if found is None else SOFTWARE[found]


_BY_LABEL = {pair: place for place, each in reversed([*enumerate(SOFTWARE)]) for pair in each.labels}
"""The first in `UPGRADE_SOFTWARE` with that label, indexed because every pod of a cluster is looked up here."""


def installed_version(of: Software, image: str, variables: Mapping[str, str] | None = None) -> Version | Unknown:
    """The version of a container with that image and these environment variables (at least `variable`)."""
    if not of.variable:
        return version_of(image)
    value = (variables or {}).get(of.variable, "")
    if not value:
        return Unknown(f"its variable {of.variable}, which tells its version, is not known")
    return parse(value.rpartition("/")[2]) or Unknown(f'its variable {of.variable} is "{value}", no version')


# Version requirements, and the order of updates.


AL2023 = "AL2023"

Installed = Version | Unknown | None
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
    def read_to(self) -> Version:
        """The last minor version of the software in the table."""
        return minor_of(self.rows[-1].since)

    @property
    def kubernetes_to(self) -> Version:
        """The last Kubernetes version in the table."""
        return max((row.newest or row.oldest for row in self.rows), key=lambda each: (each.major, each.minor))


TABLES = sections(CompatibilityTable, "software", "compatibility")


def _table_of(software: Software, more: Iterable[CompatibilityTable]) -> CompatibilityTable | None:
    """The table of the software, from `extra_tables` before those of the package."""
    return next((each for each in more if each.name == software.name), None) or TABLES.by("name").get(software.name)


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


NEEDS = sections(VersionRequirement, "software", "needs")


def needs(software: Software, now: Version, step: Version, nodes: str = "") -> tuple[VersionRequirement, ...]:
    """The requirements of the step from `current` to `step`, and of nodes of that family. A cluster that has passed a
    version has met its requirements."""
    return tuple(each for each in NEEDS if each.name == software.name and _concerns(each, now, step, nodes))


def meets(need: VersionRequirement, installed: Installed) -> SourcedVerdict:
    """Whether the installed version meets the requirement."""
    if installed is None:
        absent = need.at_least is None
        why = f"{need.name} is not installed"
        return SourcedVerdict(
            Fit.ABSENT if absent else Fit.FITS, f"{why}: {need.reason}" if absent else why, need.source
        )
    if need.at_least is None:
        return SourcedVerdict(Fit.FITS, f"{need.name} is installed", need.source)
    if isinstance(installed, Unknown):
        return SourcedVerdict(Fit.UNKNOWN, installed.why, need.source)
    if installed.patch is None and need.at_least.patch and minor_of(installed) == minor_of(need.at_least):
        why = f"only {in_words(installed)} is told, and {in_words(need.at_least)} is needed"
        return SourcedVerdict(Fit.UNKNOWN, why, need.source)
    if installed < need.at_least:
        why = f"{in_words(need.at_least)} or newer is needed, it is {in_words(installed)}: {need.reason}"
        return SourcedVerdict(Fit.TOO_OLD, why, need.source)
    return SourcedVerdict(
        Fit.FITS, f"{in_words(need.at_least)} or newer is needed, it is {in_words(installed)}", need.source
    )


def fits(
    software: Software, version: Version | Unknown, kubernetes: Version, more: Sequence[CompatibilityTable] = ()
) -> SourcedVerdict:
    """Whether that version supports that Kubernetes version, by the vendor's table. `extra_tables`: take precedence
    over those of the package."""
    if isinstance(version, Unknown):
        return SourcedVerdict(Fit.UNKNOWN, version.why)
    if software == KUBE_PROXY:
        return kube_proxy_skew(kubernetes, version)
    if software == CLUSTER_AUTOSCALER:
        same = minor_of(version) == minor_of(kubernetes)
        why = "its minor is to be that of the control plane"
        return SourcedVerdict(
            Fit.FITS if same else Fit.UNTESTED, f"{why}, it is {in_words(version)}", basis("autoscaler-minor").source
        )
    table = _table_of(software, more)
    if table is None:
        return SourcedVerdict(Fit.UNKNOWN, f"no table of Kubernetes versions is known for {software.name}")
    return _by_table(table, version, kubernetes)


def versions_for(
    software: Software, kubernetes: Sequence[Version], more: Sequence[CompatibilityTable] = ()
) -> tuple[Version, ...]:
    """The versions of its table that support all of these, the oldest first; each stands for all up to the next row."""
    table = _table_of(software, more)
    rows = table.rows if table is not None else ()
    return tuple(row.since for row in rows if all(_covers(row, minor_of(each)) for each in kubernetes))


class UpdatePosition(str, Enum):
    """The position of an update within one upgrade step."""

    BEFORE_CONTROL_PLANE = "before the control plane"
    AFTER_CONTROL_PLANE = "after the control plane"
    BEFORE_NODES = "before the nodes"
    NO_ORDER = "at any time"
    NO_PROMISE = "no promise"  # the vendor has tested other versions of Kubernetes, or publishes none
    UNKNOWN = "unknown"


@frozen
class OrderedAddon:
    """`to_version`: at least this version, None where none is known. `only_if`: a condition, "" for no condition."""

    place: UpdatePosition
    why: str
    to: Version | None = None
    source: KnowledgeSource | None = None
    only_if: str = ""

    def reached(self, installed: Installed) -> bool:
        """Whether the installed version is `to_version`, or newer."""
        return self.to is not None and isinstance(installed, Version) and not installed < self.to


def placed(
    software: Software,
    installed: Installed,
    now: Version,
    step: Version,
    nodes: str = "",
    more: Sequence[CompatibilityTable] = (),
) -> OrderedAddon:
    """The position of its update in the step from `current` to the next minor `step`. `nodes`: the family of the nodes
    that come after it (AL2023; "" for the present ones). The caller decides whether an `only_if` condition holds."""
    if software == KUBE_PROXY:
        why = "it must never be newer than the control plane"
        return OrderedAddon(UpdatePosition.AFTER_CONTROL_PLANE, why, minor_of(step), basis("kube-proxy-order").source)
    if software == CLUSTER_AUTOSCALER:
        why = "its minor follows that of the control plane"
        return OrderedAddon(UpdatePosition.AFTER_CONTROL_PLANE, why, minor_of(step), basis("autoscaler-minor").source)
    return _by_needs(software, installed, (now, step), nodes) or _by_makers(software, installed, now, step, more)


def _by_needs(
    software: Software, installed: Installed, step: tuple[Version, Version], nodes: str
) -> OrderedAddon | None:
    """By the first requirement that is not met; updates before the control plane come before those for nodes."""
    for need in sorted(needs(software, *step, nodes), key=lambda each: (each.kubernetes is None, _age(each))):
        verdict = meets(need, installed)
        if verdict.fit is Fit.FITS:
            continue
        if verdict.fit is Fit.UNKNOWN:
            return OrderedAddon(UpdatePosition.UNKNOWN, verdict.why, need.at_least, need.source, need.only_if)
        place = UpdatePosition.BEFORE_NODES if need.kubernetes is None else UpdatePosition.BEFORE_CONTROL_PLANE
        return OrderedAddon(place, verdict.why, need.at_least, need.source, need.only_if)
    return None


def _by_makers(
    software: Software, installed: Installed, now: Version, step: Version, more: Sequence[CompatibilityTable]
) -> OrderedAddon:
    if installed is None:
        return OrderedAddon(UpdatePosition.NO_ORDER, "it is not installed")
    table = _table_of(software, more)
    if table is None:
        if software.addon:
            why = (
                "EKS offers the versions of an add-on by the cluster's version, new ones once the control plane has it"
            )
            return OrderedAddon(UpdatePosition.AFTER_CONTROL_PLANE, why, None, basis("addon-order").source)
        if any(each.name == software.name for each in NEEDS):
            return OrderedAddon(UpdatePosition.NO_ORDER, "it has what is known to be needed")
        return OrderedAddon(UpdatePosition.UNKNOWN, f"no table of Kubernetes versions is known for {software.name}")
    then = fits(software, installed, step, more)
    if table.promise is not SupportPromise.SUPPORTED:
        place = UpdatePosition.NO_ORDER if then.fit is Fit.FITS else UpdatePosition.NO_PROMISE
        return OrderedAddon(place, then.why, None, then.source)
    if then.fit is Fit.UNKNOWN:
        return OrderedAddon(UpdatePosition.UNKNOWN, then.why, None, then.source)
    newer: tuple[Version, ...] = ()
    if not isinstance(installed, Unknown):
        newer = tuple(each for each in versions_for(software, (step,), more) if installed < each)
    if then.fit is Fit.TOO_OLD and newer:
        both = tuple(each for each in newer if each in versions_for(software, (now,), more))
        gap = "" if both else f"; no version is made for both {in_words(minor_of(now))} and {in_words(minor_of(step))}"
        why = f"{then.why}{gap}{''.join(_moves(software.name, installed, (both or newer)[0]))}"
        return OrderedAddon(UpdatePosition.BEFORE_CONTROL_PLANE, why, both[0] if both else None, then.source)
    return OrderedAddon(UpdatePosition.NO_ORDER, then.why, None, then.source)


def _moves(name: str, installed: Installed, to: Version) -> Iterator[str]:
    """Clauses on custom resources whose versions are removed between the two: they have to be migrated before."""
    for row in {each.removed: each for each in reversed(CUSTOM_ROWS) if each.software == name}.values():
        if (
            row.removed is not None
            and isinstance(installed, Version)
            and installed < row.removed
            and not to < row.removed
        ):
            gone = f"{in_words(row.removed)}, which does not serve {row.api_version}"
            yield f"; before {gone}, move its objects to {row.replacement}"


def _concerns(need: VersionRequirement, now: Version, step: Version, nodes: str) -> bool:
    if need.kubernetes is None:
        return need.nodes == nodes
    return minor_of(now) < need.kubernetes and not minor_of(step) < need.kubernetes


def _age(need: VersionRequirement) -> tuple[int, int, int]:
    """A sort key: the strictest requirement first."""
    most = need.at_least or Version(0, 0)
    return -most.major, -most.minor, -(most.patch or 0)


def _by_table(table: CompatibilityTable, version: Version, kubernetes: Version) -> SourcedVerdict:
    wanted, text = minor_of(kubernetes), in_words(version)
    if not table.rows:
        return SourcedVerdict(
            Fit.UNTESTED, f"the makers of {table.name} publish no table of Kubernetes versions", table.source
        )
    if table.read_to < minor_of(version):
        return SourcedVerdict(Fit.UNKNOWN, f"its table ends with {in_words(table.read_to)}, it is {text}", table.source)
    # The last row that begins at or before the version. A version without a patch begins its minor.
    row = next((each for each in reversed(table.rows) if not version < each.since), None)
    if row is None:
        why = f"its table begins with {in_words(table.rows[0].since)}, it is {text}"
        return SourcedVerdict(Fit.UNKNOWN, why, table.source)
    if row.newest is not None and table.kubernetes_to < wanted:
        why = f"its table knows nothing after Kubernetes {in_words(table.kubernetes_to)}"
        return SourcedVerdict(Fit.UNKNOWN, why, table.source)
    said = f"{table.name} {text} is {table.promise.value} with Kubernetes {_window(row)}"
    if _covers(row, wanted):
        return SourcedVerdict(Fit.FITS, said, table.source)
    fit = Fit.TOO_NEW if wanted < row.oldest else Fit.TOO_OLD
    fit = Fit.UNTESTED if table.promise is SupportPromise.TESTED else fit
    return SourcedVerdict(fit, f"{said}, not {in_words(wanted)}", table.source)


def _covers(row: _Row, kubernetes: Version) -> bool:
    return not kubernetes < row.oldest and (row.newest is None or not row.newest < kubernetes)


def _window(row: _Row) -> str:
    return f"{in_words(row.oldest)} {'and newer' if row.newest is None else f'to {in_words(row.newest)}'}"


# Instances that count for the vCPU quotas. Source: EC2 user guide, On-Demand Instance limits.


_STANDARD = re.compile(r"(?:[acdhimrtz]\d|im\d|is\d)")
"""A, C, D, H, I, M, R, T and Z; not dl1, hpc7, inf2, mac2, trn1, which have quotas of their own."""


def is_standard(instance_type: str) -> bool:
    """Whether ``m6i.xlarge`` counts for the quotas of Standard instances."""
    return bool(_STANDARD.match(instance_type))
