"""What came of a run as one plain document: the last line of ``-o json``, as DrainRun.json says.

What is not known or did not happen is null, never 0 and never "".
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.documents import API_VERSION, DRAIN_RUN
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.rehearsal.document import node_fields, plan_fields, seconds
from kubectl_eksdoc.render.run import words
from kubectl_eksdoc.render.run.view import RunView
from kubectl_eksdoc.render.times import rfc3339


def document(view: RunView) -> Fields:
    """The events are told before, line by line."""
    course = view.course
    return {
        "apiVersion": API_VERSION,
        "kind": DRAIN_RUN,
        "metadata": cast(Json, metadata(course.cluster, course.options, course.tool_version)),
        "run": view.run,
        "outcome": view.outcome.value,
        "stopped": known(view.stopped),
        "resumed": view.resumed,
        "who": view.who,
        "host": view.host,
        "begunAt": rfc3339(view.begun_at),
        "endedAt": rfc3339(view.ended_at),
        "plan": cast(Json, plan_fields(course)),
        "endedSeconds": seconds(course.rehearsal.ended_s),
        "lateSeconds": seconds(course.late_s),
        "evictions": course.evictions,
        "nodes": [node_fields(node) for node in course.nodes],
        "refusals": [{"cause": known(each.cause), "count": each.times} for each in course.refusals],
        "pending": [{"pod": each.pod, "why": known(each.why), "before": each.before} for each in course.pending],
        "reEvicted": strings(course.re_evicted),
        "notEmptied": strings(node.name for node in course.not_emptied),
        "againstPlan": strings(words.against_plan(view)),
        "next": [{"text": step.text, "command": step.command} for step in view.steps],
        "findings": [finding(each) for each in course.planned.findings],
    }
