"""A look into pods, through the port: of a cluster whose pods are data."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kubectl_eksdoc.core.model.aws.asked import Absent, Unknown
from kubectl_eksdoc.core.model.containers import Container, LogOf, Runs
from kubectl_eksdoc.core.plan.metadata.inside import Inside
from kubectl_eksdoc.core.plan.metadata.sufferers import Started
from kubectl_eksdoc.flows.metadata_inside import look_inside
from tests.builders import NOW, a_pod

DENIED = Unknown("no", "get pods")
LINE = "failed to introspect region from EC2Metadata"


class Pods:
    """Knows two of three, and the logs of one. Keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[LogOf] = []

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        crashing = Container("app", arguments=("--x",), runs=Runs.WAITING, ended_before=True)
        known = {"shop/a": (crashing,), "shop/b": (Container("app", runs=Runs.WAITING),)}
        return {pod: known.get(pod, DENIED) for pod in pods}

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        self.asked += asked
        return dict.fromkeys(asked, f"{LINE}\n")


def test_each_pod_has_what_was_found_of_it() -> None:
    pods = Pods()
    found = look_inside([a_pod(name, namespace="shop", ready=False) for name in "abc"], pods, NOW)
    assert pods.asked == [LogOf("shop", "a", "app", previous=True)]
    crashing = found["shop/a"]
    assert crashing.started == Started(("--x",)) and crashing.seen is not None and crashing.seen.line == LINE
    assert found["shop/b"] == Inside(Started()) and found["shop/c"] == Inside(unknown=(DENIED,))
