"""The rehearsal as one plain document: what ``-o json`` and ``-o yaml`` print, as DrainRehearsal.json says.

What is not known or did not happen is null, never 0 and never "".
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.documents import API_VERSION, DRAIN_REHEARSAL
from kubectl_eksdoc.core.run.moments import Moment
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.record.document import node, placements, seconds, times, troubles
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.rehearsal import words


def document(view: RecordView) -> Fields:
    """The whole rehearsal. Lists are sorted, so the same rehearsal is the same document."""
    return {
        "apiVersion": API_VERSION,
        "kind": DRAIN_REHEARSAL,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        **times(view),
        "nodes": [node(each) for each in view.nodes],
        "moments": [_moment(moment) for moment in view.moments],
        **placements(view),
        **troubles(view),
        "differences": strings(words.differences(view)),
        "notShown": strings(words.NOT_SHOWN),
        "findings": [finding(each) for each in view.planned.findings],
    }


def _moment(moment: Moment) -> Fields:
    return {
        "atSeconds": seconds(moment.at_s),
        "what": moment.what.value,
        "subject": moment.subject,
        "node": known(moment.node),
        "why": known(moment.why),
    }
