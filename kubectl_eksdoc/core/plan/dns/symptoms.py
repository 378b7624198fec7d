"""What CoreDNS prints when something is wrong: as data, each with what it means and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symptom:
    """`parts` are all in such a line; `means` is a clause, `source` the file of coredns that prints it. `fatal`:
    CoreDNS ends with it."""

    parts: tuple[str, ...]
    means: str
    source: str
    fatal: bool = False


_OLD_ONE = "it does not take the changed Corefile and keeps the old one"
_NO_API = "it does not reach the API server"
_FORWARDED, _REFLECTOR = "plugin/errors, plugin/forward", "client-go, reflector"

SYMPTOMS = (
    Symptom(("plugin/loop", "Loop"), "its queries come back to itself: it forwards in a circle", "plugin/loop", True),
    Symptom(("plugin/reload", "reload failed"), _OLD_ONE, "plugin/reload"),
    Symptom(("Restart failed",), _OLD_ONE, "caddy, instance.Restart"),
    Symptom(("Corefile:", "Error during parsing"), "it does not take its Corefile", "core/dnsserver", True),
    Symptom(("bind: address already in use",), "another process has its port", "core/dnsserver", True),
    Symptom(("plugin/kubernetes", "Kubernetes API connection failure"), _NO_API, "plugin/kubernetes"),
    Symptom(("plugin/kubernetes", "Failed to watch"), f"{_NO_API}, or may not read there", _REFLECTOR),
    Symptom(("plugin/kubernetes", "i/o timeout"), _NO_API, _REFLECTOR),
    Symptom(("plugin/ready", "Still waiting on"), "plugins of it are not ready", "plugin/ready"),
    Symptom(("plugin/errors", "i/o timeout"), "who it forwards to does not answer in time", _FORWARDED),
    Symptom(("plugin/errors", "connection refused"), "who it forwards to refuses", _FORWARDED),
    Symptom(("plugin/errors", "no route to host"), "it has no way to whom it forwards to", _FORWARDED),
    Symptom(("plugin/errors", "SERVFAIL"), "lookups end with SERVFAIL", "plugin/errors"),
    Symptom(("concurrent queries exceeded maximum",), "more is asked at once than it forwards", "plugin/forward"),
    Symptom(("plugin/errors", "unreachable backend"), "nobody of those it forwards to is healthy", _FORWARDED),
)
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
