"""PodDisruptionBudgets: their spec and status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from kubectl_eksdoc.frozen import frozen

from .selectors import Selector

ALWAYS_ALLOW = "AlwaysAllow"


@frozen
class IntOrPercent:
    """An IntOrString: `percent` says which; `value` is never negative in a budget that the API accepted."""

    value: int
    percent: bool = False

    def __str__(self) -> str:
        return f"{self.value}%" if self.percent else str(self.value)


@frozen
class BudgetStatus:
    """The numbers that the disruption controller writes."""

    allowed: int
    current: int
    desired: int
    expected: int


@frozen
class Budget:
    """A PodDisruptionBudget. The API accepts at most one of `min_available` and `max_unavailable`.

    `condition_reason` is that of the DisruptionAllowed condition, "" without one; `condition_since`: when the
    condition's status last changed; `disrupted` maps pod names to the time their eviction was granted
    (status.disruptedPods).
    """

    namespace: str
    name: str
    uid: str
    selector: Selector
    status: BudgetStatus
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    unhealthy_policy: str = ""
    generation: int = 0
    observed_generation: int = 0
    condition_status: str = ""
    condition_reason: str = ""
    condition_message: str = ""
    condition_since: datetime | None = field(default=None, compare=False)
    disrupted: Mapping[str, datetime] = field(default_factory=dict)
    key: str = field(init=False, repr=False, compare=False)  # namespace/name, stored because it is read very often

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.namespace}/{self.name}")

    @property
    def always_allows_unhealthy(self) -> bool:
        return self.unhealthy_policy == ALWAYS_ALLOW

    @property
    def rule(self) -> str:
        """The spec in short: ``minAvailable 75%``."""
        if self.max_unavailable is not None:
            return f"maxUnavailable {self.max_unavailable}"
        if self.min_available is not None:
            return f"minAvailable {self.min_available}"
        return "no rule"
