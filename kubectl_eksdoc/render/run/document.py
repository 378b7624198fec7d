"""What came of a run as one plain document: the last line of ``-o json``, as DrainRun.json says.

What is not known or did not happen is null, never 0 and never "".
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.documents import API_VERSION, DRAIN_RUN
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.record.document import errors, node, placements, seconds, times, troubles
from kubectl_eksdoc.render.run import words
from kubectl_eksdoc.render.run.view import RunView
from kubectl_eksdoc.render.times import rfc3339


def document(view: RunView) -> Fields:
    """The events are told before, line by line."""
    record = view.record
    return {
        "apiVersion": API_VERSION,
        "kind": DRAIN_RUN,
        "metadata": cast(Json, metadata(record.cluster, record.options, record.tool_version)),
        "run": view.run,
        "outcome": view.outcome.value,
        "stopped": known(view.stopped),
        "resumed": view.resumed,
        "who": view.who,
        "host": view.host,
        "begunAt": rfc3339(view.begun_at),
        "endedAt": rfc3339(view.ended_at),
        **times(record),
        **errors(record),
        "readySeconds": seconds(record.record.ready_s),
        "notReady": strings(record.record.unready),
        "evictions": record.evictions,
        "nodes": [node(each) for each in record.nodes],
        **placements(record),
        **troubles(record),
        "againstPlan": strings(words.against_plan(view)),
        "next": [{"text": step.text, "command": step.command} for step in view.steps],
        "findings": [finding(each) for each in record.planned.findings],
    }
