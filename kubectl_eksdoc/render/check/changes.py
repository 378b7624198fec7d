"""What has changed, on a screen: the newest first, and what nobody looked at."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import MARGIN, Column, Row, Title, more, plain, titled
from kubectl_eksdoc.render.text import age, between, rfc3339, shown, wrap

if TYPE_CHECKING:
    from kubectl_eksdoc.check.changed import Changed

_MOST = 15
"""Changes that a page shows."""


def changes(found: Changed | None, now: datetime, look: Look, full: bool) -> list[str]:
    """None where nobody asked. `now`: the moment of the observation."""
    if found is None:
        return []
    kept = found.changes if full else found.changes[:_MOST]
    columns = [Column("AT"), Column("AGO", right=True, drop=1), Column("WHAT", floor=24, lines=2)]
    rows: list[Row] = [
        [rfc3339(each.at), age(between(each.at, now)), f"{each.subject.kind} {each.subject}: {each.what}"]
        for each in kept
    ]
    lines = plain(columns, rows, look, indent=len(MARGIN), fit=not full) or [f"{MARGIN}nothing that still shows"]
    lines += more(len(found.changes) - len(kept), look)
    for each in found.unread:
        text = wrap(shown(f"? not known: {each}", look), look.columns, MARGIN, MARGIN * 2)
        lines += [look.paint(text[0], Tone.UNKNOWN), *text[1:]]
    return titled(Title("Changed", f" since {rfc3339(found.since)}"), lines, look)
