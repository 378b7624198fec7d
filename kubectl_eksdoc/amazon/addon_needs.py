"""Software of a cluster, and which version of it an upgrade needs, and when: before the control plane, or before nodes.

Neither "add-ons last" nor "add-ons first" is right for all: each is placed by what is known of it. Of the add-ons that
EKS manages, DescribeAddonVersions tells more than any table here (`amazon.versions`).
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

# Container images as references: their repository's last part, and the version that a tag tells.
#
# Source of the form: distribution/reference, reference.go (domain/path:tag@digest).


_T = TypeVar("_T")


def repository(image: str) -> str:
    """Without registry, tag and digest: ``argoproj/argocd`` of ``quay.io/argoproj/argocd:v3.1.0``."""
    path = _untagged(image)
    first, slash, rest = path.partition("/")
    registry = slash and ("." in first or ":" in first or first == "localhost")
    return rest if registry else path


def by_image(table: Mapping[str, _T], image: str) -> _T | None:
    """Of a table by ends of repositories, whole parts of them: ``argoproj/argocd``, ``coredns``."""
    parts = repository(image).split("/")
    ends = ("/".join(parts[at:]) for at in range(len(parts)))
    return next((table[end] for end in ends if end in table), None)


def tag_of(image: str) -> str:
    """ "" where it has none."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]


def version_of(image: str) -> Version | Unknown:
    """What its tag says: ``v1.12.6-eksbuild.1``, ``2.4.7``. Others (``latest``, a commit, none) tell nothing."""
    tag = tag_of(image)
    if not tag:
        return Unknown(f"the image {image} has no tag")
    return parse(tag) or Unknown(f'the tag "{tag}" of the image is no version')


def _untagged(image: str) -> str:
    path = image.partition("@")[0]
    before, slash, name = path.rpartition("/")
    return f"{before}{slash}{name.partition(':')[0]}"


# Software of a cluster: add-ons of EKS, controllers and agents, how each is recognised, and where its version stands.
#
# Recognised by its image first: labels differ between charts. What is not in knowledge/software.json is not known to
# matter, no more.


@frozen
class SoftwareRole:
    """`what` it is to pods that are made anew; `effect`: a clause on the time without it, and how bad that is."""

    what: str
    severity: Severity
    effect: str


@frozen
class Software:
    """`eks_addon`: EKS has an add-on of that name, `about` is what it is for. `images`: ends of repositories, whole
    parts of them (``karpenter/controller``). `labels`: of its pods, any one of which tells it (`labelled`).
    `replacements_need`: None where pods that are made anew do not need it; `controller_labels`: more labels that tell
    it then. `upgrades`: its version decides an upgrade. `variable`: of the container, whose value is
    its version instead of the tag."""

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
        """Its name as an EKS add-on, "" if it is none."""
        return self.name if self.eks_addon else ""


KNOWN = records(Software, "software")
SOFTWARE = tuple(each for each in KNOWN if each.upgrades)
"""What an upgrade has to do with."""

BY_NAME = {each.name: each for each in SOFTWARE}
VPC_CNI, KUBE_PROXY, COREDNS = BY_NAME["vpc-cni"], BY_NAME["kube-proxy"], BY_NAME["coredns"]
CLUSTER_AUTOSCALER = BY_NAME["cluster-autoscaler"]
_BY_IMAGE = {image: each for each in SOFTWARE for image in each.images}


def recognised(image: str) -> Software | None:
    """Which of them a container of that image is; None where it is none, as far as the image tells."""
    return by_image(_BY_IMAGE, image)


def labelled(labels: Mapping[str, str]) -> Software | None:
    """Which of them a pod of those labels is, for one whose images tell nothing (a mirror under other names). Which of
    its containers has the version is not told: sidecars have others."""
    found = min((_BY_LABEL[pair] for pair in labels.items() if pair in _BY_LABEL), default=None)
    return None if found is None else SOFTWARE[found]


_BY_LABEL = {pair: place for place, each in reversed([*enumerate(SOFTWARE)]) for pair in each.labels}
"""The first in `SOFTWARE` with that label: every pod of a cluster is looked up here."""


def installed_version(of: Software, image: str, variables: Mapping[str, str] | None = None) -> Version | Unknown:
    """Of a container of that image, and with those variables (those of `of.variable` will do)."""
    if not of.variable:
        return version_of(image)
    value = (variables or {}).get(of.variable, "")
    if not value:
        return Unknown(f"its variable {of.variable}, which tells its version, is not known")
    return parse(value.rpartition("/")[2]) or Unknown(f'its variable {of.variable} is "{value}", no version')


# Versions and their order.


AL2023 = "AL2023"

Installed = Version | Unknown | None
"""None: it is not in the cluster, and all was looked at that would show it."""


