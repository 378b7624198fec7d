"""A Terraform plan that was judged as ``-o json`` and ``-o yaml`` print it: a diff, with the addresses that
ask for it."""

from __future__ import annotations

from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.terraform.result import Judged
from kubectl_eksdoc.render.addon.result import (
    DiffAddon,
    DiffLeftOut,
    DiffResult,
    DiffTerraform,
    DiffTerraformChange,
    addon,
)
from kubectl_eksdoc.render.addon.terraform import words
from kubectl_eksdoc.render.addon.terraform.blocks import blocks
from kubectl_eksdoc.render.addon.terraform.view import TerraformView
from kubectl_eksdoc.render.command_result import metadata


def of_plan(view: TerraformView) -> DiffResult:
    """`addons` are the changes of which an update or a creation was judged; `terraform.changes` are all."""
    judgement = view.judgement
    return DiffResult.filled(
        view,
        metadata=metadata(view.cluster, view),
        terraform=DiffTerraform.filled(
            judgement.plan,
            version=judgement.plan.terraform,
            errored=judgement.plan.failed,
            verdict=words.verdict(view),
            changes=map(_change, judgement.changes),
            left_out=(DiffLeftOut.filled(each, cluster=each.cluster or None) for each in judgement.elsewhere),
        ),
        addons=(_addon(each, each.plan) for each in judgement.changes if each.plan is not None),
        since=None,
        findings=judgement.every,
    )


def _change(judged: Judged) -> DiffTerraformChange:
    change, request = judged.change, judged.change.request
    argument = request.set_by or ("preserve" if request.after is None else change.conflicts)
    return DiffTerraformChange.filled(
        request,
        action=request.kind,
        from_=request.before,
        to=request.after,
        written_at=change.where.argument(argument),
        preserves=request.keeps,
        providers=() if change.request.resource.cloud_control else change.generations,
        supposed=map(str, judged.supposed),
        outcome=words.outcome(judged),
    )


def _addon(judged: Judged, plan: AddonPlan) -> DiffAddon:
    return addon(plan, lambda of, way: blocks(judged.change, of, way), address=judged.change.request.address)
