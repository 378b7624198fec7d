"""A refresh of EKS's insights: asked for once, waited for with an end, and whatever comes of it is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from kubectl_eksdoc.check.read import PAUSE_S, WAIT_S, refreshed
from kubectl_eksdoc.errors import AwsDenied
from kubectl_eksdoc.model.eks import Refresh
from kubectl_eksdoc.model.kinds import Unknown
from tests.builders import NOW

GOES_ON, DONE = Refresh("IN_PROGRESS"), Refresh("COMPLETED")


@dataclass
class Eks:
    """Answers in turn, the last one for ever; time passes while somebody sleeps."""

    states: list[Refresh | Unknown]
    begins: Refresh | AwsDenied = GOES_ON
    time: datetime = NOW
    slept: list[float] = field(default_factory=list)
    begun: int = 0

    def begin(self) -> Refresh:
        self.begun += 1
        if isinstance(self.begins, AwsDenied):
            raise self.begins
        return self.begins

    def state(self) -> Refresh | Unknown:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def now(self) -> datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += timedelta(seconds=seconds)


def run(eks: Eks) -> str:
    return refreshed(eks, eks.now, eks.sleep)  # type: ignore[arg-type]


def test_it_is_waited_for() -> None:
    eks = Eks([GOES_ON, GOES_ON, DONE])
    assert run(eks) == "EKS has refreshed its insights."
    assert eks.begun == 1 and eks.slept == [PAUSE_S] * 3
    at_once = Eks([GOES_ON], DONE)
    assert run(at_once) == "EKS has refreshed its insights." and not at_once.slept


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (Refresh("FAILED", "no access"), "EKS could not refresh its insights: no access. What follows is older."),
        (Unknown("IAM does not allow it"), "is unknown: IAM does not allow it. What follows may be older."),
        (GOES_ON, "has not refreshed its insights within 10 minutes"),
        (Refresh("A_NEW_WORD"), "has not refreshed its insights within 10 minutes"),
    ],
)
def test_however_it_ends_it_is_told(state: Refresh | Unknown, said: str) -> None:
    eks = Eks([state])
    assert said in run(eks)
    assert sum(eks.slept) <= WAIT_S


def test_what_is_not_allowed_is_an_error() -> None:
    with pytest.raises(AwsDenied):
        run(Eks([DONE], AwsDenied("no", missing="eks:StartInsightsRefresh")))
