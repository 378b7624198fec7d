"""What is shown of the handling of interruptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.plan.interruption.plan import InterruptionPlan


@dataclass(frozen=True, slots=True)
class InterruptionView:
    """`options` as they were given; `recognised`: how it is known that AWS describes the cluster that was read."""

    plan: InterruptionPlan
    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__
