"""What ``drain run -o json`` tells of a run, as data: its events, and what came of it in the end.

The types are nouns of the model because they are read back from a file. What they mean is in `core.run.recording`; the
lines are in `objects.event_lines`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RunEvent:
    """`at_s` from the begin of its part of the run, `at` by the clock of the machine that led it, in whole seconds;
    `what` is a word of `core.run.moments.Happened`, or one that a newer version wrote."""

    run: str
    at: datetime
    at_s: float
    what: str
    subject: str
    node: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The last line of a part of the run. `outcome` in a word, `stopped`: why, "" if it was not; `ended_s` from the
    begin of this part. `nodes` in their order, each with its wave (0: none); `left` are those that were not emptied.

    What was planned: `evictions`, and p50 and p95 of the estimate in seconds, None where nothing could be estimated.
    `said`: estimate against actual, sentence by sentence.
    """

    run: str
    outcome: str
    ended_s: float
    stopped: str = ""
    resumed: bool = False
    nodes: tuple[tuple[str, int], ...] = ()
    left: tuple[str, ...] = ()
    evictions: int | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunEvents:
    """In the order of their lines; `dropped` says of every line that is none of them what is wrong with it."""

    told: tuple[RunEvent | RunEnd, ...] = ()
    dropped: tuple[str, ...] = ()
