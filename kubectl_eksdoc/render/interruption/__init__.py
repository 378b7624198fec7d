"""Whether Karpenter hears of interruptions, in every format; and what is missing, as documents.

Belongs here: which links, nodes and findings are shown, in which order and in which words; how documents are written.
Never here: what Karpenter, SQS or EventBridge do (that is `interruption`), what is asked of AWS or the
cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.interruption.plan import InterruptionPlan
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look

# What is shown of the handling of interruptions.


@dataclass(frozen=True, slots=True)
class InterruptionView:
    """`options` as they were given; `recognised`: how it is known that AWS describes the cluster that was read."""

    plan: InterruptionPlan
    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__


# What ``-o`` offers for the handling of interruptions.


def _table(view: InterruptionView, look: Look) -> str:
    from kubectl_eksdoc.render.interruption.table import table

    return table(view, look)


def _wide(view: InterruptionView, look: Look) -> str:
    from kubectl_eksdoc.render.interruption.table import wide

    return wide(view, look)


def _result(view: InterruptionView) -> object:
    from kubectl_eksdoc.render.interruption.result import InterruptionResult

    return InterruptionResult.of(view)


FORMATS: Formats[InterruptionView] = Formats(
    "an answer about interruptions", {"table": _table, "wide": _wide, **documents(_result)}
)
