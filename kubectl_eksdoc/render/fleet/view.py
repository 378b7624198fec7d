"""What is shown of a fleet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.plan.fleet.plan import FleetPlan


@dataclass(frozen=True, slots=True)
class FleetView:
    """`command`: that judged each of them; `options` as they were given."""

    plan: FleetPlan
    command: str
    options: Mapping[str, object]
    tool_version: str = __version__
