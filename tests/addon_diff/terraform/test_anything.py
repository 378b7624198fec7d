"""Every Terraform plan is judged without a crash: no unknown change passes, and every change has an address."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff.terraform_requests import RequestKind, provider_generations
from kubectl_eksdoc.model.addons import AddonResource, ProviderConstraint, TerraformPlan
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon_diff.terraform.worlds import NEW, OLD, World, judged, values
from tests.examples import examples
from tests.host.terraform_plans import a_change, a_plan

LATER = object()
GIVEN: dict[str, st.SearchStrategy[Any]] = {
    "cluster_name": st.sampled_from(["shop", "shop", "shop", "bank", LATER]),
    "addon_name": st.sampled_from(["vpc-cni", "vpc-cni", "coredns", "nonsense", LATER]),
    "addon_version": st.sampled_from([OLD, NEW, "v1.15.1-eksbuild.1", "", "x", None, LATER]),
    "configuration_values": st.sampled_from([None, "", "{}", "- 1", '{"env": {"WARM_ENI_TARGET": "3"}}', LATER]),
    "resolve_conflicts_on_update": st.sampled_from([None, "NONE", "OVERWRITE", "preserve", "any", LATER]),
    "resolve_conflicts_on_create": st.sampled_from([None, "OVERWRITE", LATER]),
    "preserve": st.sampled_from([None, True, False]),
}
ACTIONS = st.sampled_from(
    [("update",), ("create",), ("delete",), ("delete", "create"), ("create", "delete"), ("forget",), ("no-op",)]
)


@settings(max_examples=examples(120))
@given(
    st.lists(st.tuples(ACTIONS, st.fixed_dictionaries(GIVEN)), min_size=1, max_size=3),
    st.sampled_from([{"vpc-cni"}, set()]),
)
def test_anything(wanted: list[tuple[tuple[str, ...], dict[str, Any]]], managed: set[str]) -> None:
    world = World(managed={name: addon for name, addon in World().managed.items() if name in managed})
    changes = [_change(f"aws_eks_addon.x{index}", *each) for index, each in enumerate(wanted)]
    judgement = judged(a_plan(*changes), world)
    for each in judgement.changes:
        request = each.change.request
        assert all(request.address in "".join((f.subject.name, *f.evidence)) for f in each.findings)
        assert all(f.missing for f in each.findings if f.status is Status.UNKNOWN)
        open_ones = (request.cluster, request.addon, *((request.after,) if request.sends_version else ()))
        if any(isinstance(value, Unknown) for value in open_ones) or request.kind is not RequestKind.UPDATE:
            statuses = {f.status for f in each.findings}
            assert statuses & {Status.FAIL, Status.UNKNOWN} or (request.kind is RequestKind.CREATE and not statuses)
    json.dumps([each.message for each in judgement.all_findings])


def _change(address: str, actions: tuple[str, ...], given: dict[str, Any]) -> dict[str, Any]:
    before = values("5", preserve=given["preserve"])
    after = values("5", **{key: value for key, value in given.items() if value is not LATER})
    unknown = {key: True for key, value in given.items() if value is LATER}
    for key in unknown:
        after.pop(key, None)
    only = set(actions)
    return a_change(
        None if only == {"create"} else before,
        None if only <= {"delete", "forget"} else after,
        *actions,
        address=address,
        unknown={} if only <= {"delete", "forget", "no-op"} else unknown,
    )


NONE, UPDATE, VALUES = "resolve_conflicts", "resolve_conflicts_on_update", "configuration_values"
FROM_4 = ["4.47 to 4.x", "4.32 to 4.46", "before 4.32"]
EVERY = ["6", "5", *FROM_4]


def known(arguments: tuple[str, ...], *constraints: str, module: str = "", of: str = "") -> list[str]:
    asked = tuple(ProviderConstraint(of, "hashicorp/aws", each) for each in constraints)
    resource = AddonResource("a", module, ("update",), None, None, arguments=arguments)
    return [each.value for each in provider_generations(TerraformPlan("f", "1.9", (resource,), asked), resource)]


@pytest.mark.parametrize(
    ("arguments", "constraints", "expected"),
    [
        ((UPDATE, VALUES), (), ["6"]),
        ((NONE, UPDATE, VALUES), ("~> 4.0",), ["5"]),  # the arguments in the plan show what made it
        ((NONE, VALUES), (), ["4.47 to 4.x"]),
        ((NONE,), (), ["4.32 to 4.46", "before 4.32"]),
        ((NONE,), ("= 3.76.1",), ["before 4.32"]),
        ((NONE,), (">= 4.34, < 4.47",), ["4.32 to 4.46"]),
        ((), (), EVERY),
        ((), ("~> 4.0",), FROM_4),
        ((), (">= 5.0",), ["6", "5"]),
        ((), ("~> 5.0", ">= 4.57"), ["5"]),
        ((VALUES,), ("nonsense",), ["6", "5", "4.47 to 4.x"]),
        ((), ("~> 4.46.2",), ["4.32 to 4.46"]),
        ((), ("~> 5",), ["5"]),
        ((), ("4.31.0",), ["before 4.32"]),
        ((), ("< 4.32",), ["before 4.32"]),
        ((), ("< 4.32.1",), ["4.32 to 4.46", "before 4.32"]),
        ((), ("<= 4.31.9",), ["before 4.32"]),
        ((), ("> 4.46",), ["6", "5", "4.47 to 4.x", "4.32 to 4.46"]),
        ((), ("!= 5.1.0",), EVERY),
        ((), (">= 4.0, < 5.0-beta1",), FROM_4),
    ],
)
def test_generations(arguments: tuple[str, ...], constraints: tuple[str, ...], expected: list[str]) -> None:
    """Only modules around the resource ask for its provider."""
    inside = 'module.platform["a.b"].module.eks'
    for module in ("", "platform", "platform.eks"):
        assert known(arguments, *constraints, module=inside, of=module) == expected
    assert known(arguments, *constraints, module=inside, of="plat") == known(arguments)


@given(st.lists(st.text(alphabet="0123456789.,<>=~! v-", max_size=12), max_size=3))
def test_whatever_is_asked_for_some_generation_is_left(constraints: list[str]) -> None:
    assert known((), *constraints) and set(known((NONE,), *constraints)) <= {"4.32 to 4.46", "before 4.32"}
