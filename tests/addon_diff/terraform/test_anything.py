"""Whatever a Terraform plan asks for is judged: nothing breaks, nothing unknown passes, everything has an address."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff.terraform.requests import Kind
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
    with tempfile.TemporaryDirectory() as folder:
        judgement = judged(Path(folder), a_plan(*changes), world)
    for each in judgement.changes:
        request = each.change.request
        assert all(request.address in "".join((f.subject.name, *f.evidence)) for f in each.findings)
        assert all(f.missing for f in each.findings if f.status is Status.UNKNOWN)
        open_ones = (request.cluster, request.addon, *((request.after,) if request.sends_version else ()))
        if any(isinstance(value, Unknown) for value in open_ones) or request.kind is not Kind.UPDATE:
            statuses = {f.status for f in each.findings}
            assert statuses & {Status.FAIL, Status.UNKNOWN} or (request.kind is Kind.CREATE and not statuses)
    json.dumps([each.message for each in judgement.every])


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
