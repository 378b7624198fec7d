"""With what a pod calls AWS, and its branch interface: out of objects as an API server prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.nodes import POD_ENI, Asks, Branch, Calls, Pod, Probe, RoleBy
from kubectl_eksdoc.objects.collector import BadObject, Collector


def pods(*given: dict[str, Any]) -> tuple[Pod, ...]:
    """`given`: a container's part, or with ``spec``, ``annotations`` and ``ip`` whole pods."""
    items = []
    for number, each in enumerate(given):
        container = {"name": "app", "image": "app:1", **each.get("container", {})}
        meta = {"name": f"p{number}", "namespace": "shop", "annotations": each.get("annotations", {})}
        spec = {"containers": [container], **each.get("spec", {})}
        items.append({"metadata": meta, "spec": spec, "status": {"phase": "Running", "podIP": each.get("ip", "")}})
    collector = Collector(Source.LIVE)
    body = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
    collector.add_page(kinds.PODS, json.dumps(body).encode(), "a test")
    return collector.cluster(Identity(), None).pods


def env(*names: str, value: str = "x") -> dict[str, Any]:
    return {"container": {"env": [{"name": name, "value": value} for name in names]}}


@pytest.mark.parametrize(
    ("given", "role"),
    [
        (env("AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"), RoleBy.IRSA),
        (env("AWS_CONTAINER_CREDENTIALS_FULL_URI"), RoleBy.POD_IDENTITY),
        (env("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), RoleBy.KEYS),
        (env("AWS_ACCESS_KEY_ID", "AWS_REGION"), RoleBy.NOBODY),
        (env("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"), RoleBy.IRSA),
        (env("OTHER", value='"name":"AWS_ACCESS_KEY_ID"'), RoleBy.NOBODY),
    ],
)
def test_who_gives_it_a_role(given: dict[str, Any], role: RoleBy) -> None:
    (pod,) = pods(given)
    assert pod.calls == Calls(False, "", role, ("app:1",))


def test_its_network_and_account_and_that_replicas_share() -> None:
    spec = {"hostNetwork": True, "serviceAccountName": "driver"}
    first, second, other = pods({"spec": spec}, {"spec": spec}, {})
    assert first.calls == Calls(True, "driver", RoleBy.NOBODY, ("app:1",))
    assert first.calls is second.calls and other.calls == Calls(images=("app:1",))


@pytest.mark.parametrize(("optional", "role"), [(True, RoleBy.NOBODY), (False, RoleBy.KEYS), (None, RoleBy.KEYS)])
def test_keys_that_may_not_be_there_are_none(optional: bool | None, role: RoleBy) -> None:
    ref = {"name": "aws-secret", "key": "key_id"} | ({} if optional is None else {"optional": optional})
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    given = {"container": {"env": [{"name": name, "valueFrom": {"secretKeyRef": ref}} for name in names]}}
    (pod,) = pods(given)
    assert pod.calls.role is role


def test_the_keys_of_one_container_are_not_those_of_another() -> None:
    keys = [{"name": name, "value": "x"} for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    both = [{"name": "app", "image": "app:1", "env": keys}, {"name": "other", "image": "other:1"}]
    one, all_of_them = pods(
        {"spec": {"containers": both}}, {"spec": {"containers": [both[0], both[1] | {"env": keys}]}}
    )
    assert (one.calls.role, all_of_them.calls.role) == (RoleBy.NOBODY, RoleBy.KEYS)


ASKS = {"resources": {"requests": {POD_ENI: "1"}, "limits": {POD_ENI: "1"}}}
NOTED = json.dumps([{"eniId": "eni-1", "privateIp": "10.0.9.9", "vlanId": 1}])


def test_the_branch_interface_of_a_pod_that_asks_for_one() -> None:
    probes = {
        "readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 5, "failureThreshold": 2},
        "livenessProbe": {"exec": {"command": ["true"]}},
        "startupProbe": {"tcpSocket": {"port": 80}},
    }
    given = {"container": {**ASKS, **probes}, "annotations": {POD_ENI: NOTED}, "ip": "10.0.9.9"}
    (pod,) = pods(given)
    told = (Probe("app", Asks.READINESS, "httpGet", 5, 2), Probe("app", Asks.STARTUP, "tcpSocket", 10, 3))
    assert pod.branch == Branch("10.0.9.9", "10.0.9.9", told) and not pod.branch.astray
    assert pod.annotations == {}


@pytest.mark.parametrize(
    ("address", "interface"), [("2001:db8::9", "2001:db8::9"), ("2001:db8::7", "2001:db8::9"), ("10.0.0.7", "10.0.9.9")]
)
def test_the_address_of_an_interface_is_of_the_family_of_the_pod(address: str, interface: str) -> None:
    noted = json.dumps([{"eniId": "eni-1", "privateIp": "10.0.9.9", "ipv6Addr": "2001:db8::9"}])
    (pod,) = pods({"container": ASKS, "annotations": {POD_ENI: noted}, "ip": address})
    assert pod.branch == Branch(address, interface) and pod.branch.astray is (address != interface)


@pytest.mark.parametrize("noted", ["", "no JSON", '[{"eniId":"e"}]', '[{"privateIp":7}]'])
def test_an_annotation_that_the_controller_did_not_write_is_none(noted: str) -> None:
    (pod,) = pods({"container": ASKS, "annotations": {POD_ENI: noted}, "ip": "10.0.0.7"})
    assert pod.branch == Branch("10.0.0.7", "") and not pod.branch.astray


def test_without_asking_there_is_none_and_probes_are_not_looked_at() -> None:
    (pod,) = pods({"container": {"readinessProbe": {"periodSeconds": "no number"}}, "annotations": {POD_ENI: NOTED}})
    assert pod.branch is None


def test_a_probe_that_cannot_be_is_named() -> None:
    with pytest.raises(BadObject, match="readinessProbe"):
        pods({"container": {**ASKS, "readinessProbe": {"tcpSocket": {}, "periodSeconds": "often"}}})
