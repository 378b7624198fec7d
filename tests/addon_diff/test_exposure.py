"""Pods that are affected by a lost field: by their probes and load balancers, in the mode that enforces their security
groups."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.fields import USAGE_KINDS, FullestNode, Usage, read_usage
from kubectl_eksdoc.addon_diff.outcome import affected_target_groups
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Finding, Severity
from kubectl_eksdoc.model.kinds import KindRead, ReadState, Unknown
from kubectl_eksdoc.model.network import Service, TargetGroupBinding
from kubectl_eksdoc.model.nodes import BranchInterface, Probe, ProbeKind
from tests.addon_diff.incident import EARLY_DEMUX, by_hand, rich
from tests.addon_diff.test_plan import facts, found, planned
from tests.builders import a_cluster as a_whole
from tests.builders import a_node, a_pod

READY = Probe("app", ProbeKind.READINESS, "httpGet", 5, 2)
LIVE = Probe("app", ProbeKind.LIVENESS, "tcpSocket", 10, 3)
ENFORCING = "POD_SECURITY_GROUP_ENFORCING_MODE"


def branched(name: str, *probes: Probe, **more: Any) -> Any:
    return a_pod(name, namespace="shop", branch=BranchInterface(probes=probes, **more))


def of(users: Usage, live: Any = None, mode: Mode = Mode.OVERWRITE) -> Finding:
    """The finding about early demux."""
    plan = planned(facts(usage=users, objects=(live or rich(),)), AddonUpdateRequest(mode))
    return next(each for each in found(plan, "addon-field-reset") if EARLY_DEMUX[2] in each.message)


def enforcing(mode: str) -> Any:
    return by_hand(rich(), "containers", 0, ENFORCING, mode)


@pytest.mark.parametrize(
    ("users", "live", "severity", "said"),
    [
        (Usage((branched("cart", READY), branched("pay", READY, LIVE)), ("shop/k8s-pay",)), None, Severity.CRITICAL,
         ("readiness probes over the network, unready from 10 s on: shop/cart, shop/pay",
          "liveness or startup probes over the network, containers restarted from 30 s on: shop/pay",
          "target groups they stand in: shop/k8s-pay")),
        (Usage((branched("cart", READY),), Unknown("services were not read: forbidden")), None, Severity.CRITICAL,
         ("which target groups they stand in is not known: services were not read: forbidden",)),
        (Usage((branched("cart"),)), None, Severity.HIGH, ("none of them is probed over the network",)),
        (Usage((branched("cart", READY),)), "standard", Severity.LOW, (f"{ENFORCING} is standard",)),
        (Usage((branched("cart", READY),)), "strict", Severity.CRITICAL, ()),
        (Usage(()), None, Severity.LOW, ("no pod has security groups of its own; else",)),
        (Usage(Unknown("pods were not read")), None, Severity.CRITICAL, ("is not known: pods were not read",)),
        (Usage((), policies=("shop/pay",)), None, Severity.MEDIUM, ("SecurityGroupPolicies give them: shop/pay",)),
        (Usage((), policies=Unknown("policies were not read")), None, Severity.LOW, ("policies were not read",)),
    ],
)  # fmt: skip
def test_who_notices_decides_how_bad_it_is(users: Usage, live: Any, severity: Severity, said: tuple[str, ...]) -> None:
    told = of(users, live and enforcing(live))
    assert told.severity is severity
    assert [each for each in said if not any(each in line for line in told.evidence)] == []


def test_a_pod_with_the_address_of_its_node_is_astray() -> None:
    here = branched("here", address="10.0.0.7", interface="10.0.0.7")
    unknown = branched("unknown", address="10.0.0.7")
    plan = planned(
        facts(usage=Usage((branched("gone", address="10.0.0.7", interface="10.0.9.9"), here, unknown))),
        AddonUpdateRequest(),
    )
    (told,) = found(plan, "addon-pods-astray")
    assert (told.subject.namespace, told.subject.name) == ("shop", "gone")
    assert "kubectl -n shop delete pod gone" in told.remedy[0].text


@pytest.mark.parametrize(
    ("configs", "severity"),
    [((), Severity.LOW), (("eu-west-1a",), Severity.HIGH), (Unknown("not read"), Severity.HIGH)],
    ids=["none", "some", "unknown"],
)
def test_custom_networking_is_used_where_an_eni_config_is(configs: Any, severity: Severity) -> None:
    live = by_hand(rich(), "containers", 0, "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG", "true")
    plan = planned(facts(usage=Usage((), eni_configs=configs), objects=(live,)), AddonUpdateRequest(Mode.OVERWRITE))
    (told,) = [each for each in found(plan, "addon-field-reset") if "CUSTOM_NETWORK_CFG" in each.message]
    assert told.severity is severity


def read(*resources: Any) -> tuple[KindRead, ...]:
    return tuple(KindRead(each, ReadState.READ) for each in resources)


def a_cluster(*unread: Any) -> Any:
    pods = (
        a_pod("pay", namespace="shop", labels={"app": "pay"}, node="n1", branch=BranchInterface()),
        a_pod("old", namespace="shop", labels={"app": "old"}, node="n1", branch=BranchInterface(), phase="Succeeded"),
        a_pod("web", namespace="shop", labels={"app": "web"}, node="n1"),
    )
    services = tuple(Service("shop", name, selector={"app": name}) for name in ("pay", "old", "web"))
    services += (Service("shop", "by-hand"), Service("other", "pay", selector={"app": "pay"}))
    bound = ("pay", "old", "web", "by-hand", "none")
    bindings = tuple(TargetGroupBinding("shop", f"k8s-{each}", each, arn=f"arn:{each}") for each in bound)
    bindings += (TargetGroupBinding("other", "k8s-other", "pay"), TargetGroupBinding("shop", "bare", "pay"))
    kept = [each for each in USAGE_KINDS if each not in unread]
    return a_whole(
        nodes=(a_node("n1", pods_allocatable=58), a_node("n2", pods_allocatable=110)),
        pods=pods,
        services=services,
        target_group_bindings=bindings,
        reads=read(*kept),
    )


def test_only_what_selects_them_sends_them_traffic() -> None:
    seen = read_usage(a_cluster())
    assert seen.branch_pods == ("shop/pay",) and seen.target_groups == ("shop/bare", "shop/k8s-pay")
    watched = affected_target_groups("vpc-cni", a_cluster())
    assert not isinstance(watched, Unknown) and [each.arn for each in watched] == ["arn:pay"]
    assert affected_target_groups("coredns", a_cluster()) == ()
    unread = affected_target_groups("vpc-cni", a_cluster(kinds.SERVICES))
    assert isinstance(unread, Unknown) and unread.missing == "list services"
    assert seen.fullest == FullestNode("n1", 2, 58)


@pytest.mark.parametrize("resource", USAGE_KINDS)
def test_what_was_not_read_is_unknown(resource: Any) -> None:
    seen = read_usage(a_cluster(resource))
    by_kind = {
        kinds.PODS: seen.branched,
        kinds.NODES: seen.fullest,
        kinds.SECURITY_GROUP_POLICIES: seen.policies,
        kinds.ENI_CONFIGS: seen.eni_configs,
    }
    of_kind = by_kind.get(resource, seen.target_groups)
    assert isinstance(of_kind, Unknown) and resource.full_name in of_kind.missing
