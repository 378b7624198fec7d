"""Late pods: pods that arrive on a node during its drain are evicted as a new plan says, once each, and the node is
done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.journal import JournalWriter
from kubectl_eksdoc.drain.run.loop import DrainRunLoop
from kubectl_eksdoc.drain.run.other_drains import Replanner
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.result import Record
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.kubernetes.api.resources import LostResponse
from kubectl_eksdoc.kubernetes.updates import PodChanged, RunUpdate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import Cordon, Delete, Evict, Protect
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.journal import Verb
from kubectl_eksdoc.rehearse.rehearsal import rehearse
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange, StoreChangeKind
from tests.drain.fields import KeptJournal, OwnLock, StageClock, StageField
from tests.drain.singles import a_job, nodes, single
from tests.drain.stages import BLUE, ONE_BY_ONE, Bad, Granting, made, web
from tests.examples import examples
from tests.rehearse.test_means import NAMED, WAITS, Run, never, subjects
from tests.simulator.control_planes import BUDGETS, Steady, a_budget_doc, a_node_doc, a_pod_doc

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
    """Three old nodes with one pod each, evicted one after the other, and room for all replacements."""
    nodes = [a_node_doc(f"new-{i}", cpu="8") for i in range(3)]
    plane, stage = made(*web(3, 3), *nodes, a_budget_doc(allowed=1, healthy=3), *api(2), *more)
    return plane, Granting(plane, stage.read(kinds.ALL))


def comes(plane: ControlPlane, name: str, at_s: float, node: str = "old-0", **spec: Any) -> None:
    """Another client creates one more pod of api at that time: it bypasses the scheduler or tolerates the cordon."""
    doc = of_api(a_pod_doc(name, cpu="100m", app="api", **(spec or {"nodeName": node})))
    del doc["metadata"]["uid"]

    def make() -> None:
        workload = plane.registry.get("replicasets.apps", ("default", "api"))
        replicas = workload.doc["spec"]["replicas"] + 1
        plane.registry.update(workload, with_value(workload.doc, ("spec", "replicas"), replicas))
        plane.registry.create("pods", doc, "default")

    plane.virtual_time.schedule(at_s, make)


def tried(stage: SimulatedStage, policy: DrainPolicy = DrainPolicy()) -> Record:
    return rehearse(stage, BLUE, policy)[1]


def told(rehearsal: Record, what: DrainEventKind) -> list[tuple[str, str]]:
    return [(moment.subject, moment.why) for moment in rehearsal.moments if moment.what is what]


def on_old(plane: ControlPlane) -> list[str]:
    return [i.key[1] for i in plane.store.list("pods") if str(i.doc["spec"].get("nodeName")).startswith("old-")]


def test_a_pod_past_the_scheduler_goes_too() -> None:
    plane, stage = a_cluster()
    comes(plane, "api-new", 3.0)
    rehearsal = tried(stage)
    assert not rehearsal.undone and not on_old(plane)
    assert told(rehearsal, DrainEventKind.REPLANNED) == [
        ("old-0", "came to it after the plan was made: default/api-new")
    ]
    assert set(stage.granted.values()) == {1} and stage.granted.total() == 4
    assert rehearsal.ended_s < 120, "nobody waits half an hour"


def test_it_keeps_to_its_budget_as_all_others() -> None:
    plane, stage = a_cluster(a_budget_doc("api", allowed=1, healthy=2, app="api", maxUnavailable=1))
    for i in range(4):
        comes(plane, f"api-new-{i}", 2.0, f"old-{i % 3}")
    lowest = [1]

    def note(change: StoreChange) -> None:
        if change.item.resource == BUDGETS and change.change_kind is not StoreChangeKind.DELETED:
            lowest.append(change.item.doc["status"]["disruptionsAllowed"])

    plane.store.listen(note)
    rehearsal = tried(stage)
    assert not rehearsal.undone and not on_old(plane) and min(lowest) >= 0
    assert not rehearsal.refusals, "one is waited for before the next is asked for"
    assert set(stage.granted.values()) == {1}


class Late(Granting):
    """A stage that hides another client's pod from the watch: only a list shows it."""

    def updates(self) -> Sequence[RunUpdate]:
        hidden = "api-new"
        return [each for each in super().updates() if not (isinstance(each, PodChanged) and each.pod.name == hidden)]


def test_what_only_a_list_shows_goes_too() -> None:
    plane, stage = a_cluster()
    late = Late(plane, stage.read(kinds.ALL))
    comes(plane, "api-new", 3.0)
    rehearsal = tried(late)
    assert not rehearsal.undone and not on_old(plane) and late.granted.total() == 4
    assert len(told(rehearsal, DrainEventKind.REPLANNED)) == 1


