"""Everything that the checks judge by. What no chosen check needs is not asked for, and unknown.

From which version to which: where the control plane is, how that is known, and every version on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.amazon.removed_apis import Tables
from kubectl_eksdoc.amazon.skew import NoPath, in_words, minor_of, path
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import ApiUsage
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.cluster import Cluster, no_changes
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.quantities import Version, parse

if TYPE_CHECKING:
    from kubectl_eksdoc.drain.result import DrainPlan
    from kubectl_eksdoc.model.eks import EksCluster, UpgradeFacts
    from kubectl_eksdoc.model.interruption import ReportedChanges
    from kubectl_eksdoc.model.nodes import Node


@frozen
class UpgradePath:
    """`now` and `target` without patches; `steps` are the versions that the control plane goes through, none where it
    is at the target. `told_by`: who says where it is, a clause; `assumed`: nobody does, and it is taken from the nodes.
    """

    now: Version
    target: Version
    steps: tuple[Version, ...]
    told_by: str
    assumed: bool = False

    @property
    def text(self) -> str:
        """``1.31 → 1.32 → 1.33``; one version where the control plane has it already."""
        return " → ".join(in_words(each) for each in (self.now, *self.steps))

    def comes_later(self, version: Version) -> bool:
        """Whether the control plane gets it after its next step: what only that asks for, the checklist has done
        between the two."""
        return version > self.now and version != self.steps[0]


@frozen
class CurrentVersion:
    """Where the control plane is; as in `UpgradePath`."""

    version: Version
    told_by: str
    assumed: bool = False


def where(eks: str | Unknown, server: str, nodes: Iterable[Node]) -> CurrentVersion | Unknown:
    """`eks`: the version that EKS tells; `server`: what the API server says of itself. Kubelets are never newer than
    the control plane, so that the newest of them tells the least that it can be."""
    if not isinstance(eks, Unknown) and (told := parse(eks)) is not None:
        return CurrentVersion(minor_of(told), "as EKS describes it")
    if (said := parse(server)) is not None:
        return CurrentVersion(minor_of(said), "as the API server says")
    kubelets = [minor_of(node.kubelet) for node in nodes if node.kubelet is not None]
    if not kubelets:
        return Unknown("neither EKS nor the API server tells the control plane's version, and no kubelet its own")
    newest = max(kubelets)
    return CurrentVersion(newest, "as the newest kubelet has it: nothing tells the control plane's own", True)


def way(here: CurrentVersion, target: Version | None) -> UpgradePath | NoPath:
    """To `target`, or to the next minor version."""
    wanted = Version(here.version.major, here.version.minor + 1) if target is None else minor_of(target)
    steps = path(here.version, wanted)
    if isinstance(steps, NoPath):
        return steps
    return UpgradePath(here.version, wanted, steps, here.told_by, here.assumed)


NOT_ASKED = Unknown("no check that was chosen asks for it")


def _nothing_of_aws() -> UpgradeFacts:
    from kubectl_eksdoc.model.eks import UpgradeFacts

    return UpgradeFacts()


@frozen
class CheckFacts:
    """`eks` is Unknown where nothing of AWS could be believed, and why. `summed`: by `CheckNeed`, the findings of other
    commands as they are. `drain`: the plan of which `summed` has the findings, None where none was made or no node has
    to be replaced. `past`: asked for only where somebody wants to know what has changed.
    `proxy`: as `guards.configuration` has it."""

    cluster: Cluster
    way: UpgradePath
    eks: EksCluster | Unknown = NOT_ASKED
    aws: UpgradeFacts = field(default_factory=_nothing_of_aws)
    api: ApiUsage = ApiUsage()
    summed: Mapping[CheckNeed, tuple[Finding, ...] | Unknown] = field(default_factory=dict)
    drain: DrainPlan | None = None
    past: ReportedChanges = field(default_factory=no_changes)
    tables: Tables = Tables()
    proxy: str | Absent | Unknown = NOT_ASKED

    @staticmethod
    def of_files(cluster: Cluster, way: UpgradePath, api: ApiUsage) -> CheckFacts:
        """Of manifests alone, which nothing of AWS and no change is asked about: their types are not even loaded."""
        nothing: Any = None
        return CheckFacts(cluster, way, aws=nothing, api=api, past=nothing)

    def offers(self, minor: Version) -> bool:
        """Whether EKS offers it; False only where EKS has listed its versions without it."""
        listed = self.aws.versions
        return isinstance(listed, Unknown) or minor in {minor_of(v) for each in listed if (v := parse(each.version))}

    @property
    def name(self) -> str:
        """The cluster's, as EKS knows it; "" where nothing tells it, as of a dump."""
        told = "" if isinstance(self.eks, Unknown) else self.eks.name
        return told or self.cluster.identity.cluster
