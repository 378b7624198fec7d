"""What the process of one cluster has printed, as facts. It is a program of ours, and may be cut off all the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from kubectl_eksdoc.core.model.addon_codes import OBJECT_UNREAD
from kubectl_eksdoc.core.model.api_objects import Doc, at, text_at
from kubectl_eksdoc.core.model.cluster import Identity
from kubectl_eksdoc.core.model.documents import ADDON_DIFF, API_VERSION, IMDS_PROBE, UPGRADE_CHECK
from kubectl_eksdoc.core.model.findings import Severity, Status
from kubectl_eksdoc.core.model.fleet import Answered, Figure, Outcome, Said, Unanswered

ANSWERS = (0, 1, 5)
"""Exit codes with which there is an answer."""
REFUSALS = (2, 3, 4, 70)
"""Those that say why there is none: usage, the cluster, AWS, a bug."""

_BUG = 70
_UNKNOWN = "unknown"
_KILLED = -9
_SHORT_OF_MEMORY = "The machine may be short of memory: ask fewer at a time (--fleet-at-once)."
_NAMES = {
    **{name: name for name in ("context", "cluster", "account", "region", "uid")},
    "server_version": "serverVersion",
}
"""Of fields, in the document."""
_ERROR = "error: "
_LONGEST = 1000
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z\Z")


def outcome(status: int, printed: bytes, complaint: str, kind: str) -> Outcome:
    """`status`: as `subprocess` has it; `complaint`: the end of its stderr; `kind`: of the document that it prints."""
    reason, hint = _complained(complaint)
    if status in REFUSALS:
        return Unanswered(status, reason or f"its process ended with exit code {status} and said nothing", hint)
    if status not in ANSWERS:
        how = f"was killed by signal {-status}" if status < 0 else f"ended with exit code {status}"
        hint = _SHORT_OF_MEMORY if status == _KILLED else hint
        return Unanswered(_BUG, f"its process {how}{f': {reason}' if reason else ''}", hint)
    document = _document(printed)
    whole = isinstance(document.get("findings"), list)  # without them nothing is known, and least that all is well
    if document.get("kind") != kind or document.get("apiVersion") != API_VERSION or not whole:
        return Unanswered(_BUG, f"its process ended with exit code {status} and printed no {kind}", reason)
    return Answered(
        status,
        Identity(
            **{field: text_at(document, "metadata", "cluster", name) for field, name in _NAMES.items()},
            unverified=_unverified(document),
        ),
        text_at(document, "metadata", "source"),
        _moment(text_at(document, "metadata", "observedAt")),
        text_at(document, "verdict"),
        tuple(_said(each) for each in _objects(document, "findings")),
        tuple(_FIGURES.get(kind, _no_figures)(document)),
        document,
    )


def _unverified(document: Doc) -> tuple[str, ...]:
    found = at(document, "metadata", "cluster", "unverified")
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _complained(text: str) -> tuple[str, str]:
    """The last error, and what it says to try; without one the last line."""
    lines = [line.strip()[:_LONGEST] for line in text.split("\n")]
    begun = [number for number, line in enumerate(lines) if line.startswith(_ERROR)]
    if begun:
        hint = " ".join(line for line in lines[begun[-1] + 1 :] if line)
        return lines[begun[-1]].removeprefix(_ERROR), hint[:_LONGEST]
    return next((line for line in reversed(lines) if line), ""), ""


def _document(printed: bytes) -> Doc:
    """{} for what is no JSON object."""
    try:
        found = json.loads(printed, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _no_number(word: str) -> NoReturn:
    """NaN could not be printed again."""
    raise ValueError(f"{word} is no number in JSON")


def _moment(text: str) -> str:
    return text if _MOMENT.match(text) else ""


def _said(finding: Doc) -> Said:
    names = [text_at(finding, "subject", key) for key in ("namespace", "name")]
    subject = f"{text_at(finding, 'subject', 'kind')} {'/'.join(filter(None, names))}".strip()
    severity, status = text_at(finding, "severity"), text_at(finding, "status")
    return Said(
        text_at(finding, "code"),
        text_at(finding, "title"),
        Severity(severity) if severity in _SEVERITIES else Severity.INFO,
        Status(status) if status in _STATUSES else Status.UNKNOWN,
        subject,
        text_at(finding, "message"),
        text_at(finding, "gate"),
        text_at(finding, "missing"),
    )


_SEVERITIES = {each.value for each in Severity}
_STATUSES = {each.value for each in Status}


def _objects(of: Any, *path: str) -> Iterator[Doc]:
    """The objects of a list, wherever it may stand."""
    found = at(of, *path)
    return (each for each in found if isinstance(each, dict)) if isinstance(found, list) else iter(())


def _no_figures(document: Doc) -> Iterator[Figure]:
    return iter(())


def _of_check(document: Doc) -> Iterator[Figure]:
    """Where its way leads: without --target each goes to its own next version."""
    yield Figure("TARGET", text_at(document, "way", "target") or "-")


def _of_addons(document: Doc) -> Iterator[Figure]:
    """The add-ons whose fields somebody has set and an update puts at risk, with how many. What nobody could look at
    may have more."""
    risks = {
        text_at(each, "name"): sum(field.get("atRisk") is True for field in _objects(each, "fields"))
        for each in _objects(document, "addons")
    }
    changing = [f"{name} ({count})" for name, count in sorted(risks.items()) if name and count]
    yield Figure("ADD-ONS", str(len(risks)))
    unread = any(text_at(each, "code") == OBJECT_UNREAD.name for each in _objects(document, "findings"))
    yield Figure("AT RISK", ", ".join([*changing, *(["?"] if unread else [])]) or "-")


def _of_metadata(document: Doc) -> Iterator[Figure]:
    """Nodes whose pods are cut off from a service that is there, of all; pods that are broken, and that will be. Where
    that is not known of some nodes, a figure alone would say that all is well."""
    nodes = cut_off = unknown = unknown_next = broken = will_break = 0
    for group in _objects(document, "groups"):
        names = at(group, "nodes")
        count = len(names) if isinstance(names, list) else 0
        nodes += count
        lost = text_at(group, "now", "verdict") == "cut off" and at(group, "now", "service") is not False
        cut_off += count if lost else 0
        unknown += count if text_at(group, "now", "verdict") == _UNKNOWN else 0
        unknown_next += text_at(group, "next", "verdict") == _UNKNOWN
        broken += sum(1 for _ in _objects(group, "pods", "brokenNow"))
        will_break += sum(1 for _ in _objects(group, "pods", "willBreak"))
    yield Figure("CUT OFF", f"{cut_off} of {nodes}{f', {unknown} unknown' if unknown else ''}")
    yield Figure("BROKEN", f"{broken} ?" if unknown else str(broken))
    yield Figure("WILL BREAK", f"{will_break} ?" if unknown_next else str(will_break))


_FIGURES: Mapping[str, Callable[[Doc], Iterator[Figure]]] = {
    UPGRADE_CHECK: _of_check,
    ADDON_DIFF: _of_addons,
    IMDS_PROBE: _of_metadata,
}
