"""Target groups of load balancers, and how their targets are."""

from __future__ import annotations

from dataclasses import dataclass

HEALTHY = "healthy"


@dataclass(frozen=True, slots=True)
class TargetHealth:
    """`state` and `reason` as AWS writes them: ``unhealthy``, ``TargetHealth.FailedHealthChecks``."""

    id: str
    port: int
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TargetGroup:
    """`targets` as they are registered (DescribeTargetHealth), by their ids."""

    arn: str
    targets: tuple[TargetHealth, ...]

    @property
    def healthy(self) -> int:
        return sum(each.state == HEALTHY for each in self.targets)

    @property
    def unhealthy(self) -> tuple[str, ...]:
        """``10.0.1.7:8080 unhealthy (Target.FailedHealthChecks)``."""
        return tuple(
            f"{each.id}:{each.port} {each.state}{f' ({each.reason})' if each.reason else ''}"
            for each in self.targets
            if each.state != HEALTHY
        )
