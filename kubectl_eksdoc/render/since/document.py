"""What became of findings as part of the document of a command that does not declare its result yet."""

from __future__ import annotations

from kubectl_eksdoc.core.plan.since.changes import Since
from kubectl_eksdoc.render.document import Fields
from kubectl_eksdoc.render.result import plain
from kubectl_eksdoc.render.since.result import SinceResult


def since_fields(since: Since | None) -> Fields:
    """`since`; left out where no earlier answer was given."""
    return {} if since is None else {"since": plain(SinceResult.of(since))}
