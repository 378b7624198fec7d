"""The active probe of the instance metadata service, in every format: what would be made, and what came of it.

Belongs here: which nodes, answers and findings are shown, in which order and in which words.
Never here: what answers mean (that is `imds_probe.probing`), making or reading pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc import __version__
from kubectl_eksdoc.imds_probe.probing.result import Probed, ProbePlan, findings_of
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.placing import NotMade
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look

# What is shown of a probe.


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


# What ``-o`` offers for a probe that was carried out.


def _table(view: ProbeView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata_probe.table import table

    return table(view, look)


def _wide(view: ProbeView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata_probe.table import wide

    return wide(view, look)


def _result(view: ProbeView) -> object:
    from kubectl_eksdoc.render.metadata_probe.result import ActiveProbeResult

    return ActiveProbeResult.of(view)


FORMATS: Formats[ProbeView] = Formats("an active probe", {"table": _table, "wide": _wide, **documents(_result)})
