"""The Terraform plan in the documentation: an update of vpc-cni through terraform-aws-modules/eks."""

from __future__ import annotations

import json
from typing import Any

_BEFORE: dict[str, Any] = {
    "addon_name": "vpc-cni",
    "addon_version": "v1.19.5-eksbuild.1",
    "cluster_name": "demo-shop",
    "configuration_values": '{"env":{"ENABLE_POD_ENI":"true"}}',
    "preserve": True,
    "resolve_conflicts_on_create": None,
    "resolve_conflicts_on_update": "OVERWRITE",
}
_CHANGE = {
    "address": 'module.eks.aws_eks_addon.this["vpc-cni"]',
    "module_address": "module.eks",
    "mode": "managed",
    "type": "aws_eks_addon",
    "change": {
        "actions": ["update"],
        "before": _BEFORE,
        "after": _BEFORE | {"addon_version": "v1.20.4-eksbuild.2"},
        "after_unknown": {},
    },
}
_CALL = {"source": "terraform-aws-modules/eks/aws", "version_constraint": "~> 21.0", "expressions": {"addons": {}}}


def plan() -> str:
    """As ``terraform show -json`` prints it, without parts that are not used here."""
    document = {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "resource_changes": [_CHANGE],
        "configuration": {"root_module": {"module_calls": {"eks": _CALL}}},
    }
    return json.dumps(document)
