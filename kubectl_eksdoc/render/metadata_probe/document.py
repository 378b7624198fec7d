"""An active probe as one plain document: what ``-o json`` and ``-o yaml`` print, as ImdsActiveProbe.json says.

What is not known is null, and why is said beside it. Times are milliseconds.
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.documents import API_VERSION, IMDS_ACTIVE_PROBE
from kubectl_eksdoc.core.model.metadata_probe import Seen, Step
from kubectl_eksdoc.core.model.probe_pods import NotMade
from kubectl_eksdoc.core.plan.metadata.probing.choice import Likes
from kubectl_eksdoc.core.plan.metadata.probing.diagnosis import Answers, Diagnosis
from kubectl_eksdoc.core.plan.metadata.probing.result import Probed, ProbedNode
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.metadata_probe import words
from kubectl_eksdoc.render.metadata_probe.view import ProbeView


def document(view: ProbeView) -> Fields:
    """The whole of it. Lists are sorted, so the same answers are the same document."""
    plan = view.plan
    return {
        "apiVersion": API_VERSION,
        "kind": IMDS_ACTIVE_PROBE,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "verdict": words.in_short(view),
        "probe": {
            "id": plan.probe,
            "namespace": plan.manner.namespace,
            "image": plan.manner.image,
            "deadlineSeconds": plan.manner.deadline_s,
            "pods": strings(pod.name for pod in plan.pods),
            "noHostNetwork": known(plan.no_host),
        },
        "groups": [_likes(each) for each in plan.likes],
        "refused": [_refused(name, view.refused[name]) for name in sorted(view.refused)],
        "nodes": [] if view.probed is None else [_node(each) for each in view.probed.nodes],
        "cleanup": None if view.probed is None else _cleanup(view.probed),
        "findings": [finding(each) for each in view.findings],
    }


def _refused(pod: str, why: NotMade) -> Fields:
    fields: Fields = {"pod": pod, "why": why.why}
    return fields | ({"missing": why.missing} if why.missing else {})


def _likes(likes: Likes) -> Fields:
    return {
        "name": known(likes.group),
        "owner": likes.owner.value,
        "nodes": strings(likes.nodes),
        "probed": strings(likes.chosen),
        "whyNot": known(likes.why_not),
    }


def _node(node: ProbedNode) -> Fields:
    return {
        "name": node.node,
        "v4": _diagnosis(node.v4),
        "v6": _diagnosis(node.v6),
        "pod": _answers(node.own),
        "host": _answers(node.host),
    }


def _diagnosis(found: Diagnosis) -> Fields:
    return {
        "verdict": found.reach.value,
        "cause": found.cause.value,
        "why": found.why,
        "doubt": known(found.doubt),
    }


def _answers(answers: Answers) -> Fields:
    if isinstance(answers, Unknown):
        fields: Fields = {"ran": False, "why": answers.why}
        return fields | ({"missing": answers.missing} if answers.missing else {})
    return {"ran": True, "v4": _seen(answers.v4), "v6": _seen(answers.v6)}


def _seen(seen: Seen) -> Fields:
    return {"requests": [_step(step) for step in seen.steps], "instance": known(seen.instance)}


def _step(step: Step) -> Fields:
    return {
        "request": step.ask.value,
        "status": step.code or None,
        "curlExitCode": step.exit,
        "connectMs": None if step.stood is None else round(step.stood, 3),
        "totalMs": round(step.total, 3),
    }


def _cleanup(probed: Probed) -> Fields:
    return {
        "owner": probed.owner,
        "interrupted": probed.interrupted,
        "left": strings(probed.left),
        "notRemoved": known(probed.not_removed),
    }
