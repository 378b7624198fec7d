"""A look into pods, through the port: of a cluster whose pods are data."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kubectl_eksdoc.imds_probe.affected import Effect
from kubectl_eksdoc.imds_probe.plan import plan_metadata
from kubectl_eksdoc.imds_probe.programs import ContainerCommand
from kubectl_eksdoc.imds_probe.read import with_pods
from kubectl_eksdoc.imds_probe.sources import MetadataFacts
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import Instance, MachineFacts, MetadataOptions
from kubectl_eksdoc.model.nodes import Calls, Container, ContainerRunState, LogOf, Pod
from tests.builders import a_cluster, a_node, a_pod

ID = "i-0123456789abcdef0"
CUT = MachineFacts(instances={ID: Instance(ID, options=MetadataOptions("required", 1))})
DENIED = Unknown("no", "get pods")
LINE = "failed to introspect region from EC2Metadata"
LBC = "eks/aws-load-balancer-controller:v2.13.0"


class Pods:
    """Knows two of three, and what was printed before. Keeps what it was asked for."""

    has_logs = True

    def __init__(self) -> None:
        self.asked: list[LogOf] = []
        self.looked: list[str] = []

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        self.looked += pods
        crashing = Container("app", LBC, ("--x",), runs=ContainerRunState.WAITING, ended_before=True)
        known = {"shop/a": (crashing,), "shop/b": (Container("app", runs=ContainerRunState.WAITING),)}
        return {pod: known.get(pod, DENIED) for pod in pods}

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        self.asked += asked
        return dict.fromkeys(asked, f"{LINE}\n")


def pod(name: str, image: str = "shop/cart:1", ready: bool = False) -> Pod:
    return a_pod(name, namespace="shop", node="n", ready=ready, owner=None, calls=Calls(images=(image,)))


def test_each_pod_has_what_was_found_of_it() -> None:
    node = a_node("n", provider_id=f"aws:///eu-west-1a/{ID}")
    given = [pod("a", LBC), pod("b"), pod("c"), pod("d", ready=True)]
    pods = Pods()
    facts = with_pods(MetadataFacts(a_cluster(nodes=[node], pods=given), CUT), 2, pods)
    assert pods.looked == ["shop/a", "shop/b", "shop/c", "shop/d"], "each once, and last what runs well"
    assert pods.asked == [LogOf("shop", "a", "app", previous=True)]
    found = facts.inside["shop/a"]
    assert found.seen is not None and found.seen.line == LINE and found.started == ContainerCommand(("--x",))
    assert facts.inside["shop/b"].seen is None and facts.inside["shop/c"].unknown == (DENIED,)
    assert facts.not_looked_into == 0
    plan = plan_metadata(facts, 2)
    assert "shop/c" in str(plan.findings) and "shop/d" not in str([each.message for each in plan.findings])
    (group,) = plan.groups
    assert [each.pod.name for each in group.of(Effect.BROKEN)] == ["a"]
