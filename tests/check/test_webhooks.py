"""Webhooks without a ready endpoint, and webhooks that an upgrade needs."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.check.checking import CheckFacts
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Namespace
from kubectl_eksdoc.model.findings import Severity, Status, Subject
from kubectl_eksdoc.model.network import Endpoint, EndpointSlice, Service, Webhook, WebhookRule
from kubectl_eksdoc.model.selectors import parse
from tests.builders import a_node, a_pod
from tests.check.of_cluster import facts, found, only

KIND = "ValidatingWebhookConfiguration"
PODS = WebhookRule(("CREATE",), ("",), ("pods",))
ALL = WebhookRule(("*",), ("*",), ("*",))
NAMESPACES = [Namespace("kube-system"), Namespace("kube-node-lease"), Namespace("shop")]
NOT_SYSTEM = parse("kubernetes.io/metadata.name!=kube-system,kubernetes.io/metadata.name!=kube-node-lease")
SLICE = EndpointSlice("sys", "gate", (Endpoint("1", "gate-0"), Endpoint("2", "gate-1")))
NOBODY = EndpointSlice("sys", "gate", (Endpoint("1", "gate-0", ready=False),))


def a_webhook(*rules: WebhookRule, fails: bool = True, name: str = "gate.example.com", **more: Any) -> Webhook:
    where = {} if "url" in more else {"namespace": "sys", "service": "gate"}
    return Webhook("gate", KIND, name, fails, **where, rules=rules or (PODS,), **more)


def world(*hooks: Webhook, slices: tuple[EndpointSlice, ...] = (SLICE,), **more: Any) -> CheckFacts:
    given: dict[str, Any] = {"services": [Service("sys", "gate")], "namespaces": NAMESPACES}
    return facts(**(given | {"webhooks": hooks, "endpoint_slices": slices} | more))


def test_somebody_answers() -> None:
    ports = [Service("sys", "gate", ports=(80, 443))]
    assert found("webhook-down", world(a_webhook(), a_webhook(fails=False), services=ports)) == ()
    assert found("webhook-down", world()) == ()


@pytest.mark.parametrize(
    ("of", "why"),
    [
        ({"services": [], "slices": ()}, "there is no Service sys/gate"),
        ({"slices": ()}, "Service sys/gate has no ready endpoint"),
        ({"slices": (NOBODY,)}, "Service sys/gate has no ready endpoint"),
        ({"services": [Service("sys", "gate", ports=(80, 8443))]}, "Service sys/gate has no port 443"),
    ],
)
def test_nobody_answers(of: dict[str, Any], why: str) -> None:
    finding = only("webhook-down", world(a_webhook(), **of))
    assert (finding.status, finding.severity) == (Status.FAIL, Severity.CRITICAL)
    assert finding.subject == Subject(KIND, "gate")
    assert finding.message == f"{why}, so the API server refuses CREATE of pods"
    assert finding.remedy[0].command == "kubectl get endpointslices -n sys -l kubernetes.io/service-name=gate"
    assert finding.remedy[1].command.endswith("&& kubectl delete validatingwebhookconfiguration gate")


def test_each_port_of_a_service_is_asked_by_itself() -> None:
    hooks = a_webhook(), a_webhook(name="other.example.com", port=8443)
    finding = only("webhook-down", world(*hooks, services=[Service("sys", "gate", ports=(443,))]))
    assert "no port 8443" in finding.message and [each.partition(":")[0] for each in finding.evidence[:1]] == [
        "other.example.com"
    ]


def test_other_requests_and_failing_open_are_less_bad() -> None:
    other = WebhookRule(("CREATE", "UPDATE"), ("example.com",), ("things",))
    finding = only("webhook-down", world(a_webhook(other), slices=()))
    assert (finding.severity, finding.message.endswith("CREATE, UPDATE of things of example.com")) == (
        Severity.HIGH,
        True,
    )
    finding = only("webhook-down", world(a_webhook(fails=False), slices=()))
    assert (finding.severity, "fails open" in finding.message) == (Severity.LOW, True)


def test_no_namespace_asks_for_it() -> None:
    opted_in = {"namespace_selector": parse("inject=enabled")}
    finding = only("webhook-down", world(a_webhook(**opted_in), slices=()))
    assert (finding.severity, "no namespace has the labels" in finding.message) == (Severity.LOW, True)
    mixed = WebhookRule(("CREATE",), ("",), ("pods", "nodes"))
    assert only("webhook-down", world(a_webhook(mixed, **opted_in), slices=())).severity is Severity.CRITICAL
    labelled = [*NAMESPACES, Namespace("web", {"inject": "enabled"})]
    given = world(a_webhook(**opted_in), slices=(), namespaces=labelled)
    assert only("webhook-down", given).severity is Severity.CRITICAL


def test_who_is_called_by_url_or_elsewhere_cannot_be_told() -> None:
    finding = only("webhook-down", world(a_webhook(url="https://hook.example.com")))
    assert (finding.status, finding.severity) == (Status.UNKNOWN, Severity.INFO)
    assert "https://hook.example.com" in finding.message
    outside = [Service("sys", "gate", "ExternalName")]
    assert only("webhook-down", world(a_webhook(), slices=(), services=outside)).status is Status.UNKNOWN


@pytest.mark.parametrize("resource", [kinds.SERVICES, kinds.ENDPOINT_SLICES])
def test_backends_that_were_not_read(resource: kinds.Resource) -> None:
    finding = only("webhook-down", world(a_webhook(), slices=(), unread=[resource]))
    assert (finding.status, finding.missing) == (Status.UNKNOWN, f"list {resource.full_name}")
    assert found("webhook-down", world(unread=[resource])) == ()


@pytest.mark.parametrize("resource", [kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS])
@pytest.mark.parametrize("code", ["webhook-down", "webhook-catches-all"])
def test_webhooks_that_were_not_read(code: str, resource: kinds.Resource) -> None:
    finding = only(code, world(unread=[resource]))
    assert (finding.status, finding.missing) == (Status.UNKNOWN, f"list {resource.full_name}")


@pytest.mark.parametrize(
    ("rule", "caught"),
    [
        (ALL, ["nodes", "leases of kube-system and kube-node-lease", "pods of kube-system"]),
        (PODS, ["pods of kube-system"]),
        (WebhookRule(("UPDATE",), ("coordination.k8s.io",), ("*",)), ["leases of kube-system and kube-node-lease"]),
        (WebhookRule(("*",), ("*",), ("*/*",), "Cluster"), ["nodes"]),
        (WebhookRule(("CREATE",), ("",), ("*",), "Namespaced"), ["pods of kube-system"]),
    ],
)
def test_what_an_upgrade_needs(rule: WebhookRule, caught: list[str]) -> None:
    finding = only("webhook-catches-all", world(a_webhook(rule)))
    assert finding.status is Status.FAIL
    assert [each.split(":")[0] for each in finding.evidence[: len(caught)]] == caught
    assert finding.severity is (Severity.MEDIUM if caught == ["pods of kube-system"] else Severity.HIGH)
    assert finding.evidence[-1] == "Service sys/gate has 2 ready endpoints now"


def test_backends_that_were_not_read_make_it_no_worse() -> None:
    finding = only("webhook-catches-all", world(a_webhook(), slices=(), unread=[kinds.ENDPOINT_SLICES]))
    assert (finding.status, finding.severity) == (Status.FAIL, Severity.MEDIUM)
    assert finding.evidence[-1] == "Service sys/gate has endpoints that were not read now"


@pytest.mark.parametrize("resource", [kinds.NAMESPACES, kinds.NODES, kinds.PODS])
def test_what_selectors_are_held_against(resource: kinds.Resource) -> None:
    hook = a_webhook(object_selector=parse("app=web"))
    finding = only("webhook-catches-all", world(hook, unread=[resource]))
    assert (finding.status, finding.missing) == (Status.UNKNOWN, f"list {resource.full_name}")


def test_a_single_backend_is_worse() -> None:
    one = EndpointSlice("sys", "gate", (Endpoint("1", "gate-0"),))
    assert only("webhook-catches-all", world(a_webhook(), slices=(one,))).severity is Severity.HIGH


@pytest.mark.parametrize(
    "hook",
    [
        a_webhook(namespace_selector=NOT_SYSTEM),
        a_webhook(ALL, fails=False),
        a_webhook(WebhookRule(("DELETE",), ("",), ("pods", "nodes"))),
        a_webhook(WebhookRule(("CREATE",), ("apps",), ("*",))),
        a_webhook(object_selector=parse("app=web")),
        a_webhook(ALL, url="https://127.0.0.1:23443/mutate"),
    ],
)
def test_what_leaves_the_upgrade_alone(hook: Webhook) -> None:
    pods = [a_pod("dns-0", "kube-system", labels={"app": "dns"})]
    assert found("webhook-catches-all", world(hook, pods=pods, nodes=[a_node()])) == ()


def test_webhooks_of_eks_itself_are_no_question() -> None:
    """The webhooks of pod identity and VPC resources run on the machine of the API server."""
    assert found("webhook-down", world(a_webhook(ALL, url="https://127.0.0.1:23443/mutate"))) == ()
    for other in ("https://hooks.example.com/mutate", "https://localhost.example/mutate"):
        assert only("webhook-down", world(a_webhook(ALL, url=other))).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("operation", "harm"),
    [
        ("CREATE", "nodes cannot join"),
        ("UPDATE", "nodes cannot be cordoned, labelled or tainted"),
        ("*", "nodes cannot join; nodes cannot be cordoned, labelled or tainted"),
    ],
)
def test_what_becomes_of_nodes(operation: str, harm: str) -> None:
    hook = a_webhook(WebhookRule((operation,), ("",), ("nodes",)))
    assert only("webhook-catches-all", world(hook)).evidence[0] == f"nodes: {harm}"


def test_no_namespace_selector_leaves_out_nodes() -> None:
    finding = only("webhook-catches-all", world(a_webhook(ALL, namespace_selector=NOT_SYSTEM)))
    assert finding.evidence[0].startswith("nodes: ")
    assert "leases" not in finding.message


def test_conditions_may_leave_it_out() -> None:
    finding = only("webhook-catches-all", world(a_webhook(conditional=True)))
    assert (finding.status, finding.missing) == (Status.UNKNOWN, "what their matchConditions leave out")
