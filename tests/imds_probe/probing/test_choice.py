"""On which nodes a probe runs, and what is made of a pod as it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.imds_probe.probing.result import (
    LONGEST_S,
    OS,
    SETTLE_S,
    TEMPLATE_VERSION,
    ProbeSettings,
    likes,
    manifests,
    probe_pods,
)
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import Network
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, Node
from kubectl_eksdoc.model.placing import PodStand
from kubectl_eksdoc.probes import ProbeStage, stand_of, too_late
from tests.builders import a_node


def test_one_of_each_kind() -> None:
    nodes = [a_node(f"n{number}", group="blue" if number < 3 else "green") for number in range(5)]
    blue, green = likes(nodes)
    assert (blue.nodes, blue.chosen) == (("n0", "n1", "n2"), ("n0",))
    assert (green.nodes, green.chosen) == (("n3", "n4"), ("n3",))


def test_another_version_of_the_template_is_another_kind() -> None:
    """A group in the middle of an update has both."""
    old, new = (a_node(f"n{version}", labels={TEMPLATE_VERSION: version}) for version in "12")
    assert [each.chosen for each in likes([old, new])] == [("n1",), ("n2",)]


def test_named_nodes_and_every_node() -> None:
    nodes = [a_node(f"n{number}") for number in range(3)]
    assert [each.chosen for each in likes(nodes, ["n1", "n2"])] == [("n1", "n2")]
    assert [each.chosen for each in likes(nodes, every=True)] == [("n0", "n1", "n2")]
    with pytest.raises(UsageError, match="there is no node nx"):
        likes(nodes, ["nx"])


def test_nodes_that_take_pods_come_first() -> None:
    nodes = [a_node("a", unschedulable=True), a_node("b")]
    assert likes(nodes)[0].chosen == ("b",)
    assert likes(nodes[:1])[0].chosen == ("a",), "its pods are bound to it, and tolerate that it is cordoned"


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (a_node("n", labels={COMPUTE_TYPE: "fargate"}), "Fargate"),
        (a_node("n", labels={COMPUTE_TYPE: "hybrid"}), "no EC2 instance"),
        (a_node("n", labels={OS: "windows"}), "windows runs none"),
        (a_node("n", ready="Unknown"), "its kubelet would start nothing"),
    ],
)
def test_where_a_pod_would_tell_nothing(node: Node, why: str) -> None:
    (found,) = likes([node], every=True)
    assert found.chosen == () and why in found.why_not


fleets = some.lists(
    some.builds(
        a_node,
        some.sampled_from([f"n{number}" for number in range(30)]),
        group=some.sampled_from(["", "blue", "green"]),
        ready=some.sampled_from(["True", "False"]),
        labels=some.dictionaries(some.sampled_from([TEMPLATE_VERSION, OS]), some.sampled_from(["1", "2", "linux"])),
    ),
    unique_by=lambda node: node.name,
)


@given(fleets, some.booleans())
def test_every_node_is_of_one_kind(nodes: list[Node], every: bool) -> None:
    found = likes(nodes, every=every)
    assert sorted(name for each in found for name in each.nodes) == sorted(node.name for node in nodes)
    for each in found:
        assert set(each.chosen) <= set(each.nodes)
        assert bool(each.chosen) is not bool(each.why_not)
        assert every or len(each.chosen) <= 1


def test_pods_are_named_shortly_and_alone() -> None:
    """A node's name may be as long as a pod's."""
    pods = probe_pods("0a1b2c3d", [f"{'n' * 250}{number}" for number in range(3)], tuple(Network))
    assert len({pod.name for pod in pods}) == 6 and max(len(pod.name) for pod in pods) < 63


def test_a_deadline_is_later_than_all_that_is_waited_for() -> None:
    assert ProbeSettings(wait_s=10).deadline_s > 10 + SETTLE_S + LONGEST_S


def test_what_is_made_first_owns_the_rest() -> None:
    owner, *pods = manifests("cafe", probe_pods("cafe", ["n"], tuple(Network)), ProbeSettings())
    assert owner["kind"] == "ConfigMap" and [pod["kind"] for pod in pods] == ["Pod", "Pod"]
    for pod in pods:
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]
        assert pod["spec"]["restartPolicy"] == "Never" and pod["spec"]["activeDeadlineSeconds"] > 0


@pytest.mark.parametrize(
    ("stand", "found"),
    [
        (PodStand("p", "Succeeded", ended=0), ProbeStage.READ),
        (PodStand("p", "Running", ended=0), ProbeStage.READ),
        (PodStand("p", "Failed", ended=1), ProbeStage.READ),
        (PodStand("p", "Running"), ProbeStage.WAIT),
        (PodStand("p"), ProbeStage.WAIT),
        (PodStand("p", waiting="ContainerCreating"), ProbeStage.WAIT),
        (None, "the pod was deleted"),
        (PodStand("p", "Failed", "OutOfcpu", "Pod was rejected"), "the node has no room for it (OutOfcpu: Pod was"),
        (PodStand("p", "Failed", "DeadlineExceeded", "x", ended=137), "the kubelet refused or ended it (DeadlineExc"),
        (PodStand("p", "Failed", ended=128, ended_by="StartError", message="no sh"), "cannot be started (StartError"),
        (PodStand("p", waiting="ImagePullBackOff", waiting_message="a\nb"), "cannot be pulled (ImagePullBackOff: a b)"),
        (PodStand("p", waiting="CreateContainerConfigError"), "its container cannot be started"),
        (PodStand("p", "Failed"), "it failed"),
    ],
)
def test_what_is_made_of_a_pod(stand: PodStand | None, found: ProbeStage | str) -> None:
    made = stand_of(stand)
    if isinstance(found, ProbeStage):
        assert made is found
    else:
        assert isinstance(made, Unknown) and found in made.why


def test_what_took_too_long_says_how_far_it_was() -> None:
    assert "the kubelet has not begun with it after 90 s" in too_late(PodStand("p"), 90).why
    assert (
        "has not started after 90 s (ContainerCreating)" in too_late(PodStand("p", waiting="ContainerCreating"), 90).why
    )
    assert "it has not ended after 90 s" in too_late(PodStand("p", "Running"), 90).why
    assert "nothing was heard of it after 90 s" in too_late(None, 90).why
