"""The asker's plan as it takes it, and what it prints, read: a JSON object a line (`asker.printing`)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import KEPT, TRANSPORTS, Counts, Report, Second, Stream
from kubectl_eksdoc.core.plan.dns.measuring.manner import LATE_S, QUESTION
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan

ASKER, VERSION = "eksdoc-dns-asker", 1
_COUNTS = ("sent", "answered", "late", "lost", "refused", "failed", "unsure", "unsent")
_LONGEST = 300


def asked(plan: MeasurePlan) -> str:
    """What its pods are given."""
    manner = plan.manner
    targets = [
        {"name": each.name, "address": each.address, "port": each.port, "kept": KEPT in each.transports}
        for each in plan.targets
    ]
    given = {
        "targets": targets,
        "transports": list(TRANSPORTS),
        "rate": manner.rate,
        "seconds": manner.asking_s,
        "timeout": manner.timeout_s,
        "late": LATE_S,
        "question": QUESTION,
    }
    return json.dumps(given, separators=(",", ":"))


def report_in(log: str) -> Report | Unknown:
    """What a log says, as far as it goes. Lines that are none of the asker's are passed over: a sidecar or a shell may
    say something, too; a last line without its end is one that is being written."""
    whole, _, _ = log.rpartition("\n")
    lines = [found for line in whole.splitlines() if (found := _object(line)) is not None]
    head = next((line for line in lines if line.get("asker") == ASKER), None)
    refused = next((str(line["error"]) for line in lines if "error" in line), "")
    if refused:
        return Unknown(f"the asker refused its plan: {refused}")
    if head is None:
        said = " ".join(log.split())[-_LONGEST:]
        return Unknown(f"its log is none of the asker's: {said}" if said else "its log is empty")
    if head.get("version") != VERSION:
        return Unknown(f"its log is of another version of the asker: {head.get('version')}")
    try:
        began = datetime.fromtimestamp(float(head["began"]), timezone.utc)
        return Report(began, _seconds(line for line in lines if "t" in line))
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, OSError) as error:
        return Unknown(f"its log cannot be read: {type(error).__name__}: {error}")


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _seconds(lines: Iterable[dict[str, Any]]) -> dict[Stream, dict[int, Second]]:
    found: dict[Stream, dict[int, Second]] = defaultdict(dict)
    for line in lines:
        stream = Stream(str(line["to"]), str(line["by"]))
        counts = Counts(*(int(line[name]) for name in _COUNTS))
        ms = line["ms"]
        times = None if ms is None else (float(ms[0]), float(ms[1]), float(ms[2]))
        found[stream][int(line["t"])] = Second(counts, times, tuple(map(str, line["why"])))
    return dict(found)
