"""What a finding rests on, said once for each pod: where it runs, and why it is not Ready."""

from __future__ import annotations

import re

from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.render.drain.groups import Group

_PLACE = re.compile(r"(?:guards|pod) (\S+) on (\S+)")
_NOT_READY = re.compile(r"(\S+) is not Ready: (.+)")
_NO_REASON = "no reason given"
_CUT = re.compile(r"and (\d+) more")


def evidence(group: Group) -> tuple[tuple[str, ...], int]:
    """The lines, each once, and how many more there are than the findings hold.

    What only repeats the finding's own subject and node is left out.
    """
    lines: dict[str, None] = {}
    uncounted = 0
    for found in group.findings:
        for text in _joined(found):
            cut = _CUT.fullmatch(text)
            uncounted += int(cut[1]) if cut else 0
            if not cut and text not in _said(found, group):
                lines[text] = None
    return tuple(lines), uncounted


def _joined(found: Finding) -> list[str]:
    """A pod's place and its reason as one line: ``shop/thumbs-1 on old-3: CrashLoopBackOff``."""
    places = {match[1]: match[2] for text in found.evidence if (match := _PLACE.fullmatch(text))}
    sick = {match[1]: match[2] for text in found.evidence if (match := _NOT_READY.fullmatch(text))}
    lines = []
    for text in found.evidence:
        place, reason = _PLACE.fullmatch(text), _NOT_READY.fullmatch(text)
        if reason and reason[1] in places:
            because = f"not Ready, {_NO_REASON}" if reason[2] == _NO_REASON else reason[2]
            lines.append(f"{reason[1]} on {places[reason[1]]}: {because}")
        elif not place:
            lines.append(text)
        elif place[1] not in sick:
            lines.append(f"{place[1]} on {place[2]}")
    return lines


def _said(found: Finding, group: Group) -> set[str]:
    """What the head of the finding says already."""
    return {f"{found.subject} on {node}" for node in group.nodes} if found.subject.kind == "Pod" else set()
