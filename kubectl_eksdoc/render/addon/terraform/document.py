"""A Terraform plan that was judged as one plain document: an AddonDiff, with the addresses that ask for it."""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.documents import ADDON_DIFF, API_VERSION
from kubectl_eksdoc.core.plan.addon.plan import AddonPlan
from kubectl_eksdoc.core.plan.addon.terraform.requests import AddonRequest
from kubectl_eksdoc.core.plan.addon.terraform.result import Judged
from kubectl_eksdoc.render.addon.document import addon
from kubectl_eksdoc.render.addon.terraform import words
from kubectl_eksdoc.render.addon.terraform.blocks import blocks
from kubectl_eksdoc.render.addon.terraform.view import TerraformView
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings
from kubectl_eksdoc.render.encode import Json


def document(view: TerraformView) -> Fields:
    """`addons` are the changes of which an update or a creation was judged; `terraform.changes` are all."""
    judgement = view.judgement
    return {
        "apiVersion": API_VERSION,
        "kind": ADDON_DIFF,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "terraform": {
            "file": judgement.plan.file,
            "version": known(judgement.plan.terraform),
            "errored": judgement.plan.failed,
            "deferred": strings(judgement.plan.deferred),
            "verdict": words.verdict(view),
            "changes": [_change(each) for each in judgement.changes],
            "leftOut": [_left_out(each) for each in judgement.elsewhere],
        },
        "addons": [_addon(each, each.plan) for each in judgement.changes if each.plan is not None],
        "findings": [finding(each) for each in judgement.every],
    }


def _change(judged: Judged) -> Fields:
    change, request = judged.change, judged.change.request
    argument = request.set_by or ("preserve" if request.after is None else change.conflicts)
    return {
        "address": request.address,
        "action": request.kind.value,
        "addon": _text(request.addon),
        "from": _text(request.before),
        "to": _text(request.after),
        "mode": None if isinstance(request.mode, Unknown) else request.mode,
        "setBy": known(request.set_by),
        "writtenAt": change.where.argument(argument),
        "sendsValues": request.sends_values,
        "preserves": request.keeps,
        "providers": strings(each.value for each in change.generations),
        "supposed": strings(map(str, judged.supposed)),
        "outcome": words.outcome(judged),
    }


def _addon(judged: Judged, plan: AddonPlan) -> Fields:
    return {"address": judged.change.request.address} | addon(plan, lambda of, way: blocks(judged.change, of, way))


def _left_out(request: AddonRequest) -> Fields:
    return {"address": request.address, "cluster": _text(request.cluster)}


def _text(value: str | Unknown | None) -> str | None:
    """None for what is known after apply only, and for nothing."""
    return None if isinstance(value, Unknown) else known(value or "")
