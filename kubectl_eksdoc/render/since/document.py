"""What became of findings as part of an answer's document; null is what an answer does not say."""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.earlier import FindingOutline
from kubectl_eksdoc.core.plan.since.changes import Became, FindingSince, Since
from kubectl_eksdoc.render.document import Fields, identity, known, strings, subject
from kubectl_eksdoc.render.encode import Json, plain_value
from kubectl_eksdoc.render.times import rfc3339

_KEYS = {
    Became.NEW: "new",
    Became.FIXED: "fixed",
    Became.CHANGED: "changed",
    Became.NOT_KNOWN: "notKnownAnyMore",
    Became.NOT_JUDGED: "notJudgedThisTime",
    Became.KNOWN: "knownNow",
    Became.SUPPRESSED: "suppressed",
}


def since_fields(since: Since | None) -> Fields:
    """`since`; left out where no earlier answer was given."""
    return {} if since is None else {"since": _since(since)}


def _since(since: Since) -> Fields:
    earlier = since.earlier
    lists: Fields = {key: [_change(each) for each in since.of(became)] for became, key in _KEYS.items()}
    return {
        "file": earlier.file,
        "toolVersion": earlier.tool_version,
        "cluster": cast(Json, identity(earlier.identity)),
        "source": earlier.source.value,
        "observedAt": rfc3339(earlier.observed_at),
        "sameCluster": None if since.doubt else True,
        "asked": [
            {"option": each.option, "earlier": plain_value(each.before), "now": plain_value(each.now)}
            for each in since.asked
        ],
        "notes": strings(since.notes),
        **lists,
        "unchanged": since.unchanged,
    }


def _change(change: FindingSince) -> Fields:
    return {
        "code": change.either.code,
        "subject": subject(change.either.subject),
        "earlier": cast(Json, _said(change.before, change.hidden_before)),
        "now": cast(Json, _said(change.now, change.hidden_now)),
        "worse": change.worse,
        "why": known(change.why),
    }


def _said(finding: FindingOutline | None, hidden: bool) -> Fields | None:
    if finding is None:
        return None
    return {
        "severity": finding.severity.value,
        "status": finding.status.value,
        "message": finding.message,
        "suppressed": hidden,
    }
