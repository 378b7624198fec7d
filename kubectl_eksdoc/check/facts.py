"""Everything that the checks judge by. What no chosen check needs is not asked for, and unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.amazon.upgrades.removed_apis import Tables
from kubectl_eksdoc.amazon.upgrades.sourced import minor_of
from kubectl_eksdoc.check.way import UpgradePath
from kubectl_eksdoc.model.api_objects import ApiUsage, Doc
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.cluster import Cluster, no_changes
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.quantities import Version, parse

if TYPE_CHECKING:
    from kubectl_eksdoc.drain.result import DrainPlan
    from kubectl_eksdoc.model.aws.clusters import EksCluster, UpgradeFacts
    from kubectl_eksdoc.model.interruption import ReportedChanges


NOT_ASKED = Unknown("no check that was chosen asks for it")


def _nothing_of_aws() -> UpgradeFacts:
    from kubectl_eksdoc.model.aws.clusters import UpgradeFacts

    return UpgradeFacts()


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """`eks` is Unknown where nothing of AWS could be believed, and why. `summed`: by `CheckNeed`, the findings of other
    commands as they are. `drain`: the plan of which `summed` has the findings, None where none was made or no node has
    to be replaced. `past`: asked for only where somebody wants to know what has changed."""

    cluster: Cluster
    way: UpgradePath
    eks: EksCluster | Unknown = NOT_ASKED
    aws: UpgradeFacts = field(default_factory=_nothing_of_aws)
    api: ApiUsage = ApiUsage()
    summed: Mapping[CheckNeed, tuple[Finding, ...] | Unknown] = field(default_factory=dict)
    drain: DrainPlan | None = None
    past: ReportedChanges = field(default_factory=no_changes)
    tables: Tables = Tables()
    proxy: Doc | Absent | Unknown = NOT_ASKED

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
