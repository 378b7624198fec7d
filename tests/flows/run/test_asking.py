"""Who asks a run for something is told what became of that run, and not of another one that holds the lock."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.flows.run.journal import WishSource, ask_leader
from kubectl_eksdoc.model.journal import HeldLock, RunPhase, RunSummary
from tests.builders import NOW

LEFT = RunSummary("run-1", NOW, "running", "ann@desk/1/run-1/a", NOW)


class Others:
    """run-1 was left where it was; somebody else leads run-2, and renews the lock."""

    def __init__(self) -> None:
        self.looks = 0

    def all(self) -> list[RunSummary]:
        return [LEFT, replace(LEFT, run="run-2", leader="ben@desk/2/run-2/b")]

    def lock(self) -> HeldLock:
        self.looks += 1
        return HeldLock("ben@desk/2/run-2/b", NOW + timedelta(seconds=self.looks))

    def ask(self, run: str, wanted: RunPhase, who: str) -> None: ...


@pytest.mark.parametrize("wanted", [RunPhase.RUNNING, RunPhase.PAUSED, RunPhase.ABORTED])
def test_nobody_leads_a_run_that_was_left(wanted: RunPhase) -> None:
    assert ask_leader(Others(), LEFT, wanted, "cid@desk", lambda seconds: None) is WishSource.NOBODY  # type: ignore[arg-type]
