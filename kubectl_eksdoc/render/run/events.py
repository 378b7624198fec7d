"""What happens in a run, as it happens: a line for people, a result of one line for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from kubectl_eksdoc.core.run.moments import Happened, Moment
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import shown

if TYPE_CHECKING:
    from kubectl_eksdoc.render.result import Printed

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


def event_line(moment: Moment, run: str, at: datetime) -> str:
    """The same as JSON."""
    from kubectl_eksdoc.render.run.event_result import event

    return json_line(event(moment, run, at))


def json_line(result: Printed) -> str:
    """One line of pure ASCII, with its end: a reader may take it apart by lines."""
    from kubectl_eksdoc.render.result import plain

    return json.dumps(plain(result), ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"
