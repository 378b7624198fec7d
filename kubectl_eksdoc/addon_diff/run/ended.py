"""What came of an update: how EKS ended it, how its rollout and its targets are, and prediction against reality."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.run.outcome import FieldCheck, Verdict
from kubectl_eksdoc.addon_diff.run.rollout import RolloutState
from kubectl_eksdoc.addon_diff.run.targets import Health
from kubectl_eksdoc.drain.run.stages import Stage
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.aws.addons import Issue


@dataclass(frozen=True, slots=True)
class AddonUpdateResult:
    """`id`: EKS's own of the update. `left`: why it was followed no longer though it goes on, a clause, "" where it
    has ended. `not_ready`: pods of a rollout that is not done, each with why. `unread`: objects of which nobody knows
    what became of them; `unwatched`: why targets were not watched, "" where they were or none is affected."""

    id: str
    stage: Stage
    seconds: float
    left: str = ""
    errors: tuple[Issue, ...] = ()
    rollouts: tuple[RolloutState, ...] = ()
    not_ready: tuple[str, ...] = ()
    health: tuple[Health, ...] = ()
    checks: tuple[FieldCheck, ...] = ()
    unread: tuple[tuple[ObjectName, str], ...] = ()
    unwatched: str = ""

    @property
    def whole(self) -> bool:
        """EKS has done it, and its pods are new everywhere."""
        return self.stage is Stage.SUCCESSFUL and not self.left

    def of(self, *verdicts: Verdict) -> tuple[FieldCheck, ...]:
        return tuple(check for check in self.checks if check.verdict in verdicts)

    @property
    def differs(self) -> bool:
        """Something is known to be not as it was foretold, or not as it should be."""
        return bool(self.of(Verdict.OTHER)) or any(each.fell and not each.back for each in self.health)

    @property
    def lacks(self) -> bool:
        """Something is not known."""
        doubtful = self.of(Verdict.NOT_READ, Verdict.NOT_PREDICTED)
        return bool(doubtful or self.unread or self.unwatched) or any(each.unread for each in self.health)
