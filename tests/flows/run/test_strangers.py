"""Pods that come to a node while it is drained: they go as a new plan has it, once each, and the node gets done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.account import Record
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.embedded.stage import EmbeddedStage
from kubectl_eksdoc.flows.rehearse import rehearse
from kubectl_eksdoc.kubernetes.api.statuses import LostAnswer
from kubectl_eksdoc.kubernetes.news import News, PodIs
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.acts import Evict
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange, StoreChangeKind
from tests.examples import examples
from tests.flows.stages import BLUE, ONE_BY_ONE, Bad, Granting, made, web
from tests.simulator.planes import BUDGETS, a_budget_doc, a_node_doc, a_pod_doc

CORDON_IGNORED = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}


def api(replicas: int) -> list[Doc]:
    """A ReplicaSet of small pods, all on new nodes."""
    template = {"metadata": {"labels": {"app": "api"}}, "spec": a_pod_doc("x", cpu="100m")["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "api"}}, "template": template}
    meta = {"name": "api", "namespace": "default", "uid": "uid-api", "generation": 1}
    status = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "observedGeneration": 1}
    pods = [of_api(a_pod_doc(f"api-{i}", f"new-{i}", cpu="100m", app="api")) for i in range(replicas)]
    return [*pods, {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": meta, "spec": spec, "status": status}]


def of_api(pod: Doc) -> Doc:
    owner = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "api", "uid": "uid-api", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    return pod


def a_cluster(*more: Doc) -> tuple[ControlPlane, Granting]:
    """Three old nodes with a pod each that goes one after the other, and room for all."""
    nodes = [a_node_doc(f"new-{i}", cpu="8") for i in range(3)]
    plane, stage = made(*web(3, 3), *nodes, a_budget_doc(allowed=1, healthy=3), *api(2), *more)
    return plane, Granting(plane, stage.read(kinds.ALL))


def comes(plane: ControlPlane, name: str, at_s: float, node: str = "old-0", **spec: Any) -> None:
    """One more pod of api that somebody makes then: past the scheduler, or for one that ignores the cordon."""
    doc = of_api(a_pod_doc(name, cpu="100m", app="api", **(spec or {"nodeName": node})))
    del doc["metadata"]["uid"]

    def make() -> None:
        workload = plane.registry.get("replicasets.apps", ("default", "api"))
        replicas = workload.doc["spec"]["replicas"] + 1
        plane.registry.update(workload, with_value(workload.doc, ("spec", "replicas"), replicas))
        plane.registry.create("pods", doc, "default")

    plane.agenda.after(at_s, make)


def tried(stage: EmbeddedStage, policy: DrainPolicy = DrainPolicy()) -> Record:
    return rehearse(stage, BLUE, policy)[1]


def told(rehearsal: Record, what: Happened) -> list[tuple[str, str]]:
    return [(moment.subject, moment.why) for moment in rehearsal.moments if moment.what is what]


def on_old(plane: ControlPlane) -> list[str]:
    return [i.key[1] for i in plane.store.list("pods") if str(i.doc["spec"].get("nodeName")).startswith("old-")]


def test_a_pod_past_the_scheduler_goes_too() -> None:
    plane, stage = a_cluster()
    comes(plane, "api-new", 3.0)
    rehearsal = tried(stage)
    assert not rehearsal.undone and not on_old(plane)
    assert told(rehearsal, Happened.REPLANNED) == [("old-0", "came to it after the plan was made: default/api-new")]
    assert set(stage.granted.values()) == {1} and stage.granted.total() == 4
    assert rehearsal.ended_s < 120, "nobody waits half an hour"


@pytest.mark.parametrize("at_s", [0.0, 0.5, 30.0, 61.0, 65.0, 68.0])
def test_whenever_it_comes(at_s: float) -> None:
    """Before its node is begun, while it waits, when it is empty, between its two lists."""
    plane, stage = a_cluster()
    for node in ("old-0", "old-1", "old-2"):
        comes(plane, f"api-{node}", at_s, node)
    rehearsal = tried(stage)
    done = [m.at_s for m in rehearsal.moments if m.what is Happened.DONE]
    late = [m.subject for m in rehearsal.moments if m.what is Happened.DONE and m.at_s < at_s]
    assert not rehearsal.undone and len(done) == 3 and max(stage.granted.values()) == 1
    assert len(on_old(plane)) == len(late), "who comes when it was done is nobody's"


def test_it_keeps_to_its_budget_as_all_others() -> None:
    plane, stage = a_cluster(a_budget_doc("api", allowed=1, healthy=2, app="api", maxUnavailable=1))
    for i in range(4):
        comes(plane, f"api-new-{i}", 2.0, f"old-{i % 3}")
    lowest = [1]

    def note(change: StoreChange) -> None:
        if change.item.resource == BUDGETS and change.what is not StoreChangeKind.DELETED:
            lowest.append(change.item.doc["status"]["disruptionsAllowed"])

    plane.store.listen(note)
    rehearsal = tried(stage)
    assert not rehearsal.undone and not on_old(plane) and min(lowest) >= 0
    assert not rehearsal.refusals, "one is waited for before the next is asked for"
    assert set(stage.granted.values()) == {1}


class Late(Granting):
    """What somebody made is not watched: only a list shows it."""

    def news(self) -> Sequence[News]:
        hidden = "api-new"
        return [each for each in super().news() if not (isinstance(each, PodIs) and each.pod.name == hidden)]


def test_what_only_a_list_shows_goes_too() -> None:
    plane, stage = a_cluster()
    late = Late(plane, stage.read(kinds.ALL))
    comes(plane, "api-new", 3.0)
    rehearsal = tried(late)
    assert not rehearsal.undone and not on_old(plane) and late.granted.total() == 4
    assert len(told(rehearsal, Happened.REPLANNED)) == 1


def test_what_belongs_on_the_node_is_left() -> None:
    """A DaemonSet's pod, one that has ended, a static one."""
    plane, stage = a_cluster()
    agent = a_pod_doc("agent", "old-0", cpu="100m", app="agent")
    owner = {"kind": "DaemonSet", "apiVersion": "apps/v1", "name": "agent", "uid": "uid-ds", "controller": True}
    agent["metadata"]["ownerReferences"] = [owner]
    static = a_pod_doc("static", "old-0", cpu="100m", app="static")
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    for doc in (agent, static):
        plane.agenda.after(2.0, lambda doc=doc: plane.registry.create("pods", doc, "default"))
    rehearsal = tried(stage)
    assert not rehearsal.undone and not told(rehearsal, Happened.REPLANNED) and stage.granted.total() == 3


