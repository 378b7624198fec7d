"""Nodes that a run protects from autoscalers: which ones, and that each ending of a run releases them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.run.events import THE_DRAIN, DrainEventKind
from kubectl_eksdoc.drain.run.replacements import EMPTY_REASON, JOINED_REASON, protection_reason
from kubectl_eksdoc.drain.run.stall_timeouts import MAX_ATTEMPTS, RETRY_S
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import AllNodes, NodeChanged, RequestAnswered, RunUpdate
from kubectl_eksdoc.model.actions import ClusterAction, Protect, Release
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, Node, Taint
from tests.builders import NOW, a_cluster, a_node, a_pod, a_roomy_node, pods
from tests.drain.planning import WEB
from tests.drain.run.instant_engine import Driven, drained

EMPTY_ONE, USED = a_roomy_node("new-0"), a_roomy_node("used")
DAEMON = a_pod("agent-1", owner="DaemonSet/agent", node="new-0")
CLUSTER = a_cluster(
    nodes=[a_node("old-0"), EMPTY_ONE, USED],
    workloads=WEB,
    pods=[*pods(3), a_pod("other", owner="ReplicaSet/other", node="used"), DAEMON],
)
A_NODE = a_node("x")
OF_EMPTY, OUT_OF = Protect("new-0", EMPTY_ONE.uid), Release("new-0", EMPTY_ONE.uid)


@pytest.mark.parametrize(
    ("node", "known", "empty", "why"),
    [
        (A_NODE, False, False, JOINED_REASON),
        (A_NODE, True, True, EMPTY_REASON),
        (A_NODE, True, False, ""),
        (replace(A_NODE, unschedulable=True), False, False, ""),
        (replace(A_NODE, deletion_at=NOW), False, False, ""),
        (replace(A_NODE, taints=(Taint("karpenter.sh/disrupted", "", "NoSchedule"),)), False, False, ""),
        (a_node("x", group="", labels={COMPUTE_TYPE: "fargate"}), False, False, ""),
        (a_node("x", group="", labels={COMPUTE_TYPE: "hybrid"}), True, True, ""),
        (a_node("x", group="", labels={COMPUTE_TYPE: "auto"}), True, True, EMPTY_REASON),
    ],
)
def test_which_nodes_and_why(node: Node, known: bool, empty: bool, why: str) -> None:
    assert protection_reason(node, known, empty) == why


def test_a_node_that_was_empty_is_protected_first_of_all_and_released_last_of_all() -> None:
    driven = drained(CLUSTER)
    assert driven.asked[0][1] == OF_EMPTY and driven.asked[-1][1] == OUT_OF
    assert driven.of(Protect) == [OF_EMPTY] and driven.of(Release) == [OUT_OF]
    assert driven.told(DrainEventKind.PROTECTED) == [("new-0", EMPTY_REASON)]
    assert driven.told(DrainEventKind.UNPROTECTED) == [("new-0", "")]
    assert not driven.told(DrainEventKind.WARNED)


@pytest.mark.parametrize("listed", [False, True])
def test_a_node_that_joins_is_protected_once(listed: bool) -> None:
    driven = Driven(CLUSTER)
    driven.step()

    def news(node: Node) -> RunUpdate:
        return AllNodes((*driven.engine.observed.nodes.values(), node)) if listed else NodeChanged(node)

    joined = a_node("joined", ready="False")
    driven.hear(news(joined))
    driven.step()
    driven.hear(news(replace(joined, ready="True")))
    driven.to_the_end()
    assert driven.of(Protect) == [OF_EMPTY, Protect("joined", joined.uid)]
    assert driven.of(Release) == [OUT_OF, Release("joined", joined.uid)]
    assert ("joined", JOINED_REASON) in driven.told(DrainEventKind.PROTECTED)


def test_a_right_that_is_missing_is_told_once_and_the_run_goes_on() -> None:
    nodes = [*CLUSTER.nodes, a_roomy_node("new-1")]
    driven = Driven(
        replace(CLUSTER, nodes=tuple(nodes)),
        Protect=lambda act: RequestAnswered(act, ApiStatus(403, message="cannot patch")),
    )
    driven.engine.pause("wait")
    driven.step()
    driven.hear(NodeChanged(a_node("joined")))
    driven.until(RETRY_S * MAX_ATTEMPTS)
    driven.engine.pause("")
    driven.to_the_end()
    assert driven.engine.is_finished and not driven.engine.not_drained
    assert len(driven.of(Protect)) <= 3 * MAX_ATTEMPTS and not driven.of(Release)
    assert driven.told(DrainEventKind.WARNED) == [
        (THE_DRAIN, "new nodes are not protected from autoscalers: cannot patch")
    ]


@pytest.mark.parametrize("answer", [LostResponse("reset"), ApiStatus(500, message="leader changed")])
def test_what_nobody_knows_is_tried_a_few_times_and_released(answer: ApiStatus | LostResponse) -> None:
    driven = Driven(CLUSTER, Protect=lambda act: RequestAnswered(act, answer))
    driven.engine.pause("wait")
    driven.until(100)
    assert driven.at(Protect) == [RETRY_S * i for i in range(MAX_ATTEMPTS)]
    ((subject, why),) = driven.told(DrainEventKind.WARNED)
    assert subject == "new-0" and "an autoscaler may remove it" in why
    driven.engine.pause("")
    driven.to_the_end()
    assert driven.of(Release) == [OUT_OF], "it may have been done"


@pytest.mark.parametrize(
    "answer",
    [ApiStatus(404), ApiStatus(409, message="Precondition failed: UID in the precondition: a, UID in object meta: b")],
)
def test_a_node_that_is_gone_is_forgotten(answer: ApiStatus) -> None:
    driven = drained(CLUSTER, Protect=lambda act: RequestAnswered(act, answer))
    assert len(driven.of(Protect)) == 1 and not driven.of(Release) and not driven.told(DrainEventKind.WARNED)
    driven = Driven(CLUSTER, Release=lambda act: RequestAnswered(act, answer))
    driven.to_the_end()
    assert len(driven.of(Release)) == 1 and not driven.told(DrainEventKind.WARNED)


def test_a_run_waits_for_the_answer_of_what_it_protects() -> None:
    """Without the wait, a protection could arrive after the run's end and stay."""
    answers: list[ClusterAction] = []
    driven = Driven(CLUSTER, Protect=lambda act: answers.append(act))  # type: ignore[func-returns-value]
    driven.until(100)
    assert not driven.engine.not_drained and not driven.engine.is_finished and not driven.of(Release)
    driven.hear(RequestAnswered(answers[0], ApiStatus(200)))
    driven.to_the_end()
    assert driven.of(Release) == [OUT_OF]


