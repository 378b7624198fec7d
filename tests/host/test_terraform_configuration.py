"""Modules and providers of a Terraform plan's configuration, and whatever else may stand there."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.host.terraform import constraints, modules
from kubectl_eksdoc.model.terraform import ModuleCall, ProviderConstraint

AWS = "registry.terraform.io/hashicorp/aws"
NESTED: dict[str, Any] = {
    "provider_config": {
        "aws": {"name": "aws", "full_name": AWS, "version_constraint": "~> 5.0"},
        "module.platform.module.eks:aws": {
            "name": "aws",
            "full_name": AWS,
            "version_constraint": ">= 4.57",
            "module_address": "module.platform.module.eks",
        },
        "helm": {"name": "helm", "version_constraint": "~> 2.0"},
    },
    "root_module": {
        "module_calls": {
            "platform": {
                "source": "./platform",
                "expressions": {"name": {"constant_value": "shop"}},
                "module": {
                    "module_calls": {
                        "eks": {
                            "source": "terraform-aws-modules/eks/aws",
                            "version_constraint": "~> 20.0",
                            "expressions": {"cluster_addons": {}, "cluster_name": {}},
                        }
                    }
                },
            }
        }
    },
}


def test_modules_in_modules() -> None:
    assert modules(NESTED) == (
        ModuleCall("platform", "./platform", "", ("name",)),
        ModuleCall("platform.eks", "terraform-aws-modules/eks/aws", "~> 20.0", ("cluster_addons", "cluster_name")),
    )
    assert constraints(NESTED) == (
        ProviderConstraint("", AWS, "~> 5.0"),
        ProviderConstraint("platform.eks", AWS, ">= 4.57"),
    )


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["root_module", "module_calls", "module", "provider_config", "name", "aws", "expressions"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(anything)
def test_what_is_no_configuration_says_nothing(configuration: Any) -> None:
    assert all(each.path for each in modules(configuration))
    assert all(each.source == "" for each in constraints(configuration))