@pytest.mark.parametrize("partial", [False, True])
def test_what_cannot_go_keeps_its_node_or_stays_alone(partial: bool) -> None:
    plane, stage = a_cluster()
    bare = a_pod_doc("bare", "old-2", cpu="100m", app="bare")
    plane.agenda.after(2.0, lambda: plane.registry.create("pods", bare, "default"))
    rehearsal = tried(stage, DrainPolicy(partial=partial))
    ((pod, why),) = told(rehearsal, Happened.KEPT)
    assert pod == "default/bare" and "no controller" in why
    alone = dict(told(rehearsal, Happened.LEFT_ALONE))
    if partial:
        assert not alone and not rehearsal.undone and on_old(plane) == ["bare"]
    else:
        assert alone == {"old-2": f"default/bare: {why}"}
        assert "default/bare" in rehearsal.undone["old-2"] and len(told(rehearsal, Happened.DONE)) == 2


def test_who_comes_back_again_and_again_is_not_fought() -> None:
    plane, stage = a_cluster()
    sent = []

    def again(change: StoreChange) -> None:
        """Somebody's controller puts a pod back on the node whenever one of its pods is gone from it."""
        doc = change.item.doc
        ours = doc["kind"] == "Pod" and doc["metadata"]["labels"].get("app") == "api"
        if change.what is StoreChangeKind.DELETED and ours and doc["spec"].get("nodeName") == "old-0":
            sent.append(change.item.key[1])
            comes(plane, f"api-again-{len(sent)}", 1.0)

    plane.store.listen(again)
    comes(plane, "api-new", 2.0)
    rehearsal = tried(stage)
    assert sent == ["api-new", "api-again-1"], "the third is left"
    assert len(told(rehearsal, Happened.REPLANNED)) == 2
    assert dict(told(rehearsal, Happened.KEPT)) == {
        "default/api-again-2": "ReplicaSet default/api puts pods on this node again and again"
    }
    assert list(rehearsal.undone) == ["old-0"] and "default/api-again-2" in rehearsal.undone["old-0"]


LOST, LOST_AFTER = ({f"lost {when}": LostAnswer("reset by peer")} for when in ("before", "after"))
ARRIVALS = st.lists(
    st.tuples(st.floats(0, 100), st.sampled_from(["old-0", "old-1", "old-2"]), st.booleans()), max_size=6
)


def whoever_comes_goes(arrivals: list[tuple[float, str, bool]], gated: bool, seed: int | None) -> None:
    plane, stage = a_cluster(a_budget_doc("api", allowed=1, healthy=2, app="api", maxUnavailable=1))
    if seed is not None:
        stage = Bad((plane, stage), LOST, LOST_AFTER, 0.2, seed, (Evict,))
    for i, (at_s, node, scheduled) in enumerate(arrivals):
        if scheduled:
            comes(plane, f"s-{i}", at_s, nodeSelector={"kubernetes.io/hostname": node}, tolerations=[CORDON_IGNORED])
        else:
            comes(plane, f"s-{i}", at_s, node)
    policy = ONE_BY_ONE if gated else DrainPolicy()
    rehearsal = tried(stage, policy)
    assert max(stage.granted.values()) == 1
    assert set(rehearsal.undone) <= {node for node, _ in told(rehearsal, Happened.LEFT_ALONE)}
    ended = {m.subject: m.at_s for m in rehearsal.moments if m.what in (Happened.DONE, Happened.LEFT_ALONE)}
    assert set(ended) == {"old-0", "old-1", "old-2"}
    for subject, why in told(rehearsal, Happened.LEFT_ALONE):
        assert "again and again" in why, subject


@settings(max_examples=examples(30))
@given(ARRIVALS, st.booleans(), st.one_of(st.none(), st.integers(0, 2**16)))
def test_whoever_comes_whenever(arrivals: list[tuple[float, str, bool]], gated: bool, seed: int | None) -> None:
    whoever_comes_goes(arrivals, gated, seed)
