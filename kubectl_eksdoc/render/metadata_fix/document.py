"""A fix as one plain document: what ``--apply -o json`` prints, as ImdsFix.json says; and one to choose, in a probe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from kubectl_eksdoc.core.model.documents import API_VERSION, IMDS_FIX
from kubectl_eksdoc.core.plan.metadata.fixes.fix import Fix
from kubectl_eksdoc.core.run.metadata.became import Done, Part
from kubectl_eksdoc.render.document import Fields, known, metadata, strings
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.metadata_fix import words
from kubectl_eksdoc.render.metadata_fix.view import FixView


def document(view: FixView) -> Fields:
    """The whole of it. `outcome` is null where nothing was asked for."""
    return {
        "apiVersion": API_VERSION,
        "kind": IMDS_FIX,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "run": known(view.run),
        "journal": known(view.journal),
        "fix": view.name,
        "verdict": words.verdict(view),
        "nodes": strings(view.act.nodes),
        "forbidden": known(view.forbidden),
        "tried": strings(view.tried),
        "wayBack": strings(view.back),
        "fixes": [fix(each) for each in view.fixes],
        "outcome": None if view.done is None else _outcome(view.done),
        "findings": [],
    }


def fix(each: Fix) -> Fields:
    """One that exists."""
    blast = each.blast
    return {
        "name": each.name,
        "when": each.when.value,
        "does": each.does,
        "byThisTool": each.act is not None,
        "commands": strings(each.commands),
        "wayBack": strings(each.back),
        "blast": {"nodes": blast.nodes, "pods": blast.pods, "instances": blast.instances, "how": blast.how},
        "lasts": each.lasts,
        "cautions": strings(each.cautions),
    }


def _outcome(done: Done) -> Fields:
    return {
        "whole": done.whole,
        "seconds": round(done.seconds),
        "left": known(done.left),
        "parts": _parts(done.parts),
        "templateVersion": done.number or None,
        "update": known(done.update),
        "stage": None if done.stage is None else done.stage.value,
        "errors": [{"code": each.code, "message": each.message} for each in done.errors],
        "nodes": _parts(done.nodes),
        "proofs": _parts(done.proofs),
    }


def _parts(parts: Iterable[Part]) -> list[Json]:
    return [{"what": each.what, "became": each.became.value, "why": known(each.why)} for each in parts]
