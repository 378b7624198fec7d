"""What CoreDNS prints when something is wrong (knowledge/coredns_log_lines.json)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.knowledge import Source, records


@dataclass(frozen=True, slots=True)
class Symptom:
    """`parts` are all in such a line; `means` is a clause, `source` the part of CoreDNS that prints it. `fatal`:
    CoreDNS ends with it."""

    parts: tuple[str, ...]
    means: str
    source: Source
    fatal: bool = False


SYMPTOMS = records(Symptom, "coredns_log_lines")
"""The first one that fits a line is what it says."""

LONGEST = 240


@dataclass(frozen=True, slots=True)
class Seen:
    """`times` lines of a log say so; `line` is the last of them."""

    symptom: Symptom
    times: int
    line: str


def tells(line: str) -> bool:
    """Whether anything is read from such a line of a log."""
    return bool(symptoms(line))


def symptoms(log: str) -> tuple[Seen, ...]:
    """What a log tells, in the order of `SYMPTOMS`."""
    lines: dict[Symptom, list[str]] = {}
    for line in log.splitlines():
        found = next((each for each in SYMPTOMS if all(part in line for part in each.parts)), None)
        if found is not None:
            lines.setdefault(found, []).append(line.strip()[:LONGEST])
    return tuple(Seen(each, len(lines[each]), lines[each][-1]) for each in SYMPTOMS if each in lines)


def together(seen: Iterable[Seen]) -> tuple[Seen, ...]:
    """Of several logs."""
    sums: dict[Symptom, Seen] = {}
    for each in seen:
        before = sums.get(each.symptom)
        sums[each.symptom] = each if before is None else Seen(each.symptom, before.times + each.times, each.line)
    return tuple(sums[each] for each in SYMPTOMS if each in sums)
