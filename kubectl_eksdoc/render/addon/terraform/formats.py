"""What ``-o`` offers for a Terraform plan that was judged."""

from __future__ import annotations

from kubectl_eksdoc.render.addon.terraform.view import TerraformView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: TerraformView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.terraform.table import table

    return table(view, look)


def _wide(view: TerraformView, look: Look) -> str:
    from kubectl_eksdoc.render.addon.terraform.table import wide

    return wide(view, look)


def _result(view: TerraformView) -> object:
    from kubectl_eksdoc.render.addon.terraform.result import of_plan

    return of_plan(view)


FORMATS: Formats[TerraformView] = Formats("an add-on's update", {"table": _table, "wide": _wide, **documents(_result)})
