"""In which version an object was written, and when that is nobody's manifest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.removed_apis import removed_api
from kubectl_eksdoc.amazon.written_kinds import innocent, row_of, written
from kubectl_eksdoc.model.api_objects import Written, WrittenBy

FLOW = "flowcontrol.apiserver.k8s.io/v1beta2"
BY_KUBECTL = Written(WrittenBy.MANAGED_FIELDS, "policy/v1beta1", "PodDisruptionBudget", "kubectl", "Update", "t")


def an_object(kind: str, *entries: object) -> dict:
    return {"apiVersion": "policy/v1", "kind": kind, "metadata": {"name": "web", "managedFields": list(entries)}}


def an_entry(version: str, manager: str = "kubectl", **more: str) -> dict:
    return {"apiVersion": version, "manager": manager, "operation": "Update", "time": "t", **more}


def test_the_annotation_tells_the_manifest() -> None:
    last = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "spec": {}}
    (sign,) = written(an_object("PodDisruptionBudget"), last)
    assert sign == Written(WrittenBy.LAST_APPLIED, "policy/v1beta1", "PodDisruptionBudget")
    assert row_of(sign) == removed_api("policy/v1beta1", "PodDisruptionBudget")


def test_managed_fields_tell_who_and_when() -> None:
    assert written(an_object("PodDisruptionBudget", an_entry("policy/v1beta1"))) == (BY_KUBECTL,)
    status = written(an_object("PodDisruptionBudget", an_entry("policy/v1", subresource="status")))
    assert [(each.subresource, row_of(each)) for each in status] == [("status", None)]


def test_the_version_in_which_it_is_listed_is_no_sign() -> None:
    assert written({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}}) == ()


@pytest.mark.parametrize("last", [None, [], {"apiVersion": "v1"}, {"kind": "A", "apiVersion": 1}])
def test_an_annotation_of_another_form_says_nothing(last: object) -> None:
    assert written(an_object("Service"), last) == ()


@pytest.mark.parametrize("entry", [None, {}, {"apiVersion": 7}])
def test_an_entry_of_another_form_says_nothing(entry: object) -> None:
    assert written(an_object("Service", entry)) == ()
    assert written({"kind": 7, "metadata": {"managedFields": [an_entry("v1")]}}) == ()
    assert written({"kind": "Service", "metadata": None}) == ()


@pytest.mark.parametrize("manager", ["api-priority-and-fairness-config-producer-v1", "eks-internal", "eks"])
def test_what_the_server_and_eks_write_is_nobodys_manifest(manager: str) -> None:
    (sign,) = written(an_object("FlowSchema", an_entry(FLOW, manager)))
    assert row_of(sign) is not None
    assert innocent(sign, "mine") is not None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("FlowSchema", "eks-exempt"),
        ("PodSecurityPolicy", "eks.privileged"),
        ("PriorityLevelConfiguration", "eks-monitoring"),
    ],
)
def test_objects_that_eks_brings(kind: str, name: str) -> None:
    sign = Written(WrittenBy.LAST_APPLIED, "policy/v1beta1", kind)
    assert innocent(sign, name) is not None
    assert innocent(sign, "mine") is None


def test_what_the_server_keeps_by_itself() -> None:
    sign = Written(WrittenBy.MANAGED_FIELDS, FLOW, "FlowSchema", "kubectl")
    assert innocent(sign, "catch-all", {"apf.kubernetes.io/autoupdate-spec": "true"}) is not None
    assert innocent(sign, "catch-all", {"apf.kubernetes.io/autoupdate-spec": "false"}) is None
    assert innocent(BY_KUBECTL, "web", {"apf.kubernetes.io/autoupdate-spec": "true"}) is None


def test_controllers_of_the_control_plane_come_along() -> None:
    sign = Written(WrittenBy.MANAGED_FIELDS, "batch/v1beta1", "CronJob", "kube-controller-manager")
    assert innocent(sign, "nightly") is not None


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "helm", "argocd-controller", "my-eks-tool", ""])
def test_everybody_else_may_have_to_change_something(manager: str) -> None:
    sign = Written(WrittenBy.MANAGED_FIELDS, FLOW, "FlowSchema", manager)
    assert innocent(sign, "eks-of-mine") is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["apiVersion", "kind", "metadata", "managedFields", "manager"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["kind", "metadata", "apiVersion"]), _JSON), _JSON)
def test_no_document_breaks_it(found: dict, last: object) -> None:
    for sign in written(found, last):
        assert sign.api_version
        assert sign.kind
        innocent(sign, "name")
