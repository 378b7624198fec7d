"""How settings are merged, what an update does to them, what blocks the update, and EKS's conflict messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff.expected import ApplyEvidence, ExpectedApply
from kubectl_eksdoc.addon_diff.fields import MISSING, Leaf, changed_leaves, leaves, merge_values
from kubectl_eksdoc.addon_diff.guards import (
    acknowledgement_text,
    changing_fields,
    choose_update,
    find_guards,
    findings_to_acknowledge,
    is_without_effect,
    pods_not_ready,
)
from kubectl_eksdoc.addon_diff.manifests import manifest_from_documents, render_values
from kubectl_eksdoc.addon_diff.outcome import AddonRollback, plan_rollback
from kubectl_eksdoc.addon_diff.plan import AddonPlan, fields_in, plan_update
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Fate, FieldChange, Mode, predict_object
from kubectl_eksdoc.addon_diff.schema import SchemaPaths
from kubectl_eksdoc.model.addons import Addon, ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, same_json, with_value
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.nodes import ControllerOwner
from tests.addon_diff.incident import CHART, EARLY_DEMUX, a_persons, rich, schema, version
from tests.addon_diff.test_plan import facts
from tests.builders import a_pod

CLUSTER = EksCluster("shop", "arn", "1.24", "", "ACTIVE", "", "")


def planned(
    asked: AddonUpdateRequest = AddonUpdateRequest(), status: str = "ACTIVE", to: str = "v1.15.1", **more: Any
) -> AddonPlan:
    """The incident: a user has set two variables, and pods have security groups."""
    now, target = version("v1.12.0"), version(to)
    addon = Addon("vpc-cni", now.version, status)
    whole = facts(**{"addon": addon, "target": target, "objects": (a_persons(),), "steps": (target.version,), **more})
    return plan_update(replace(whole, cluster=CLUSTER), asked, lambda values: ())


def whys(plan: AddonPlan, on_purpose: bool = True) -> str:
    return "; ".join(guard.why for guard in find_guards(plan, on_purpose))


OVERWRITE = AddonUpdateRequest(Mode.OVERWRITE)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"status": "UPDATING"}, "another update of vpc-cni is in progress"),
        ({"status": "CREATE_FAILED"}, "vpc-cni is CREATE_FAILED"),
        ({"to": "v1.12.6", "offered": False}, "EKS does not offer v1.12.6-eksbuild.1 for Kubernetes 1.24"),
        *(({"to": "v1.12.6", "status": each}, "") for each in ("", "ACTIVE", "UPDATE_FAILED", "DEGRADED")),
    ],
)
def test_what_forbids_it(given: dict[str, Any], said: str) -> None:
    plan = planned(OVERWRITE, **given)
    assert said in whys(plan) and bool(whys(plan)) is bool(said)
    named = {each.code.name for each in findings_to_acknowledge(plan)}
    assert ("addon-not-active" in named) is (given.get("status") not in (None, "", "ACTIVE"))


def test_a_conflict_is_not_asked_for_and_a_loss_only_on_purpose() -> None:
    (guard,) = find_guards(planned(to="v1.12.6"), True)
    assert guard.why == (
        "with NONE it would fail for a conflict with ENABLE_POD_ENI of container aws-node, DISABLE_TCP_EARLY_DEMUX of"
        " init container aws-vpc-cni-init"
    )
    lost = planned(OVERWRITE, to="v1.12.6")
    assert whys(lost) == "" and "with OVERWRITE it would take" in whys(lost, on_purpose=False)
    assert whys(planned(AddonUpdateRequest(Mode.PRESERVE), to="v1.12.6"), on_purpose=False) == ""


def test_what_is_critical_or_unknown_or_taken_away_is_acknowledged() -> None:
    plan = planned(OVERWRITE, to="v1.12.6")
    assert {each.severity.value for each in findings_to_acknowledge(plan)} == {"critical"}
    assert acknowledgement_text(plan) == "vpc-cni v1.12.6-eksbuild.1"
    unknown = planned(
        AddonUpdateRequest(Mode.PRESERVE), to="v1.12.6", offered=Unknown("denied", "eks:DescribeAddonVersions")
    )
    assert any(each.status is Status.UNKNOWN for each in findings_to_acknowledge(unknown))
    values = {"env": {"ENABLE_POD_ENI": "true"}}
    dropped = planned(AddonUpdateRequest(Mode.PRESERVE, {}), to="v1.12.6", values=values)
    assert "addon-values-dropped" in {each.code.name for each in findings_to_acknowledge(dropped)}


def test_what_is_sent() -> None:
    plan = planned(OVERWRITE, to="v1.15.1")
    kept = choose_update(plan, is_as_asked=False)
    assert kept.request.mode is Mode.OVERWRITE and not kept.is_intended
    assert kept.request.values == {
        "env": {"ENABLE_POD_ENI": "true"},
        "init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}},
    }
    assert len(kept.keeps) == 2
    assert choose_update(plan, is_as_asked=True).request == OVERWRITE
    given = AddonUpdateRequest(Mode.OVERWRITE, {"env": {}})
    assert choose_update(planned(given), is_as_asked=False).request == given
    nothing = planned(AddonUpdateRequest(Mode.NONE), values=Unknown("not JSON"))
    assert choose_update(nothing, is_as_asked=False).request.values is None, "what is not known is not replaced"


def test_what_changes_and_nothing_to_do() -> None:
    plan = planned(OVERWRITE, to="v1.12.6")
    assert len(changing_fields(plan)) > len(changing_fields(planned(AddonUpdateRequest(Mode.NONE), to="v1.12.6"))) == 0
    assert not is_without_effect(plan)
    same = planned(to="v1.12.0", objects=())
    assert not is_without_effect(same), "no object was looked at, which is a finding"
    assert is_without_effect(replace(same, findings=()))
    assert not is_without_effect(replace(same, findings=(), request=AddonUpdateRequest(values={"env": {}})))


def test_the_way_back_sets_what_the_old_version_lets_be_set() -> None:
    back = plan_rollback(planned(OVERWRITE, to="v1.12.6", values={"env": {"MY_OWN": "1"}}))
    assert isinstance(back, AddonRollback) and back.version == "v1.12.0-eksbuild.1"
    assert back.values == {"env": {"MY_OWN": "1", "ENABLE_POD_ENI": "true"}}
    assert [field.variable for field in back.by_hand] == ["DISABLE_TCP_EARLY_DEMUX"], "v1.12.0 knows no init"
    far = plan_rollback(planned(OVERWRITE, to="v1.15.1"))
    assert isinstance(far, AddonRollback) and any("one minor" in caveat for caveat in far.caveats)
    assert isinstance(plan_rollback(planned(values=Unknown("not JSON"))), Unknown)


def changes(live: Doc, update: ExpectedApply) -> dict[ConfigPath, FieldChange]:
    return {change.config: change for change in predict_object(live, update).changes if change.config}


def an_update(after: Doc = CHART, before: Doc = CHART, **more: Any) -> ExpectedApply:
    return ExpectedApply(render_values("vpc-cni", before), render_values("vpc-cni", after), **more)


def known(version: str) -> SchemaPaths | None:
    found = schema(version)
    return found if isinstance(found, SchemaPaths) else None


def test_the_conflict_is_worded_as_eks_words_it() -> None:
    told = predict_object(rich(), an_update()).conflict.splitlines()
    assert told[0].startswith("Conflicts found when trying to apply. Will not continue due to resolve conflicts mode.")
    assert told[1:] == [
        'DaemonSet.apps aws-node - .spec.template.spec.initContainers[name="aws-vpc-cni-init"]'
        '.env[name="DISABLE_TCP_EARLY_DEMUX"].value',
        'DaemonSet.apps aws-node - .spec.template.spec.containers[name="aws-node"].env[name="ENABLE_POD_ENI"].value',
    ]


def test_ownership_that_expands_is_seen() -> None:
    taken_over = changes(a_persons(), an_update(schema=known("v1.15.1")))[EARLY_DEMUX]
    assert taken_over.expands and taken_over.witness is ApplyEvidence.SCHEMA
    assert not changes(rich(), an_update(schema=known("v1.15.1")))[EARLY_DEMUX].expands, "EKS has named it all along"
    both = an_update(schema=known("v1.15.1"), current_schema=known("v1.15.1"))
    assert not changes(a_persons(), both)[EARLY_DEMUX].expands, "today's version has the value, too"
    unsure = changes(a_persons(), an_update())[EARLY_DEMUX]
    assert unsure.expands and unsure.confidence(Mode.OVERWRITE) is Confidence.LOW


def test_what_neither_schema_nor_ownership_says_is_unknown() -> None:
    """The update to v1.12.0: its chart renders ``init``, and its schema has none."""
    change = changes(a_persons(), an_update(schema=known("v1.12.0")))[EARLY_DEMUX]
    assert {told.fate for told in change.by_mode.values()} == {Fate.UNKNOWN} and change.at_risk


def test_what_only_eks_has_follows_the_version() -> None:
    newer = {**CHART, "env": {**CHART["env"], "AWS_VPC_ENI_MTU": "1500", "NEW": "x"}}
    found = changes(a_persons(), an_update(newer))
    assert found["env", "AWS_VPC_ENI_MTU"].fate(Mode.OVERWRITE) is Fate.FOLLOWS
    added = found["env", "NEW"]
    assert added.live is MISSING and not added.at_risk and added.by_mode[Mode.PRESERVE].value == "x"


Values = dict[str, Any]


def value_at(values: Values, path: tuple[str, ...]) -> Any:
    """The value at a path, `MISSING` if there is none. Lists are not searched."""
    found: Any = values
    for step in path:
        if not isinstance(found, dict) or step not in found:
            return MISSING
        found = found[step]
    return found


KEYS = st.sampled_from(["env", "init", "a", "b", ""])
scalars = st.none() | st.booleans() | st.integers(0, 2) | st.just(1.0) | st.sampled_from(["", "true"])
documents: st.SearchStrategy[Values] = st.recursive(
    st.dictionaries(KEYS, scalars | st.lists(scalars, max_size=2), max_size=3),
    lambda inner: st.dictionaries(KEYS, inner | scalars, max_size=3),
    max_leaves=10,
)


@given(documents, documents)
def test_above_holds_and_the_rest_stays(below: Values, above: Values) -> None:
    made = merge_values(below, above)
    for leaf in leaves(above):
        found = value_at(made, leaf.path)
        assert same_json(found, leaf.value) or (leaf.value == {} and isinstance(found, dict))
    said = {leaf.path for leaf in leaves(above)}
    for leaf in leaves(below):
        untouched = not any(leaf.path[: len(path)] == path or path[: len(leaf.path)] == leaf.path for path in said)
        assert not untouched or same_json(value_at(made, leaf.path), leaf.value)
    changed = changed_leaves(below, made)
    assert bool(changed) == (not same_json(below, made))
    for path in changed:
        assert not same_json(value_at(below, path), value_at(made, path)) or value_at(below, path) == {}
    again: Values = {}
    for leaf in leaves(made):
        again = with_value(again, leaf.path, leaf.value)
    assert same_json(again, made), "the leaves make it again"


def test_a_list_is_one_leaf_and_an_empty_object_too() -> None:
    assert leaves({"b": [{"x": 1}], "a": {}, "c": {"d": None}}) == (
        Leaf(("a",), {}),
        Leaf(("b",), [{"x": 1}]),
        Leaf(("c", "d"), None),
    )
    assert leaves({}) == () and merge_values({"a": {"b": 1}}, {"a": {}}) == {"a": {"b": 1}}
    assert changed_leaves({"a": 1}, {"a": True}) == changed_leaves({"a": None}, {}) == (("a",),)


FIELD = "ConfigMap coredns - .data.Corefile"


@pytest.mark.parametrize("message", [f"Conflicts found: {FIELD}.", f"{FIELD}\\nand so on", f"({FIELD})", FIELD])
def test_a_full_stop_behind_a_field_is_none_of_it(message: str) -> None:
    assert fields_in(message) == (FIELD,)


def test_a_manifest_is_taken_as_it_stands() -> None:
    """A reference that is no object, an entry with keys only, and nothing for a null; definitions have no owner."""
    container = {"name": "aws-node", "image": None, "ports": [{"containerPort": 1, "protocol": "TCP"}]}
    container["env"] = [{"name": "A", "valueFrom": {"fieldRef": "spec.nodeName"}}]
    docs: list[Doc] = [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}},
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "c"}},
    ]
    docs[0]["spec"] = {"template": {"spec": {"containers": [container]}}}
    made = manifest_from_documents("", docs)
    assert [each.namespace for each in made.names] == ["kube-system", "", ""]
    assert [[*values.values()] for values in made.objects.values()] == [["spec.nodeName", container["ports"][0]], []]


def test_pods_of_a_deployment_hold_it_up_by_their_replicasets() -> None:
    of = ControllerOwner("ReplicaSet", "coredns-5d78c9869d", "uid", "apps")
    pods = (
        a_pod(
            "coredns-5d78c9869d-b",
            "kube-system",
            owner=of,
            ready=False,
            not_ready_because="ImagePullBackOff",
            node="n-1",
        ),
        a_pod("coredns-5d78c9869d-a", "kube-system", owner=of, ready=False, node=""),
        a_pod("coredns-5d78c9869d-c", "kube-system", owner=of),
        a_pod("alone", "kube-system", owner=None, ready=False),
        a_pod("coredns-5d78c9869d-b", "shop", owner=of, ready=False),
    )
    assert pods_not_ready(pods, ObjectName("apps/v1", "Deployment", "kube-system", "coredns")) == (
        "coredns-5d78c9869d-a: not Ready yet",
        "coredns-5d78c9869d-b on n-1: ImagePullBackOff",
    )
