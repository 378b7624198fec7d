"""What is shown of a probe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.findings import Finding
from kubectl_eksdoc.core.model.probe_pods import NotMade
from kubectl_eksdoc.core.plan.metadata.probing.plan import ProbePlan
from kubectl_eksdoc.core.plan.metadata.probing.result import Probed, findings_of


@dataclass(frozen=True, slots=True)
class ProbeView:
    """`probed` None: nothing was made, yet or at all. `refused`: pods that the server would refuse, by their names,
    where it was asked. `options` as they were given."""

    cluster: Cluster
    plan: ProbePlan
    options: Mapping[str, object]
    probed: Probed | None = None
    refused: Mapping[str, NotMade] = field(default_factory=dict)
    tool_version: str = __version__

    @property
    def findings(self) -> tuple[Finding, ...]:
        return () if self.probed is None else findings_of(self.plan, self.probed)
