"""What is shown of a measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.findings import Finding
from kubectl_eksdoc.core.model.probe_pods import NotMade
from kubectl_eksdoc.core.plan.dns.measuring.findings import findings_of
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan
from kubectl_eksdoc.core.plan.dns.measuring.result import Measured


@dataclass(frozen=True, slots=True)
class MeasureView:
    """`measured` None: nothing was made, yet or at all. `refused`: what the server would refuse, by names, where it was
    asked. `options` as they were given; `program` and `asked`: what the pods are given, for the manifests."""

    cluster: Cluster
    plan: MeasurePlan
    options: Mapping[str, object]
    measured: Measured | None = None
    refused: Mapping[str, NotMade] = field(default_factory=dict)
    program: bytes = b""
    asked: str = ""
    tool_version: str = __version__

    @property
    def findings(self) -> tuple[Finding, ...]:
        return () if self.measured is None else findings_of(self.plan, self.measured)
