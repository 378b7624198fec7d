"""What happens in a run, as it happens: a line for people, a document of one line for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone

from kubectl_eksdoc.core.model.documents import API_VERSION, DRAIN_RUN_EVENT
from kubectl_eksdoc.core.run.moments import Happened, Moment
from kubectl_eksdoc.render.document import Fields, known
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.render.times import rfc3339

_TONES: Mapping[Happened, Tone] = {
    Happened.DONE: Tone.GOOD,
    Happened.RELEASED: Tone.GOOD,
    Happened.REFUSED: Tone.WARN,
    Happened.KEPT: Tone.WARN,
    Happened.HELD: Tone.WARN,
    Happened.ADOPTED: Tone.WARN,
    Happened.LOST: Tone.WARN,
    Happened.LEFT_ALONE: Tone.BAD,
    Happened.STOPPED: Tone.BAD,
}

_WIDEST = max(len(what.value) for what in Happened)


def line(moment: Moment, at: datetime, look: Look) -> str:
    """``19:30:05Z  evicted     shop/web-1 on blue-1: why``, without its end; `at` is when it happened."""
    when = at.astimezone(timezone.utc).strftime("%H:%M:%SZ")
    what = look.paint(moment.what.value.ljust(_WIDEST), _TONES.get(moment.what))
    text = shown(moment.subject, look)
    if moment.node:
        text += f" on {shown(moment.node, look)}"
    if moment.why:
        text += f": {shown(moment.why, look)}"
    return f"{when}  {what}  {text}"


def document(moment: Moment, run: str, at: datetime) -> Fields:
    """As DrainRunEvent.json says; what is not known is null."""
    return {
        "apiVersion": API_VERSION,
        "kind": DRAIN_RUN_EVENT,
        "run": run,
        "at": rfc3339(at),
        "seconds": round(moment.at_s, 3) + 0.0,
        "what": moment.what.value,
        "subject": moment.subject,
        "node": known(moment.node),
        "why": known(moment.why),
    }


def json_line(fields: Fields) -> str:
    """One line of pure ASCII, with its end: a reader may take it apart by lines."""
    return json.dumps(fields, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"
