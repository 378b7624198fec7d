"""Terraform plans of EKS add-ons, in the form of ``terraform show -json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
AWS = "registry.terraform.io/hashicorp/aws"


def an_addon(**given: Any) -> Json:
    """The values of a resource; the default is vpc-cni v1.11.0 of the cluster shop."""
    values = {"cluster_name": "shop", "addon_name": "vpc-cni", "addon_version": "v1.11.0-eksbuild.1", "preserve": None}
    return {**values, "configuration_values": None, "service_account_role_arn": "", "tags": {}, **given}


def a_change(
    before: Json | None,
    after: Json | None,
    *actions: str,
    address: str = "aws_eks_addon.vpc_cni",
    unknown: Json | None = None,
    **more: Any,
) -> Json:
    return {
        "address": address,
        "module_address": address.rpartition(".aws_eks_addon")[0],
        "mode": "managed",
        "type": "aws_eks_addon",
        "name": "vpc_cni",
        "provider_name": AWS,
        "change": {"actions": list(actions), "before": before, "after": after, "after_unknown": unknown or {}},
        **more,
    }


def a_plan(*changes: Json, constraint: str = "~> 4.0", **more: Any) -> Json:
    provider = {"name": "aws", "full_name": AWS, "version_constraint": constraint}
    return {
        "format_version": "1.2",
        "terraform_version": "1.9.8",
        "planned_values": {"root_module": {}},
        "resource_changes": list(changes),
        "configuration": {"provider_config": {"aws": provider}, "root_module": {}},
        **more,
    }


def written(folder: Path, document: Any) -> str:
    path = folder / "plan.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return str(path)
