"""The rehearsal of a drain in every format: what happened in virtual time, beside what the plan says.

Belongs here: what of a rehearsal is shown, in which order and in which words.
Never here: how a drain is rehearsed (that is `flows.rehearse`), what a plan says by itself (that is beside).
"""

from __future__ import annotations

from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.rehearsal.formats import FORMATS

render = FORMATS.render

__all__ = ["FORMATS", "Look", "RecordView", "render"]