def test_what_belongs_on_the_node_is_left() -> None:
    """A DaemonSet's pod, a completed pod, and a static pod."""
    plane, stage = a_cluster()
    agent = a_pod_doc("agent", "old-0", cpu="100m", app="agent")
    owner = {"kind": "DaemonSet", "apiVersion": "apps/v1", "name": "agent", "uid": "uid-ds", "controller": True}
    agent["metadata"]["ownerReferences"] = [owner]
    static = a_pod_doc("static", "old-0", cpu="100m", app="static")
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    for doc in (agent, static):
        plane.virtual_time.schedule(2.0, lambda doc=doc: plane.registry.create("pods", doc, "default"))
    rehearsal = tried(stage)
    assert not rehearsal.undone and not told(rehearsal, DrainEventKind.REPLANNED) and stage.granted.total() == 3


@pytest.mark.parametrize("partial", [False, True])
def test_what_cannot_go_keeps_its_node_or_stays_alone(partial: bool) -> None:
    plane, stage = a_cluster()
    bare = a_pod_doc("bare", "old-2", cpu="100m", app="bare")
    plane.virtual_time.schedule(2.0, lambda: plane.registry.create("pods", bare, "default"))
    rehearsal = tried(stage, DrainPolicy(partial=partial))
    ((pod, why),) = told(rehearsal, DrainEventKind.KEPT)
    assert pod == "default/bare" and "no controller" in why
    alone = dict(told(rehearsal, DrainEventKind.LEFT_ALONE))
    if partial:
        assert not alone and not rehearsal.undone and on_old(plane) == ["bare"]
    else:
        assert alone == {"old-2": f"default/bare: {why}"}
        assert "default/bare" in rehearsal.undone["old-2"] and len(told(rehearsal, DrainEventKind.DONE)) == 2


def test_who_comes_back_again_and_again_is_not_fought() -> None:
    plane, stage = a_cluster()
    sent = []

    def again(change: StoreChange) -> None:
        """A controller puts a pod back on the node whenever one of its pods leaves it."""
        doc = change.item.doc
        ours = doc["kind"] == "Pod" and doc["metadata"]["labels"].get("app") == "api"
        if change.change_kind is StoreChangeKind.DELETED and ours and doc["spec"].get("nodeName") == "old-0":
            sent.append(change.item.key[1])
            comes(plane, f"api-again-{len(sent)}", 1.0)

    plane.store.listen(again)
    comes(plane, "api-new", 2.0)
    rehearsal = tried(stage)
    assert sent == ["api-new", "api-again-1"], "the third is left"
    assert len(told(rehearsal, DrainEventKind.REPLANNED)) == 2
    assert dict(told(rehearsal, DrainEventKind.KEPT)) == {
        "default/api-again-2": "ReplicaSet default/api puts pods on this node again and again"
    }
    assert list(rehearsal.undone) == ["old-0"] and "default/api-again-2" in rehearsal.undone["old-0"]


LOST, LOST_AFTER = ({f"lost {when}": LostResponse("reset by peer")} for when in ("before", "after"))
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
    assert set(rehearsal.undone) <= {node for node, _ in told(rehearsal, DrainEventKind.LEFT_ALONE)}
    ended = {m.subject: m.at_s for m in rehearsal.moments if m.what in (DrainEventKind.DONE, DrainEventKind.LEFT_ALONE)}
    assert set(ended) == {"old-0", "old-1", "old-2"}
    for subject, why in told(rehearsal, DrainEventKind.LEFT_ALONE):
        assert "again and again" in why, subject


@settings(max_examples=examples(30))
@given(ARRIVALS, st.booleans(), st.one_of(st.none(), st.integers(0, 2**16)))
def test_whoever_comes_whenever(arrivals: list[tuple[float, str, bool]], gated: bool, seed: int | None) -> None:
    whoever_comes_goes(arrivals, gated, seed)


def arrives(plane: ControlPlane, doc: Doc, at_s: float) -> None:
    del doc["metadata"]["uid"]
    plane.virtual_time.schedule(at_s, lambda: plane.registry.create("pods", doc, "default"))


def of(kind: str, name: str, uid: str, pod: Doc) -> Doc:
    version = {"Job": "batch/v1", "ReplicaSet": "apps/v1"}[kind]
    owner = {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}
    return with_value(pod, ("metadata", "ownerReferences"), [owner])


