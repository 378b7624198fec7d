"""A measurement of DNS, in every format: what would be made and done, and what came of it, second by second.

Belongs here: which numbers, plots and findings are shown, in which order and in which words.
Never here: what the numbers mean (that is `coredns_lameduck.measuring`), making or reading pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc import __version__
from kubectl_eksdoc.coredns_lameduck.measuring.findings import findings_of
from kubectl_eksdoc.coredns_lameduck.measuring.plan import MeasurePlan
from kubectl_eksdoc.coredns_lameduck.measuring.result import Measured
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.placing import NotMade
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look

# What is shown of a measurement.


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


# What ``-o`` offers for a measurement that was carried out.


def _table(view: MeasureView, look: Look) -> str:
    from kubectl_eksdoc.render.dns_measure.table import table

    return table(view, look)


def _wide(view: MeasureView, look: Look) -> str:
    from kubectl_eksdoc.render.dns_measure.table import wide

    return wide(view, look)


def _result(view: MeasureView) -> object:
    from kubectl_eksdoc.render.dns_measure.result import MeasureResult

    return MeasureResult.of(view)


FORMATS: Formats[MeasureView] = Formats("a measurement", {"table": _table, "wide": _wide, **documents(_result)})
