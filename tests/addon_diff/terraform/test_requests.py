"""The requests that a Terraform plan sends to EKS: the mode, the argument that sets it, and what is not sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.terraform_requests import AddonRequest, RequestKind, read_requests
from kubectl_eksdoc.host.terraform import read_terraform_plan
from kubectl_eksdoc.model.kinds import Unknown
from tests.host.terraform_plans import a_change, a_plan, an_addon, written

NEW = "v1.12.6-eksbuild.1"
ON_UPDATE = "resolve_conflicts_on_update"
_IDENTITY = "pod_identity_association"


def asked(folder: Path, *changes: dict[str, Any]) -> tuple[AddonRequest, ...]:
    return read_requests(read_terraform_plan(written(folder, a_plan(*changes))))


@pytest.mark.parametrize(
    ("arguments", "mode", "set_by"),
    [
        ({}, "NONE", ""),  # EKS's own default
        ({"resolve_conflicts": "OVERWRITE"}, "OVERWRITE", "resolve_conflicts"),  # providers before 5
        ({"resolve_conflicts": None, ON_UPDATE: "PRESERVE"}, "PRESERVE", ON_UPDATE),
        ({"resolve_conflicts_on_create": "OVERWRITE"}, "NONE", ""),  # that is for its creation
        ({"resolve_conflicts_on_create": "NONE", ON_UPDATE: "OVERWRITE"}, "OVERWRITE", ON_UPDATE),
    ],
)
@pytest.mark.parametrize("address", ["aws_eks_addon.vpc_cni", 'module.eks.aws_eks_addon.this["vpc-cni"]'])
def test_the_incident_in_each_spelling(
    tmp_path: Path, address: str, arguments: dict[str, Any], mode: str, set_by: str
) -> None:
    change = a_change(an_addon(**arguments), an_addon(addon_version=NEW, **arguments), "update", address=address)
    (found,) = asked(tmp_path, change)
    assert (found.address, found.kind, found.mode, found.set_by) == (address, RequestKind.UPDATE, mode, set_by)
    assert (found.before, found.after, found.sends_values) == ("v1.11.0-eksbuild.1", NEW, False)
    assert str(found) == (
        f"{address}: update vpc-cni from v1.11.0-eksbuild.1 to {NEW}, {mode} by {set_by or 'default'}"
    )


def test_what_asks_eks_for_nothing_is_left_out(tmp_path: Path) -> None:
    changes = [
        a_change(an_addon(), an_addon(), "no-op"),
        a_change(an_addon(), an_addon(tags={"a": "b"}), "update"),
        a_change(an_addon(), an_addon(resolve_conflicts="OVERWRITE"), "update"),
        a_change(an_addon(), an_addon(), "update", unknown={"modified_at": True}),
        a_change(an_addon(configuration_values=""), an_addon(), "update"),
    ]
    assert asked(tmp_path, *changes) == ()
    for given in (
        {"configuration_values": "{}"},
        {"service_account_role_arn": "arn:x"},
        {"pod_identity_association": [{}]},
    ):
        (found,) = asked(tmp_path, a_change(an_addon(), an_addon(**given), "update"))
        assert found.kind is RequestKind.UPDATE and found.sends_values == ("configuration_values" in given)


def test_what_is_known_after_apply_stays_unknown(tmp_path: Path) -> None:
    unknown = {"addon_version": True, "resolve_conflicts_on_update": True, "configuration_values": True}
    (found,) = asked(tmp_path, a_change(an_addon(), an_addon(), "update", unknown=unknown))
    assert isinstance(found.after, Unknown) and isinstance(found.mode, Unknown) and isinstance(found.values, Unknown)
    assert found.sends_values and "(known after apply)" in str(found)


def test_creation_replacement_deletion(tmp_path: Path) -> None:
    given = an_addon(resolve_conflicts_on_create="OVERWRITE", configuration_values="{}", preserve=True)
    made, replaced, removed, forgotten = asked(
        tmp_path,
        a_change(None, given, "create", address="a"),
        a_change(an_addon(preserve=True), given, "delete", "create", address="b"),
        a_change(an_addon(), None, "delete", address="c"),
        a_change(an_addon(), None, "forget", address="d"),
    )
    assert (made.kind, made.mode, made.sends_values, made.before) == (RequestKind.CREATE, "OVERWRITE", True, None)
    assert (replaced.kind, replaced.mode, replaced.preserves_objects) == (RequestKind.REPLACE, "OVERWRITE", True)
    assert (removed.kind, removed.after, removed.preserves_objects) == (RequestKind.DELETE, None, False)
    assert str(removed) == "c: delete vpc-cni" and forgotten.kind is RequestKind.FORGET