def test_the_name_of_a_pod_that_was_deleted_deletes_no_other() -> None:
    plane, stage = made(*never())
    arrives(plane, of("ReplicaSet", "web", "uid-rs", a_pod_doc("web-0", "old-0")), 8.0)
    run = Run(stage, NAMED, Steady())
    ended = run.to_the_end()
    assert {intent.uid for intent in run.intents(Verb.DELETE)} == {"uid-web-0"}
    assert [act.pod.uid for act in run.field.done if isinstance(act, Delete)] == ["uid-web-0"]
    assert dict(ended.not_drained) == {"old-0": ("default/web-0",)} and not run.intents(Verb.EVICT)
    assert subjects(run.moments, DrainEventKind.LEFT_ALONE) == ["old-0"]


def a_newer_job(plane: ControlPlane, at_s: float) -> None:
    """A Job that the plan does not know; another client creates its pod directly on a node."""
    labels = {"app": "newer"}
    spec = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": a_pod_doc("x", restartPolicy="Never")["spec"]},
    }
    meta = {"name": "newer", "namespace": "default"}
    job: Doc = {"kind": "Job", "apiVersion": "batch/v1", "metadata": meta, "spec": spec}
    pod = a_pod_doc("late", app="newer", restartPolicy="Never", nodeName="old-0")
    del pod["metadata"]["uid"]

    def make() -> None:
        uid = plane.registry.create("jobs.batch", job, "default").uid
        plane.registry.create("pods", of("Job", "newer", uid, pod), "default")

    plane.virtual_time.schedule(at_s, make)


def test_a_pod_of_a_job_that_comes_later_has_its_time_from_then_on() -> None:
    plane, stage = made(*nodes(), *a_job())
    a_newer_job(plane, 500.0)
    run = Run(stage, WAITS, Steady(run=1500.0))
    assert run.to_the_end().is_complete and not run.intents(Verb.EVICT)
    finished = [moment.at_s for moment in run.moments if moment.what is DrainEventKind.FINISHED]
    assert len(finished) == 2 and finished[0] <= 1510 and 2000 <= finished[1] <= 2100
    assert subjects(run.moments, DrainEventKind.REPLANNED) == ["old-0"]


def test_what_a_restart_of_this_run_made_is_not_evicted_from_a_drained_node() -> None:
    plane, stage = made(*nodes(old=1, new=1), *single(), *a_job())
    made_by_it = of("ReplicaSet", "web-77", "uid-new-rs", a_pod_doc("web-77-x", "old-0", app="other"))
    arrives(plane, made_by_it, 120.0)
    run = Run(stage, DrainPolicy(surge_singles=True, wait_jobs=1800), Steady(run=600.0))
    ended = run.to_the_end()
    assert len(run.intents(Verb.RESTART)) == 1 and not run.intents(Verb.EVICT)
    assert dict(ended.not_drained)["old-0"][-1] == "default/web-77-x"
    (kept,) = [moment for moment in run.moments if moment.what is DrainEventKind.KEPT]
    assert "this run has restarted its workload already" in kept.why


def test_it_is_shown_what_they_wait_for() -> None:
    _, stage = made(*nodes(), *single(), *a_job())
    run = Run(stage, DrainPolicy(surge_singles=True, wait_jobs=1800), Steady(run=600.0))
    assert run.to_the_end().is_complete
    assert run.waits["default/web-5f7-0"] == "its workload was restarted: it goes when the new pod is Ready"
    assert run.waits["default/etl-x"].startswith("it may finish by itself for 20m")
    assert run.waits["default/etl-x"].endswith("more (--wait-jobs), and goes then")
    _, stage = made(*nodes(), *a_job(backoffLimit=0))
    run = Run(stage, WAITS, Steady(run=600.0))
    run.to_the_end()
    assert run.waits["default/etl-x"].endswith("(--wait-jobs), and is never evicted")


def test_a_rehearsal_waits_as_long_as_the_user_does() -> None:
    _, stage = made(*nodes(), *a_job())
    _, rehearsal = rehearse(stage, BLUE, DrainPolicy(wait_jobs=10_800))
    assert not rehearsal.undone and subjects(rehearsal.moments, DrainEventKind.EVICTED) == ["default/etl-x"]


def test_what_came_between_plan_and_cordon() -> None:
    plane, stage = a_cluster()
    cluster, plan = plan_drain(stage, BLUE, DrainPolicy())
    stage.start(learned_kubelet_times(cluster))
    comes(plane, "api-new", 0.0)
    stage.pass_time(stage.seconds)
    engine, journal = Engine(plan, ObservedState(cluster)), KeptJournal()
    field = StageField(stage, journal)
    ended = DrainRunLoop(
        engine,
        field,
        journal,
        OwnLock(),
        StageClock(stage),
        JournalWriter(),
        lambda new: None,
        replanning=Replanner(engine, cluster),
    ).run()
    assert ended.is_complete and not on_old(plane) and stage.granted.total() == 4
    assert isinstance(next(act for act in field.done if not isinstance(act, Protect)), Cordon)
