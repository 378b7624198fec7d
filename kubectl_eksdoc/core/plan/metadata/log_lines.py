"""What programs print that get nothing from the instance metadata service.

The lines are records (`knowledge/metadata_log_lines.json`). Such a line says that credentials, a region or something
else was looked for and not found; that the metadata service is why follows only together with a node on which the pod
does not reach it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model.knowledge import Source, records
from kubectl_eksdoc.core.plan.metadata.programs import Need
from kubectl_eksdoc.core.rules.keeping.secrets import hidden

NOTHING = "nothing"
"""What is lacking by a line that names another cause."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """`text` is part of a line, as printed; `lacks` what was not had, `NOTHING` where the line names another cause of a
    failure; `weak`: programs may go on after it. `asks`: it would have asked the service. `beside`: what the line has
    as well, where its text alone may be of anything."""

    text: str
    lacks: str
    program: str
    source: Source
    weak: bool = False
    asks: bool = True
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """`line` is the last one that says so, without what surrounds it, and without credentials that a program prints.
    `after`: so many lines were printed after it."""

    said: LogLine
    line: str
    after: int = 0

    @property
    def lacks(self) -> str:
        """A clause."""
        return _CLAUSES.get(self.said.lacks, self.said.lacks)


_CLAUSES = {need.name.lower(): need.value for need in Need}


@dataclass(frozen=True, slots=True)
class Read:
    """What a log tells: the last line that is a `symptom`, one that is a `weak` one, and one that names `another`
    cause after it."""

    symptom: Seen | None = None
    weak: Seen | None = None
    another: Seen | None = None


LONGEST = 300
_SAID_WELL = ("200 OK", '"status":200')


@functools.cache
def log_lines() -> tuple[LogLine, ...]:
    """The first that is found in a line is what it says."""
    return records(LogLine, "metadata_log_lines")


@functools.cache
def _lowered() -> tuple[tuple[str, LogLine], ...]:
    return tuple((each.text.lower(), each) for each in log_lines())


def read(log: str) -> Read:
    """The last line of each kind; a symptom, weak or not, that was printed after another cause is the later word."""
    found = Read()
    for seen in _told(log):
        if seen.said.lacks == NOTHING:
            found = Read(found.symptom, found.weak, seen)
        elif seen.said.weak:
            found = Read(found.symptom, seen)
        else:
            found = Read(seen, found.weak)
    return found


def tells(line: str) -> bool:
    """Whether anything is read from such a line of a log."""
    return next(_told(line), None) is not None


def _told(log: str) -> Iterator[Seen]:
    lines = log.splitlines()
    for at, line in enumerate(lines, 1):
        lowered = line.lower()
        said = next((each for text, each in _lowered() if text in lowered and each.beside.lower() in lowered), None)
        if said is not None and not (said.weak and any(well in line for well in _SAID_WELL)):
            yield Seen(said, hidden(line.strip())[:LONGEST], len(lines) - at)
