"""Steps that come before the control plane for what would be too old, or goes at once: each is listed once."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.check.checking import Gate
from kubectl_eksdoc.check.checklist.nodes import checklist
from kubectl_eksdoc.check.checklist.steps import Phase
from tests.builders import a_node
from tests.check.healthy import IMAGES, a_program, with_aws
from tests.check.test_checklist import NEW, titles, with_nodes


def test_kube_proxy_that_eks_does_not_manage_is_brought_to_the_control_planes_first_too() -> None:
    old = a_program("kube-proxy-0", f"{IMAGES}/eks/kube-proxy:v1.30.0", "DaemonSet/kube-proxy")
    facts = with_aws(with_nodes(a_node("n", version=NEW), pods=[old]), addons=())
    found = [each for each in checklist(facts) if "kube-proxy" in each.title]
    assert [(each.phase, each.title) for each in found] == [
        (Phase.BEFORE_CONTROL_PLANE, "Update kube-proxy (DaemonSet kube-system/kube-proxy) to 1.33 or newer"),
        (Phase.AFTER_CONTROL_PLANE, "Update kube-proxy (DaemonSet kube-system/kube-proxy) to 1.34 or newer"),
    ]
    assert found[0].why == "once the control plane has 1.34, kube-proxy (1.30) is 4 minors behind, 3 are allowed"


def test_auto_mode_begins_at_once_so_its_nodes_are_looked_at_before() -> None:
    auto = a_node("n", group="", version=NEW, labels={"eks.amazonaws.com/compute-type": "auto"})
    assert phases_of_looks(auto) == [Phase.BEFORE_CONTROL_PLANE], "once: there is nothing between"
    own = a_node("own", group="blue", version=NEW)
    assert phases_of_looks(auto, own) == [Phase.BEFORE_CONTROL_PLANE, Phase.NODES]
    waiting = [each for each in checklist(with_nodes(auto, own)) if each.gate is Gate.BEFORE_NODES and not each.about]
    assert [each.phase for each in waiting] == [Phase.BEFORE_CONTROL_PLANE], "findings are counted once"


def test_a_drain_is_rehearsed_where_there_are_nodes_that_a_drain_takes() -> None:
    auto = a_node("n", group="", version=NEW, labels={"eks.amazonaws.com/compute-type": "auto"})
    rehearsed = "Rehearse the replacement of the nodes"
    assert rehearsed not in titles(with_nodes(auto)), "rehearse leaves nodes of Auto Mode to EKS, and would exit with 1"
    assert rehearsed in titles(with_nodes(auto, a_node("own", group="blue", version=NEW)))


def phases_of_looks(*nodes: Any) -> list[Phase]:
    """Where the step stands that looks at what blocks the replacement of nodes."""
    looks = ("Check that nothing blocks the replacement", "Look again before nodes")
    return [each.phase for each in checklist(with_nodes(*nodes)) if each.title.startswith(looks)]
