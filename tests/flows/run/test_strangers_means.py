"""Pods that come to a node while it is drained, and do not simply go by an eviction; and what is shown of such pods."""

from __future__ import annotations

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.flows.rehearse import rehearse
from kubectl_eksdoc.model.acts import Delete
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.journal import Verb
from kubectl_eksdoc.simulator.plane import ControlPlane
from tests.flows.singles import a_job, nodes, single
from tests.flows.stages import BLUE, made
from tests.flows.test_rehearse_means import NAMED, WAITS, Run, never, subjects
from tests.simulator.planes import Steady, a_pod_doc


def comes(plane: ControlPlane, doc: Doc, at_s: float) -> None:
    del doc["metadata"]["uid"]
    plane.agenda.after(at_s, lambda: plane.registry.create("pods", doc, "default"))


def of(kind: str, name: str, uid: str, pod: Doc) -> Doc:
    version = {"Job": "batch/v1", "ReplicaSet": "apps/v1"}[kind]
    owner = {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}
    return with_value(pod, ("metadata", "ownerReferences"), [owner])


def test_the_name_of_a_pod_that_was_deleted_deletes_no_other() -> None:
    plane, stage = made(*never())
    comes(plane, of("ReplicaSet", "web", "uid-rs", a_pod_doc("web-0", "old-0")), 8.0)
    run = Run(stage, NAMED, Steady())
    ended = run.to_the_end()
    assert {intent.uid for intent in run.intents(Verb.DELETE)} == {"uid-web-0"}
    assert [act.pod.uid for act in run.field.done if isinstance(act, Delete)] == ["uid-web-0"]
    assert dict(ended.undone) == {"old-0": ("default/web-0",)} and not run.intents(Verb.EVICT)
    assert subjects(run.moments, Happened.LEFT_ALONE) == ["old-0"]


def a_newer_job(plane: ControlPlane, at_s: float) -> None:
    """A Job that is not known to the plan, with a pod that somebody makes for it past the scheduler."""
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

    plane.agenda.after(at_s, make)


def test_a_pod_of_a_job_that_comes_later_has_its_time_from_then_on() -> None:
    plane, stage = made(*nodes(), *a_job())
    a_newer_job(plane, 500.0)
    run = Run(stage, WAITS, Steady(run=1500.0))
    assert run.to_the_end().whole and not run.intents(Verb.EVICT)
    finished = [moment.at_s for moment in run.moments if moment.what is Happened.FINISHED]
    assert len(finished) == 2 and finished[0] <= 1510 and 2000 <= finished[1] <= 2100
    assert subjects(run.moments, Happened.REPLANNED) == ["old-0"]


def test_what_a_restart_of_this_run_made_is_not_evicted_from_a_drained_node() -> None:
    plane, stage = made(*nodes(old=1, new=1), *single(), *a_job())
    made_by_it = of("ReplicaSet", "web-77", "uid-new-rs", a_pod_doc("web-77-x", "old-0", app="other"))
    comes(plane, made_by_it, 120.0)
    run = Run(stage, DrainPolicy(surge_singles=True, wait_jobs=1800), Steady(run=600.0))
    ended = run.to_the_end()
    assert len(run.intents(Verb.RESTART)) == 1 and not run.intents(Verb.EVICT)
    assert dict(ended.undone)["old-0"][-1] == "default/web-77-x"
    (kept,) = [moment for moment in run.moments if moment.what is Happened.KEPT]
    assert "this run has restarted its workload already" in kept.why


def test_it_is_shown_what_they_wait_for() -> None:
    _, stage = made(*nodes(), *single(), *a_job())
    run = Run(stage, DrainPolicy(surge_singles=True, wait_jobs=1800), Steady(run=600.0))
    assert run.to_the_end().whole
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
    assert not rehearsal.undone and subjects(rehearsal.moments, Happened.EVICTED) == ["default/etl-x"]
