"""Software of a cluster: add-ons of EKS, controllers and agents, how each is recognised, and where its version stands.

Recognised by its image first: labels differ between charts. What is not in knowledge/software.json is not known to
matter, no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version, parse

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