class SupportPromise(str, Enum):
    """What its makers say of the Kubernetes versions in a row."""

    SUPPORTED = "supported"  # others are not
    TESTED = "tested"  # of others they say nothing
    NONE = "none"  # they publish no table


@frozen
class _Row:
    """From `since` on, until the next row. `newest` is None where none is named (``1.34+``)."""

    since: Version
    oldest: Version
    newest: Version | None


@frozen
class CompatibilityTable:
    """Which Kubernetes versions each version of software `name` is made for, as its makers publish it. `rows`: the
    oldest first."""

    name: str
    promise: SupportPromise
    rows: tuple[_Row, ...]
    source: KnowledgeSource

    @property
    def read_to(self) -> Version:
        """The last minor of the software that is in it."""
        return minor_of(self.rows[-1].since)

    @property
    def kubernetes_to(self) -> Version:
        """The last of Kubernetes."""
        return max((row.newest or row.oldest for row in self.rows), key=lambda each: (each.major, each.minor))


TABLES = sections(CompatibilityTable, "software", "compatibility")


def _table_of(software: Software, more: Iterable[CompatibilityTable]) -> CompatibilityTable | None:
    """Of `more` before those of the package."""
    return next((each for each in more if each.name == software.name), None) or TABLES.by("name").get(software.name)


@frozen
class VersionRequirement:
    """Software `name` must be there, and `at_least` this version (None: any), before the control plane gets
    `kubernetes`, or where that is None before there are nodes of the family `nodes`. `only_if`: whom it concerns, ""
    for everybody."""

    name: str
    reason: str
    source: KnowledgeSource
    at_least: Version | None = None
    kubernetes: Version | None = None
    nodes: str = ""
    only_if: str = ""


NEEDS = sections(VersionRequirement, "software", "needs")


def needs(software: Software, now: Version, step: Version, nodes: str = "") -> tuple[VersionRequirement, ...]:
    """All that come with the step from `now` to `step`, and with nodes of that family. A cluster that has passed a
    version shows by running that what it needed is there."""
    return tuple(each for each in NEEDS if each.name == software.name and _concerns(each, now, step, nodes))


def meets(need: VersionRequirement, installed: Installed) -> SourcedVerdict:
    """Whether what is installed will do."""
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
    """Whether that version of it is made for that Kubernetes, by its makers' own table. `more`: tables that come before
    those of the package."""
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
    """The versions of its table that fit all of these, the oldest first; each stands for those up to the next row."""
    table = _table_of(software, more)
    rows = table.rows if table is not None else ()
    return tuple(row.since for row in rows if all(_covers(row, minor_of(each)) for each in kubernetes))


class UpdatePosition(str, Enum):
    """When in one step of an upgrade it is updated."""

    BEFORE_CONTROL_PLANE = "before the control plane"
    AFTER_CONTROL_PLANE = "after the control plane"
    BEFORE_NODES = "before the nodes"
    NO_ORDER = "at any time"
    NO_PROMISE = "no promise"  # its makers have tested other versions of Kubernetes, or publish none
    UNKNOWN = "unknown"


@frozen
class OrderedAddon:
    """`to`: at least this version, None where no one is named. `only_if`: whom it concerns, "" for everybody."""

    place: UpdatePosition
    why: str
    to: Version | None = None
    source: KnowledgeSource | None = None
    only_if: str = ""

    def reached(self, installed: Installed) -> bool:
        """Whether that is `to`, or newer."""
        return self.to is not None and isinstance(installed, Version) and not installed < self.to


def placed(
    software: Software,
    installed: Installed,
    now: Version,
    step: Version,
    nodes: str = "",
    more: Sequence[CompatibilityTable] = (),
) -> OrderedAddon:
    """Where it stands in the step from `now` to the next minor `step`, after which nodes of the family `nodes` come
    (AL2023; "" for those that are there). Whether a need with `only_if` concerns the cluster, the caller knows."""
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
    """By the first need that is not met; before the control plane goes before the nodes."""
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
    """Of the custom resources that versions between do not serve any more: these are no update to go by at once."""
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
    """The one that asks for most first."""
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
    # The last that begins no later. A version without a patch begins its minor.
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


# Which instances the quotas of vCPUs count. Source: EC2 user guide, On-Demand Instance limits.


_STANDARD = re.compile(r"(?:[acdhimrtz]\d|im\d|is\d)")
"""A, C, D, H, I, M, R, T and Z; not dl1, hpc7, inf2, mac2, trn1, with quotas of their own."""


def is_standard(instance_type: str) -> bool:
    """Whether ``m6i.xlarge`` counts to the quotas of Standard instances."""
    return bool(_STANDARD.match(instance_type))
