"""What goes wrong in a cluster while it runs: each mishap does what it says, at its time."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.model.api_objects import at
from kubectl_eksdoc.simulator import mishaps
from kubectl_eksdoc.simulator.kubelets import NEVER
from kubectl_eksdoc.simulator.mishaps import Slower
from kubectl_eksdoc.simulator.plane import ControlPlane
from tests.simulator.planes import (
    NODES,
    PODS,
    START,
    Steady,
    a_budget_doc,
    a_node_doc,
    a_plane,
    a_pod_doc,
    doc_of,
)

WEB = [a_node_doc("a"), a_pod_doc("web-0", "a"), a_pod_doc("web-1", "a"), a_budget_doc()]


def cordoned(plane: ControlPlane, name: str) -> bool:
    return bool(at(doc_of(plane, NODES, name), "spec", "unschedulable"))


def later(plane: ControlPlane, seconds: float, mishap: Callable[[], object]) -> None:
    plane.agenda.after(seconds, mishap)


def test_a_node_that_joins_takes_what_waited() -> None:
    plane = a_plane([a_node_doc("a", unschedulable=True), a_pod_doc("waits")])
    later(plane, 10, lambda: mishaps.join(plane, doc_of(plane, NODES, "a"), "b"))
    plane.rest(60)
    assert at(doc_of(plane, PODS, "waits"), "spec", "nodeName") == "b"
    assert not cordoned(plane, "b")
    assert doc_of(plane, NODES, "b")["metadata"]["creationTimestamp"] == START.strftime("%Y-%m-%dT%H:%M:10Z")


def test_hanging_pods_take_their_whole_grace_period_or_never_start() -> None:
    pace = Slower(Steady(), lambda pod: pod.name == "web-0", more_to_stop_s=NEVER)
    pace = Slower(pace, lambda pod: pod.name == "new", more_to_start_s=NEVER)
    plane = a_plane([*WEB, a_pod_doc("new", cpu="100m")], pace)
    for name in ("web-0", "web-1"):
        mishaps.delete(plane, "default", name)
    plane.agenda.run_until(29)
    assert plane.store.get(PODS, ("default", "web-0")) is not None
    assert plane.store.get(PODS, ("default", "web-1")) is None
    plane.agenda.run_until(600)
    assert plane.store.get(PODS, ("default", "web-0")) is None
    assert doc_of(plane, PODS, "new")["status"]["phase"] == "Pending"
