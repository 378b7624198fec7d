"""Terraform plans are read in Terraform's own form; any other file is rejected in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.errors import TerraformError
from kubectl_eksdoc.host.terraform import module_calls, provider_constraints, read_terraform_plan
from kubectl_eksdoc.model.addons import AddonResource, AddonSettings, ClusterUpgrade, ModuleCall, ProviderConstraint
from kubectl_eksdoc.model.kinds import Unknown
from tests.host.terraform_plans import AWS, a_change, a_plan, an_addon, written

MODULE = 'module.eks.aws_eks_addon.this["vpc-cni"]'


def test_an_update_through_a_module_is_read_with_its_address(tmp_path: Path) -> None:
    after = an_addon(addon_version="v1.12.6-eksbuild.1", resolve_conflicts_on_update="OVERWRITE", tags={"a": "b"})
    other = {"address": "aws_vpc.x", "type": "aws_vpc", "change": {"actions": ["no-op"]}}
    data = a_change(None, an_addon(), "read", address="data.aws_eks_addon.x", mode="data")
    plan = read_terraform_plan(
        written(tmp_path, a_plan(other, data, a_change(an_addon(), after, "update", address=MODULE), errored=False))
    )
    assert plan.addons == (
        AddonResource(
            MODULE,
            "module.eks",
            ("update",),
            AddonSettings("shop", "vpc-cni", "v1.11.0-eksbuild.1", role=""),
            AddonSettings("shop", "vpc-cni", "v1.12.6-eksbuild.1", on_update="OVERWRITE", role=""),
            ("addon_version", "resolve_conflicts_on_update", "tags"),
            tuple(sorted(after)),
        ),
    )
    assert plan.addons[0].module_path == "eks"
    assert (plan.terraform, plan.failed, plan.deferred) == ("1.9.8", False, ())
    assert plan.constraints == (ProviderConstraint("", AWS, "~> 4.0"),)


def test_what_is_known_after_apply_is_unknown(tmp_path: Path) -> None:
    after = an_addon(preserve=True)
    del after["addon_version"]
    unknown = {"addon_version": True, "configuration_values": True, "tags": {}, "pod_identity_association": [{}]}
    (found,) = read_terraform_plan(
        written(tmp_path, a_plan(a_change(an_addon(preserve=True), after, "update", unknown=unknown)))
    ).addons
    assert found.after is not None and found.after.preserve is True
    assert isinstance(found.after.version, Unknown) and isinstance(found.after.configuration, Unknown)
    assert found.differs == ("addon_version", "configuration_values")


def test_modules_in_modules_and_their_providers() -> None:
    provider = {"name": "aws", "full_name": AWS, "version_constraint": ">= 4.57"}
    eks = {
        "source": "terraform-aws-modules/eks/aws",
        "version_constraint": "~> 20.0",
        "expressions": {"cluster_addons": {}, "cluster_name": {}},
    }
    platform = {"source": "./platform", "expressions": {"name": {}}, "module": {"module_calls": {"eks": eks}}}
    nested = {
        "provider_config": {
            "aws": {**provider, "version_constraint": "~> 5.0"},
            "module.platform.module.eks:aws": {**provider, "module_address": "module.platform.module.eks"},
            "helm": {"name": "helm", "version_constraint": "~> 2.0"},
        },
        "root_module": {"module_calls": {"platform": platform}},
    }
    assert module_calls(nested) == (
        ModuleCall("platform", "./platform", "", ("name",)),
        ModuleCall("platform.eks", "terraform-aws-modules/eks/aws", "~> 20.0", ("cluster_addons", "cluster_name")),
    )
    assert provider_constraints(nested) == (
        ProviderConstraint("", AWS, "~> 5.0"),
        ProviderConstraint("platform.eks", AWS, ">= 4.57"),
    )


def test_failed_and_deferred_plans_are_known_as_such(tmp_path: Path) -> None:
    change = a_change(None, an_addon(), "create")
    deferred = [{"reason": "resource_config_unknown", "resource_change": change}]
    plan = read_terraform_plan(written(tmp_path, a_plan(errored=True, deferred_changes=deferred)))
    assert plan.failed and plan.deferred == ("aws_eks_addon.vpc_cni",) and plan.addons == ()


def test_addons_of_other_resources_are_seen(tmp_path: Path) -> None:
    by_type = a_change(an_addon(), None, "delete", address="awscc_eks_addon.a", type="awscc_eks_addon")
    idle = a_change(an_addon(), an_addon(), "no-op", address="awscc_eks_addon.b", type="awscc_eks_addon")
    control = "aws_cloudcontrolapi_resource"
    named = a_change({"type_name": "AWS::EKS::Addon"}, None, "delete", address=f"{control}.c", type=control)
    other = a_change({"type_name": "AWS::S3::Bucket"}, None, "delete", address=f"{control}.d", type=control)
    plan = read_terraform_plan(written(tmp_path, a_plan(named, other, idle, by_type)))
    assert plan.not_read == (f"{control}.c", "awscc_eks_addon.a") and plan.addons == ()


def test_upgrades_of_clusters_are_seen(tmp_path: Path) -> None:
    old, new = {"name": "shop", "arn": "a", "version": "1.24"}, {"name": "shop", "arn": "a", "version": "1.25"}
    change = a_change(old, new, "update", address="aws_eks_cluster.a", type="aws_eks_cluster")
    tags = a_change(old, old | {"tags": {}}, "update", address="aws_eks_cluster.b", type="aws_eks_cluster")
    later = a_change(
        old, {"name": "shop"}, "update", address="aws_eks_cluster.c", type="aws_eks_cluster", unknown={"version": True}
    )
    plan = read_terraform_plan(written(tmp_path, a_plan(change, tags, later)))
    assert plan.upgrades == (ClusterUpgrade("shop", "a", "1.24", "1.25"), ClusterUpgrade("shop", "a", "1.24", None))


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04 and more", "only Terraform reads"),
        (b"Terraform will perform the following actions:", "is not JSON, or not all of it"),
        ({"kind": "DrainPlan"}, "JSON, but no Terraform plan"),
        ({"format_version": "1.0", "values": {}}, "a Terraform state, not a plan"),
        (a_plan(a_change(an_addon(), an_addon(), "frobnicate")), "the action frobnicate, which is not known"),
        (a_plan(a_change(an_addon(), an_addon())), "has no action"),
        (a_plan(a_change(None, an_addon(), "update")), "has nothing before its change"),
        (a_plan(a_change(None, {}, "create", unknown=True)), "after_unknown of aws_eks_addon.vpc_cni is no object"),  # type: ignore[arg-type]
        (a_plan(format_version="2.0"), "of format 2.0"),
        (a_plan({"type": "aws_eks_addon"}), "has no address"),
        (a_plan(a_change(an_addon(), an_addon(addon_version=1), "update")), "a int stands where a text should"),
    ],
)
def test_what_is_no_plan_is_refused_in_a_sentence(tmp_path: Path, document: Any, why: str) -> None:
    with pytest.raises(TerraformError) as caught:
        read_terraform_plan(written(tmp_path, document))
    assert why in caught.value.message and caught.value.hint


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    for path in (str(tmp_path / "none"), str(tmp_path), "a\0b"):
        with pytest.raises(TerraformError, match="cannot read the Terraform plan"):
            read_terraform_plan(path)


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["root_module", "module_calls", "module", "provider_config", "name"]), inner, max_size=2
        )
    ),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(["actions", "before", "after", "after_unknown"], anything),
            "values": anything,
        },
    ),
    st.dictionaries(st.sampled_from(["cluster_name", "addon_version", "preserve", "tags"]), anything),
    st.dictionaries(st.sampled_from(["provider_config", "deferred_changes", "configuration", "errored"]), anything),
)
def test_a_plan_that_somebody_edited_is_read_or_refused(
    tmp_path: Path, change: dict[str, Any], values: dict[str, Any], more: dict[str, Any]
) -> None:
    said = a_change(an_addon(), {**an_addon(), **values}, "update")
    said["change"] |= change
    try:
        read_terraform_plan(written(tmp_path, a_plan(said, **more)))
    except TerraformError as error:
        assert error.message


def test_plans_of_terraform_from_0_12_to_1_0_are_read(tmp_path: Path) -> None:
    """Their formats have the same changes. If a plan does not mark sensitive values, no values are kept."""
    old, new = an_addon(), an_addon(addon_version="v1.20.4-eksbuild.2", configuration_values='{"token": "hunter2"}')
    plan = a_plan(a_change(old, new, "update"), format_version="0.1")
    found = read_terraform_plan(written(tmp_path, plan))
    (change,) = found.addons
    assert change.after is not None and change.after.version == "v1.20.4-eksbuild.2"
    assert isinstance(change.after.configuration, Unknown) and "hunter2" not in repr(found)
    plan["resource_changes"][0]["change"] |= {"before_sensitive": False, "after_sensitive": {}}
    (change,) = read_terraform_plan(written(tmp_path, plan)).addons
    assert change.after is not None and change.after.configuration == '{"token": "hunter2"}'


def test_what_is_sensitive_is_never_held(tmp_path: Path) -> None:
    secret = an_addon(configuration_values='{"env": {"PASSWORD": "hunter2"}}')
    change = a_change(secret, {**secret, "addon_version": "v1.12.0-eksbuild.1"}, "update")
    marks = {"before_sensitive": {"configuration_values": True}, "after_sensitive": {"configuration_values": True}}
    change["change"] |= marks
    found = read_terraform_plan(written(tmp_path, a_plan(change)))
    assert "hunter2" not in repr(found) and "it is sensitive" in repr(found)
