"""What all formats of a run that came to its end are made from."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.render.drain.invocation import NextStep
from kubectl_eksdoc.render.record.view import RecordView


class Outcome(str, Enum):
    DONE = "done"  # every node that was to be drained is empty
    PARTIAL = "partial"  # it came to its end, and some nodes are not
    STOPPED = "stopped"  # it asks for nothing more, and was not at its end


@dataclass(frozen=True, slots=True)
class RunView:
    """`record`: what was planned and what happened, with times from the begin of this part of the run; `stopped`: why,
    "" if it was not. `resumed`: somebody had begun it before. `reached_by`: the words that lead to the same cluster
    again, and to the namespace of the journal."""

    run: str
    record: RecordView
    begun_at: datetime
    ended_at: datetime
    who: str
    host: str
    stopped: str = ""
    resumed: bool = False
    reached_by: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        if self.stopped:
            return Outcome.STOPPED
        return Outcome.PARTIAL if self.record.not_emptied else Outcome.DONE

    def command(self, verb: str) -> str:
        """``kubectl eksdoc drain resume RUN``, to be copied into a shell."""
        return shlex.join(["kubectl", "eksdoc", "drain", verb, self.run, *self.reached_by])

    @property
    def steps(self) -> tuple[NextStep, ...]:
        """What can be done next, each true of this outcome."""
        back = NextStep(
            "Take the cordons back, of this run alone; pods do not move back by themselves", self.command("rollback")
        )
        if self.outcome is Outcome.STOPPED:
            return (NextStep("Go on from here, on any machine", self.command("resume")), back)
        if self.outcome is Outcome.PARTIAL:
            return (NextStep("Fix what was in the way, then resume", self.command("resume")), back)
        return (back,)
