"""How much longer a drain takes than its plan says because it waits after each wave."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.plan.drain.result import DrainPlan


@dataclass(frozen=True, slots=True)
class Bake:
    """`each_s` after each of the first `times` waves; there is none after the last."""

    each_s: float
    times: int

    @property
    def total_s(self) -> float:
        return self.each_s * self.times


def bake_of(plan: DrainPlan, each_s: float) -> Bake | None:
    """None where no wave waits for another."""
    waves = {target.wave for target in plan.targets if target.order}
    if not each_s or not in_waves(plan) or len(waves) < 2:
        return None
    return Bake(each_s, len(waves) - 1)


def in_waves(plan: DrainPlan) -> bool:
    """Whether a wave waits for the one before; else the whole drain is one."""
    return bool(plan.policy.max_unavailable or plan.policy.pins)
