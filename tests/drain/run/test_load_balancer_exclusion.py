"""Nodes are excluded from load balancers before their first pod is evicted, and never so that traffic is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.run.actions import node_target_services, takes_traffic
from kubectl_eksdoc.drain.run.events import THE_DRAIN, DrainEventKind
from kubectl_eksdoc.drain.run.stall_timeouts import MAX_ATTEMPTS, RETRY_S
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import NodeChanged, RequestAnswered, RunUpdate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import ClusterAction, Evict, Exclude, Release
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.network import Service, TargetGroupBinding
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, EXCLUDE_FROM_LOAD_BALANCERS, Node, Pod
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node, a_workload
from tests.drain.run.instant_engine import Driven, drained

WEB = Service("default", "web", "LoadBalancer", {"app": "web"})
LOCAL = replace(WEB, local=True)
NEW = a_roomy_node("new-0")


def a_world(service: Service | None = WEB, *, old: int = 2, more: Sequence[Pod] = (), allowed: int = 1) -> Cluster:
    """Old nodes with one pod of web each, under a budget that allows one eviction."""
    pods = [*(a_pod(f"web-{i}", node=f"old-{i}") for i in range(old)), *more]
    budget = a_budget("web", max_unavailable=allowed, allowed=allowed, expected=len(pods))
    sets = [a_workload("ReplicaSet/web", replicas=len(pods)), a_workload("DaemonSet/web", replicas=old + 1)]
    nodes = [*(a_node(f"old-{i}") for i in range(old)), NEW]
    services = [] if service is None else [service]
    return a_cluster(nodes=nodes, workloads=sets, pods=pods, budgets=[budget], services=services)


def order(driven: Driven) -> list[str]:
    """The requests in order: "x NODE" excludes a node, "- POD" evicts a pod."""
    told = []
    for _, act in driven.asked:
        if isinstance(act, Exclude):
            told.append(f"x {act.node}")
        elif isinstance(act, Evict):
            told.append(f"- {act.pod.name}")
    return told


@pytest.mark.parametrize(
    ("service", "bound", "behind"),
    [
        (WEB, "", True),
        (replace(WEB, ip_targets=True), "", False),
        (replace(WEB, type="NodePort"), "instance", True),
        (replace(WEB, type="ClusterIP"), "ip", False),
        (WEB, "ip", False),
        (replace(WEB, ip_targets=True), "instance", True),
    ],
)
def test_which_services(service: Service, bound: str, behind: bool) -> None:
    bindings = [TargetGroupBinding("default", "x", "web", bound)] if bound else []
    cluster = a_cluster(services=[service], target_group_bindings=bindings)
    assert node_target_services(cluster) == ((service,) if behind else ())


@pytest.mark.parametrize(
    ("node", "takes"),
    [
        (NEW, True),
        (replace(NEW, ready="False"), False),
        (replace(NEW, unschedulable=True), False),
        (replace(NEW, labels={EXCLUDE_FROM_LOAD_BALANCERS: ""}), False),
        (a_node("f", labels={COMPUTE_TYPE: "fargate"}), False),
    ],
)
def test_which_nodes_take_traffic(node: Node, takes: bool) -> None:
    assert takes_traffic(node) is takes


def test_a_node_is_taken_from_load_balancers_before_its_first_pod_goes() -> None:
    driven = drained(a_world(allowed=2))
    assert order(driven) == ["x old-0", "x old-1", "- web-0", "- web-1"]
    assert driven.told(DrainEventKind.EXCLUDED) == [("old-0", ""), ("old-1", "")]


@pytest.mark.parametrize("kind", [kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS])
def test_what_was_not_read_is_told(kind: kinds.Resource) -> None:
    world = a_world(None)
    reads = a_cluster(unread=[kind]).reads
    driven = Driven(replace(world, reads=reads))
    driven.until(5)
    ((subject, why),) = driven.told(DrainEventKind.WARNED)
    assert subject == THE_DRAIN and f"({kind.full_name}: forbidden)" in why
    assert not driven.of(Exclude)


def test_a_node_without_pods_to_evict_is_taken_from_them_too() -> None:
    world = replace(a_world(old=1), pods=())
    driven = drained(world)
    assert order(driven) == ["x old-0"] and driven.told(DrainEventKind.DONE)


def test_a_node_that_is_labelled_already_is_not_labelled_again() -> None:
    world = a_world(old=1)
    old = replace(world.nodes[0], labels={**world.nodes[0].labels, EXCLUDE_FROM_LOAD_BALANCERS: ""})
    driven = drained(replace(world, nodes=(old, NEW)))
    assert order(driven) == ["- web-0"]


def test_never_the_last_that_takes_traffic() -> None:
    """The last serving node stays in until another one serves; if none comes, a warning reports that."""
    world = a_world(old=2)
    alone = replace(world, nodes=(*world.nodes[:2], replace(NEW, ready="Unknown")))
    driven = Driven(alone)
    driven.until(1)
    assert order(driven) == ["- web-0"]
    driven.until(30)
    ((subject, why),) = driven.told(DrainEventKind.WARNED)
    assert subject == "old-0" and why.startswith("load balancers still send to it: no other node is there")
    driven.hear(NodeChanged(NEW), driven.replaced("default/web-0", "new-0"))
    driven.to_the_end()
    assert order(driven) == ["- web-0", "x old-1", "- web-1"]


def test_of_a_local_service_only_what_goes_anyway_is_cut_off() -> None:
    """Each node serves only its own pods: a node is excluded together with its last pod, when other nodes serve."""
    driven = Driven(a_world(LOCAL, old=3))
    driven.until(1)
    assert order(driven) == ["- web-0", "x old-0"], "no node that stays has another: it was left out once it was empty"
    driven.hear(driven.replaced("default/web-0", "new-0"))
    driven.until(2)
    assert order(driven)[2:] == ["x old-1", "- web-1"], "old-2 serves until its own turn"
    driven.hear(driven.replaced("default/web-1", "new-0"))
    driven.to_the_end()
    assert order(driven)[4:] == ["x old-2", "- web-2"] and not driven.told(DrainEventKind.WARNED)


def test_pods_that_stay_do_not_keep_a_node_in_as_long_as_others_serve() -> None:
    """Example: an ingress controller that is a DaemonSet."""
    daemons = [a_pod(f"d-{node}", owner="DaemonSet/web", node=node) for node in ("old-0", "new-0")]
    driven = drained(replace(a_world(LOCAL, old=1), pods=tuple(daemons), budgets=()))
    assert order(driven) == ["x old-0"]
    driven = drained(replace(a_world(LOCAL, old=1), pods=(daemons[0],), budgets=()))
    assert order(driven) == []
    ((_, why),) = driven.told(DrainEventKind.WARNED)
    assert why.endswith("no other node that is not cordoned has a Ready pod of Service default/web")


def test_nothing_goes_until_it_is_answered() -> None:
    acts: list[ClusterAction] = []
    driven = Driven(a_world(allowed=2), Exclude=lambda act: acts.append(act))  # type: ignore[func-returns-value]
    driven.until(60)
    assert order(driven) == ["x old-0", "x old-1"]
    driven.hear(RequestAnswered(acts[1], ApiStatus(200)))
    driven.until(61)
    assert order(driven) == ["x old-0", "x old-1", "- web-1"]
    driven.hear(RequestAnswered(acts[0], ApiStatus(200)))
    driven.to_the_end()
    assert order(driven) == ["x old-0", "x old-1", "- web-1", "- web-0"]


NOT_DONE = [
    (LostResponse("reset"), MAX_ATTEMPTS),
    (ApiStatus(409, message="modified"), MAX_ATTEMPTS),
    (ApiStatus(422, message="no"), 1),
]


@pytest.mark.parametrize(("answer", "times"), NOT_DONE)
def test_what_does_not_work_is_told_and_the_node_is_drained(answer: ApiStatus | LostResponse, times: int) -> None:
    driven = drained(a_world(old=1), Exclude=lambda act: RequestAnswered(act, answer))
    assert driven.at(Exclude) == [RETRY_S * i for i in range(times)] and driven.at(Evict) == [RETRY_S * (times - 1)]
    ((subject, why),) = driven.told(DrainEventKind.WARNED)
    assert subject == "old-0" and why.startswith("it is not taken from load balancers")


def test_a_right_that_is_missing_is_told_once() -> None:
    driven = drained(
        a_world(allowed=2), Exclude=lambda act: RequestAnswered(act, ApiStatus(403, message="cannot patch"))
    )
    assert order(driven)[-2:] == ["- web-0", "- web-1"] and not driven.engine.not_drained
    assert driven.at(Evict)[0] == RETRY_S * (MAX_ATTEMPTS - 1), "it may be a moment's doing"
    assert driven.told(DrainEventKind.WARNED) == [(THE_DRAIN, "nodes are not taken from load balancers: cannot patch")]


@pytest.mark.parametrize("code", [401, 403])
def test_a_single_no_decides_over_nothing(code: int) -> None:
    left = iter([ApiStatus(code, message="cannot patch")])
    driven = drained(a_world(allowed=2), Exclude=lambda act: RequestAnswered(act, next(left, ApiStatus(200))))
    assert len(driven.told(DrainEventKind.EXCLUDED)) == 2 and not driven.told(DrainEventKind.WARNED)


def test_who_stops_it_meanwhile_evicts_nothing() -> None:
    acts: list[ClusterAction] = []
    driven = Driven(a_world(old=1), Exclude=lambda act: acts.append(act))  # type: ignore[func-returns-value]
    driven.until(1)
    driven.engine.stop("enough", 1)
    driven.hear(RequestAnswered(acts[0], ApiStatus(200)))
    driven.step()
    assert not driven.of(Evict) and driven.engine.is_settled(1) and driven.of(Release)


class Traffic:
    """A cluster whose replacements come after a while; at every moment some node must accept the traffic."""

    def __init__(self, world: Cluster, answers: list[ApiStatus | LostResponse]) -> None:
        self._left = answers
        self.driven = Driven(world, Exclude=self.exclude)
        self._gone: list[Evict] = []

    def exclude(self, act: ClusterAction) -> RunUpdate:
        assert isinstance(act, Exclude)
        answer = self._left.pop(0) if self._left else ApiStatus(200)
        if isinstance(answer, LostResponse) or answer.ok:
            node = self.driven.engine.observed.nodes[act.node]
            self.driven.hear(NodeChanged(replace(node, labels={**node.labels, EXCLUDE_FROM_LOAD_BALANCERS: "true"})))
        self.check()
        return RequestAnswered(act, answer)

    def check(self) -> None:
        """At most one pod gets no traffic, as the budget allows, and another node serves."""
        seen = self.driven.engine.observed
        out = {name for name, node in seen.nodes.items() if EXCLUDE_FROM_LOAD_BALANCERS in node.labels}
        cut_off = [pod.name for pod in seen.pods() if pod.node in out]
        assert len(cut_off) <= 1 and "new-0" not in out
        assert any(pod.node not in out for pod in seen.pods()) or not any(seen.pods())

    def to_the_end(self) -> None:
        driven = self.driven
        while not driven.engine.is_finished:
            driven.step()
            evicted = [act for act in driven.of(Evict) if act not in self._gone]
            driven.until(driven.now_s + 7)
            for act in evicted:
                assert isinstance(act, Evict)
                self._gone.append(act)
                driven.hear(driven.replaced(act.pod.key, "new-0"))
            assert driven.now_s < 2000
        assert not driven.engine.not_drained


def never_cut_off(old: int, answers: list[ApiStatus | LostResponse]) -> None:
    Traffic(a_world(LOCAL, old=old), answers).to_the_end()


@given(
    st.integers(1, 5), st.lists(st.sampled_from([ApiStatus(200), LostResponse("reset"), ApiStatus(429)]), max_size=10)
)
@example(4, [LostResponse("reset")] * 8)
def test_traffic_is_never_cut_off(old: int, answers: list[ApiStatus | LostResponse]) -> None:
    never_cut_off(old, answers)


def test_whoever_waits_for_its_node_keeps_its_place_in_the_budget_however_long_it_is_paused() -> None:
    """The node may be excluded already, so that its pod gets no traffic, although no answer came."""
    left = iter([LostResponse("reset")])
    world = a_world(LOCAL, old=2, more=[a_pod("web-9", node="new-0")])
    driven = Driven(world, Exclude=lambda act: RequestAnswered(act, next(left, ApiStatus(200))), Evict=lambda act: None)
    driven.step()
    driven.engine.pause("the user paused it")
    driven.until(200.0)
    driven.engine.pause("")
    driven.until(230.0)
    assert order(driven) == ["x old-0", "x old-0", "- web-0"], "nothing of the other node before its pod was replaced"


def test_a_node_that_somebody_uncordons_meanwhile_is_left_alone() -> None:
    acts: list[ClusterAction] = []
    driven = Driven(a_world(old=1), Exclude=lambda act: acts.append(act))  # type: ignore[func-returns-value]
    driven.until(1)
    driven.hear(NodeChanged(replace(driven.engine.observed.nodes["old-0"], unschedulable=False)))
    driven.step()
    driven.hear(RequestAnswered(acts[0], ApiStatus(200)))
    driven.to_the_end()
    assert not driven.of(Evict) and driven.told(DrainEventKind.LEFT_ALONE)
