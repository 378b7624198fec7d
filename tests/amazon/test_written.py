"""The clients whose objects are listed, the API version in which an object was written, and requests to removed API
versions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.removed_apis import (
    METRIC,
    REMOVED_APIS,
    DeprecatedRequest,
    DeprecatedRequests,
    find_removed_api,
    parse_deprecated_requests,
)
from kubectl_eksdoc.amazon.written_kinds import (
    find_no_change_needed,
    kinds_with_removed_versions,
    resource_of,
    row_of,
    written_versions,
)
from kubectl_eksdoc.model.api_objects import WriteRecord, WriteSource
from kubectl_eksdoc.model.quantities import Version


def names(now: int, target: int) -> list[str]:
    return [each.full_name for each in kinds_with_removed_versions(Version(1, now), Version(1, target))]


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "older"),
    [
        ("extensions/v1beta1", "Ingress", "/apis/networking.k8s.io/v1/ingresses", ("v1beta1",)),
        ("extensions/v1beta1", "Deployment", "/apis/apps/v1/deployments", ("v1beta2", "v1beta1")),
        ("policy/v1beta1", "PodSecurityPolicy", "/apis/policy/v1beta1/podsecuritypolicies", ()),
        ("extensions/v1beta1", "PodSecurityPolicy", "/apis/policy/v1beta1/podsecuritypolicies", ()),
        (
            "flowcontrol.apiserver.k8s.io/v1beta2",
            "FlowSchema",
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
            ("v1beta3", "v1beta2", "v1beta1", "v1alpha1"),
        ),
    ],
)
def test_where_objects_are_listed(api_version: str, kind: str, path: str, older: tuple[str, ...]) -> None:
    row = find_removed_api(api_version, kind)
    assert row is not None
    assert (resource_of(row).path, resource_of(row).older) == (path, older)


def test_rows_about_the_same_objects_are_listed_once() -> None:
    assert names(24, 26).count("horizontalpodautoscalers.autoscaling") == 1
    homes = {resource_of(row) for row in REMOVED_APIS if row.resource}
    assert len(homes) == len({each.full_name for each in homes})


def test_a_way_without_removals_lists_nothing() -> None:
    assert names(32, 33) == names(33, 33) == names(34, 36) == []
    assert names(33, 34) == [
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    ]


FLOW = "flowcontrol.apiserver.k8s.io/v1beta2"
BY_KUBECTL = WriteRecord(WriteSource.MANAGED_FIELDS, "policy/v1beta1", "PodDisruptionBudget", "kubectl", "Update", "t")


def an_object(kind: str, *entries: object) -> dict:
    return {"apiVersion": "policy/v1", "kind": kind, "metadata": {"name": "web", "managedFields": list(entries)}}


def an_entry(version: str, manager: str = "kubectl", **more: str) -> dict:
    return {"apiVersion": version, "manager": manager, "operation": "Update", "time": "t", **more}


def test_the_annotation_tells_the_manifest() -> None:
    last = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "spec": {}}
    (sign,) = written_versions(an_object("PodDisruptionBudget"), last)
    assert sign == WriteRecord(WriteSource.LAST_APPLIED, "policy/v1beta1", "PodDisruptionBudget")
    assert row_of(sign) == find_removed_api("policy/v1beta1", "PodDisruptionBudget")


def test_managed_fields_tell_who_and_when() -> None:
    assert written_versions(an_object("PodDisruptionBudget", an_entry("policy/v1beta1"))) == (BY_KUBECTL,)
    status = written_versions(an_object("PodDisruptionBudget", an_entry("policy/v1", subresource="status")))
    assert [(each.subresource, row_of(each)) for each in status] == [("status", None)]


def test_the_version_in_which_it_is_listed_is_no_sign() -> None:
    assert (
        written_versions({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}})
        == ()
    )


@pytest.mark.parametrize("entry", [None, {}, {"apiVersion": 7}])
def test_an_entry_of_another_form_says_nothing(entry: object) -> None:
    assert written_versions(an_object("Service", entry)) == ()
    assert written_versions({"kind": 7, "metadata": {"managedFields": [an_entry("v1")]}}) == ()
    assert written_versions({"kind": "Service", "metadata": None}) == ()


@pytest.mark.parametrize("manager", ["api-priority-and-fairness-config-producer-v1", "eks-internal", "eks"])
def test_what_the_server_and_eks_write_is_nobodys_manifest(manager: str) -> None:
    (sign,) = written_versions(an_object("FlowSchema", an_entry(FLOW, manager)))
    assert row_of(sign) is not None
    assert find_no_change_needed(sign, "mine") is not None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("FlowSchema", "eks-exempt"),
        ("PodSecurityPolicy", "eks.privileged"),
        ("PriorityLevelConfiguration", "eks-monitoring"),
    ],
)
def test_objects_that_eks_brings(kind: str, name: str) -> None:
    sign = WriteRecord(WriteSource.LAST_APPLIED, "policy/v1beta1", kind)
    assert find_no_change_needed(sign, name) is not None
    assert find_no_change_needed(sign, "mine") is None


def test_what_the_server_keeps_by_itself() -> None:
    sign = WriteRecord(WriteSource.MANAGED_FIELDS, FLOW, "FlowSchema", "kubectl")
    assert find_no_change_needed(sign, "catch-all", {"apf.kubernetes.io/autoupdate-spec": "true"}) is not None
    assert find_no_change_needed(sign, "catch-all", {"apf.kubernetes.io/autoupdate-spec": "false"}) is None
    assert find_no_change_needed(BY_KUBECTL, "web", {"apf.kubernetes.io/autoupdate-spec": "true"}) is None


def test_controllers_of_the_control_plane_come_along() -> None:
    sign = WriteRecord(WriteSource.MANAGED_FIELDS, "batch/v1beta1", "CronJob", "kube-controller-manager")
    assert find_no_change_needed(sign, "nightly") is not None


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "helm", "argocd-controller", "my-eks-tool", ""])
def test_everybody_else_may_have_to_change_something(manager: str) -> None:
    sign = WriteRecord(WriteSource.MANAGED_FIELDS, FLOW, "FlowSchema", manager)
    assert find_no_change_needed(sign, "eks-of-mine") is None


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
    for sign in written_versions(found, last):
        assert sign.api_version
        assert sign.kind
        find_no_change_needed(sign, "name")


BUDGETS = DeprecatedRequest("policy", "v1beta1", "poddisruptionbudgets", "", "1.25")
AS_SERVED = (
    f"# HELP {METRIC} [STABLE] Gauge of deprecated APIs that have been requested\n"
    f"# TYPE {METRIC} gauge\n"
    f'{METRIC}{{group="policy",removed_release="1.25",resource="poddisruptionbudgets",subresource="",'
    'version="v1beta1"} 1\n'
    'apiserver_request_total{code="200"} 5\n'
)


def line(labels: str, value: str = " 1") -> str:
    return f"{METRIC}{{{labels}}}{value}\n"


def test_what_a_server_writes() -> None:
    assert parse_deprecated_requests(AS_SERVED) == DeprecatedRequests((BUDGETS,))


def test_it_leads_to_the_table() -> None:
    assert BUDGETS.row == find_removed_api("policy/v1beta1", "PodDisruptionBudget")
    assert BUDGETS.removed == Version(1, 25)
    endpoints = DeprecatedRequest("", "v1", "endpoints")
    assert (endpoints.api_version, endpoints.row, endpoints.removed) == ("v1", None, None)


def test_a_server_without_any_says_nothing() -> None:
    assert parse_deprecated_requests("# nothing\nup 1\n") == DeprecatedRequests(())


@pytest.mark.parametrize(
    "said",
    [
        line('group="policy",version="v1beta1",resource="poddisruptionbudgets",removed_release="1.25",'),
        line(' group = "policy" , version="v1beta1",resource="poddisruptionbudgets",removed_release="1.25" ', "\t1.0"),
        line(
            'version="v1beta1",group="policy",resource="poddisruptionbudgets",removed_release="1.25"', " 1 1700000000"
        ),
        "  " + line('version="v1beta1",group="policy",resource="poddisruptionbudgets",removed_release="1.25"', " 1\r"),
    ],
)
def test_the_format_allows_more(said: str) -> None:
    assert parse_deprecated_requests(said) == DeprecatedRequests((BUDGETS,))


def test_a_label_that_is_missing_is_empty() -> None:
    assert parse_deprecated_requests(line('version="v1",resource="endpoints"')).requests == (
        DeprecatedRequest("", "v1", "endpoints"),
    )


@pytest.mark.parametrize("value", [" 0", " 0e5"])
def test_zero_is_nobody(value: str) -> None:
    assert parse_deprecated_requests(line('version="v1",resource="a"', value)) == DeprecatedRequests(())


@pytest.mark.parametrize(
    "broken",
    [
        f"{METRIC} 1",
        f'{METRIC}{{version="v1",resource="a"}}',
        f'{METRIC}{{version="v1",resource="a"}} one',
        f'{METRIC}{{version="v1" resource="a"}} 1',
        f'{METRIC}{{version="v1",version="v2",resource="a"}} 1',
        f'{METRIC}{{version="v1",resource="a}} 1',
        f'{METRIC}{{version="v1"}} 1',
        f'{METRIC}{{version="v1",resource="a"}} 1 2 3',
        f'{METRIC}{{version="v1",resource="a"}} ١',
    ],
)
def test_what_cannot_be_read_is_kept(broken: str) -> None:
    read = parse_deprecated_requests(
        f"{line('version=' + chr(34) + 'v1' + chr(34) + ',resource=' + chr(34) + 'b' + chr(34))}{broken}\n"
    )
    assert read.unreadable == (broken,)
    assert [each.resource for each in read.requests] == ["b"]


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


_TEXT = st.text(max_size=12)
_REQUESTS = st.builds(
    DeprecatedRequest, _TEXT, st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8), _TEXT, _TEXT
)


@given(st.lists(_REQUESTS, max_size=4))
def test_whatever_is_written_is_read(requests: list[DeprecatedRequest]) -> None:
    written = "".join(
        line(
            f'group="{_escaped(each.group)}",version="{_escaped(each.version)}",resource="{_escaped(each.resource)}",'
            f'subresource="{_escaped(each.subresource)}",removed_release="{_escaped(each.removed_release)}"'
        )
        for each in requests
    )
    assert parse_deprecated_requests(written) == DeprecatedRequests(tuple(sorted(set(requests))))


@given(st.text(alphabet=st.sampled_from('{}",=\\ \tn1av\n'), max_size=60))
def test_rubbish_never_breaks_it_and_never_gets_lost(rubbish: str) -> None:
    read = parse_deprecated_requests(METRIC + rubbish)
    names_ours = rubbish[:1] not in ("n", "1", "a", "v")
    assert (len(read.unreadable) + len(read.requests) > 0) is names_ours


def test_a_long_line_is_read_in_one_go() -> None:
    many = ",".join(f'l{number}="{"x" * 20}"' for number in range(5000))
    assert len(parse_deprecated_requests(line(f'{many},version="v1",resource="a"')).requests) == 1
    assert len(parse_deprecated_requests(f"{METRIC}{{{many}" + " " * 100_000).unreadable) == 1


def test_escapes() -> None:
    read = parse_deprecated_requests(line(r'version="a\"b",resource="c\\n\nd",group="\x"')).requests
    assert read == (DeprecatedRequest("\\x", 'a"b', "c\\n\nd"),)
