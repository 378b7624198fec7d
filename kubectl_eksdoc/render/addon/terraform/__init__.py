"""The add-on changes of a Terraform plan, judged, in every format.

Belongs here: the order of what is said of a plan, its words, and what is to be written in Terraform instead.
Never here: what a change does (that is `addon_diff.terraform`), the update of an add-on that no plan asks for.
"""

from __future__ import annotations

from kubectl_eksdoc.render.addon.terraform.formats import FORMATS
from kubectl_eksdoc.render.addon.terraform.view import TerraformView

__all__ = ["FORMATS", "TerraformView"]
