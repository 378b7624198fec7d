"""What programs print that get nothing from the instance metadata service (knowledge/metadata_log_lines.json).

A line of these says that credentials, a region or a VPC were looked for and not found; that the metadata service is why
follows only together with a node on which the pod does not reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model.knowledge import Source, records
from kubectl_eksdoc.core.rules.keeping.secrets import hidden


@dataclass(frozen=True, slots=True)
class Symptom:
    """`text` is part of a line, as printed; `lacks` what was not had; `source`: who prints it."""

    text: str
    lacks: str
    source: Source


SYMPTOMS = records(Symptom, "metadata_log_lines")
"""The plainest last: the first one that is found in a line is what it says."""


@dataclass(frozen=True, slots=True)
class Seen:
    """`line` is the last one that says so, without what surrounds it, and without credentials that a program prints."""

    symptom: Symptom
    line: str


LONGEST = 300
_SAID_WELL = ("200 OK", '"status":200')


def last_symptom(log: str) -> Seen | None:
    """The last line of a log that tells one; None if none does."""
    found = None
    for line, symptom in _told(log):
        found = Seen(symptom, line)
    return found


def tells(line: str) -> bool:
    """Whether anything is read from such a line of a log."""
    return next(_told(line), None) is not None


def _told(log: str) -> Iterator[tuple[str, Symptom]]:
    for line in log.splitlines():
        symptom = next((each for each in SYMPTOMS if each.text.lower() in line.lower()), None)
        if symptom is not None and not any(well in line for well in _SAID_WELL):
            yield hidden(line.strip())[:LONGEST], symptom
