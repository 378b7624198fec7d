"""What is shown of a Terraform plan that was judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.addon_diff.terraform.result import TerraformJudgement
from kubectl_eksdoc.model.cluster import Cluster


@dataclass(frozen=True, slots=True)
class TerraformView:
    """`name`: of the EKS cluster that it is judged against; `options` as they were given; `recognised`: how it is known
    that AWS describes the cluster that was read."""

    judgement: TerraformJudgement
    name: str
    cluster: Cluster
    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__
