"""An event of a run: a line of ``drain run -o json``. What is not known is null."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from kubectl_eksdoc.core.run import moments
from kubectl_eksdoc.core.run.moments import Happened
from kubectl_eksdoc.render.drain.estimate_result import Seconds
from kubectl_eksdoc.render.record.result import seconds as rounded
from kubectl_eksdoc.render.result import KindResult, Moment, Text


class EventResult(KindResult):
    """One event of a drain, printed when it happens: a line of kubectl eksdoc drain run -o json."""

    kind: Literal["DrainRunEvent"]
    run: Text
    """The id of the run."""
    at: Moment
    """By the clock of the machine that leads the run."""
    seconds: Seconds
    """From the start of this part of the run."""
    what: Happened
    subject: Text
    """A node, a pod (namespace/name), or the drain; of a restart, where a journal is read, the workload (Deployment
    namespace/name)."""
    node: Text | None
    """The pod's; null where the subject is a node."""
    why: Text | None
    """Of a refusal the server's cause, or its message; of the drain who or what held it."""


def event(moment: moments.Moment, run: str, at: datetime) -> EventResult:
    return EventResult.filled(moment, run=run, at=at, seconds=rounded(moment.at_s))
