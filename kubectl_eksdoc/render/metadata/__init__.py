"""Who reaches the instance metadata service, in every format.

Belongs here: which causes, pods and findings are shown, in which order and in which words.
Never here: what EC2, EKS or a program does (that is `imds_probe`), what is asked of AWS or the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.baseline.changes import Since
from kubectl_eksdoc.imds_probe.fixes.fix import Choice
from kubectl_eksdoc.imds_probe.of_pod import OnePod
from kubectl_eksdoc.imds_probe.plan import MetadataPlan
from kubectl_eksdoc.imds_probe.sources import NodesAlike
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look

# What is shown of the metadata service.


@dataclass(frozen=True, slots=True)
class MetadataView:
    """`options` as they were given; `recognised`: how it is known that AWS describes the cluster that was read. `pod`:
    the one that was asked about. `offered`: what can be done, for each group of the plan; () where nobody looked.
    `since`: beside an earlier answer, None where none was given."""

    plan: MetadataPlan
    options: Mapping[str, object]
    recognised: str = ""
    pod: OnePod | None = None
    offered: tuple[tuple[NodesAlike, Choice], ...] = ()
    tool_version: str = __version__
    since: Since | None = None


# What ``-o`` offers for the metadata service.


def _table(view: MetadataView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata.table import table

    return table(view, look)


def _wide(view: MetadataView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata.table import wide

    return wide(view, look)


def _result(view: MetadataView) -> object:
    from kubectl_eksdoc.render.metadata.result import ProbeResult

    return ProbeResult.of(view)


FORMATS: Formats[MetadataView] = Formats("a probe", {"table": _table, "wide": _wide, **documents(_result)})
