"""``-o table`` and ``-o wide`` of a Terraform plan: each change by its address, and what to write there instead."""

from __future__ import annotations

from kubectl_eksdoc.addon_diff.terraform.result import Judged
from kubectl_eksdoc.render.addon import commands
from kubectl_eksdoc.render.addon import table as of_addon
from kubectl_eksdoc.render.addon.terraform import words
from kubectl_eksdoc.render.addon.terraform.blocks import blocks
from kubectl_eksdoc.render.addon.terraform.view import TerraformView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import MARGIN, findings
from kubectl_eksdoc.render.text import shown, wrap


def table(view: TerraformView, look: Look) -> str:
    """The verdict, then for each change its address, what it loses, findings, the arguments that keep all."""
    return _text(view, look, full=False)


def wide(view: TerraformView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: TerraformView, look: Look, full: bool) -> str:
    judgement = view.judgement
    left_out = words.left_out(judgement.elsewhere)
    found = [
        [
            *(look.paint(line, Tone.TITLE) for line in wrap(shown(words.verdict(view), look), look.columns)),
            *(wrap(shown(left_out, look), look.columns) if left_out else []),
        ],
        findings(judgement.findings, " of the plan as a whole", look, full),
    ]
    for each in judgement.changes:
        found += _of(each, look, full)
    return "\n\n".join("\n".join(lines) for lines in found if lines) + "\n"


def _of(judged: Judged, look: Look, full: bool) -> list[list[str]]:
    head = [look.paint(shown(judged.change.request.address, look), Tone.TITLE)]
    for text in (words.asks(judged.change), *map(str, judged.supposed)):
        head += wrap(shown(text, look), look.columns, MARGIN, MARGIN * 2)
    if judged.plan is None:
        return [head, findings(judged.findings, "", look, full)]
    return [head, *of_addon.sections(judged.plan, look, full), _way_out(judged, look)]


def _way_out(judged: Judged, look: Look) -> list[str]:
    plan = judged.plan
    if plan is None or plan.way_out is None:
        return []
    lines: list[str] = []
    for versions, text in blocks(judged.change, plan, plan.way_out):
        lines += of_addon.written(f"Terraform, AWS provider {versions}:", text, look)
    given = judged.change.where.gives_values and all(each.gives_values for each in judged.change.generations)
    if not judged.change.creates and not given:
        lines += of_addon.written("By the AWS CLI:", commands.update_addon(plan, plan.way_out), look)
    return of_addon.way_out(plan, lines, look, judged.change.creates)