@pytest.mark.parametrize(
    ("answer", "times"),
    [
        (ApiStatus(403, message="no"), MAX_ATTEMPTS),
        (LostResponse("reset"), MAX_ATTEMPTS),
        (ApiStatus(422, message="no note"), 1),
    ],
)
def test_what_cannot_be_released_is_told_with_what_to_do(answer: ApiStatus | LostResponse, times: int) -> None:
    driven = drained(CLUSTER, Release=lambda act: RequestAnswered(act, answer))
    assert driven.engine.is_finished and len(driven.of(Release)) == times
    ((subject, why),) = driven.told(DrainEventKind.WARNED)
    assert subject == "new-0" and "kubectl annotate node new-0 cluster-autoscaler.kubernetes.io/scale" in why


def test_what_another_began_is_released_with_the_rest() -> None:
    driven = Driven(CLUSTER)
    driven.engine.adopt_protection("used", USED.uid, confirmed=True)
    driven.engine.adopt_protection("new-0", EMPTY_ONE.uid, confirmed=False)
    driven.engine.adopt_protection("gone", "uid-gone", confirmed=True)
    driven.to_the_end()
    assert driven.of(Protect) == [OF_EMPTY], "it may not have been done"
    assert {act.node for act in driven.of(Release)} == {"new-0", "used", "gone"}  # type: ignore[union-attr]


ANSWERS = [
    ApiStatus(200),
    LostResponse("reset"),
    ApiStatus(500),
    ApiStatus(409, message="modified"),
    ApiStatus(429),
    ApiStatus(403),
    ApiStatus(422),
]


@given(st.lists(st.sampled_from(ANSWERS), max_size=30), st.integers(0, 30), st.booleans())
def test_whatever_is_answered_nothing_stays_that_was_not_told(
    answers: list[ApiStatus | LostResponse], joins_at: int, stops: bool
) -> None:
    """After a lost answer or a 5xx, the request may have succeeded or not."""
    left = list(answers)
    marked: set[str] = set()

    def answer(act: ClusterAction) -> RunUpdate:
        assert isinstance(act, (Protect, Release))
        given = left.pop(0) if left else ApiStatus(200)
        done = given.ok if isinstance(given, ApiStatus) else len(left) % 2 == 0
        if done or (isinstance(given, ApiStatus) and given.code >= 500 and len(left) % 2):
            (marked.add if isinstance(act, Protect) else marked.discard)(act.uid)
        return RequestAnswered(act, given)

    driven = Driven(CLUSTER, Protect=answer, Release=answer)
    driven.until(joins_at)
    driven.hear(NodeChanged(a_node("joined")))
    driven.step()
    if stops:
        driven.engine.stop("enough", driven.now_s)
    driven.to_the_end()
    warned = {subject for subject, _ in driven.told(DrainEventKind.WARNED)}
    names = {EMPTY_ONE.uid: "new-0", a_node("joined").uid: "joined"}
    assert {names[uid] for uid in marked} <= warned


def test_who_stops_it_has_all_released_once_nothing_is_under_way() -> None:
    driven = Driven(CLUSTER)
    driven.until(1)
    assert not driven.of(Release)
    driven.engine.stop("the user stopped it", driven.now_s)
    driven.step()
    assert driven.of(Release) == [OUT_OF] and driven.engine.is_settled(driven.now_s)
    driven.hear(NodeChanged(a_node("late")))
    driven.step()
    assert len(driven.of(Protect)) == 1, "nothing is begun any more"
