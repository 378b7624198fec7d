"""A resumed run waits for the replacements of pods that its earlier process evicted, as that process would have
done."""

from __future__ import annotations

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.journal import JournaledIntent, JournalState
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.runner import resumed_engine
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import IntentEntry, IntentOutcome, JournaledNode, RunStarted, Verb
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import NOW, a_cluster, a_node, a_pod, a_roomy_node, a_workload, ago, uid_of


def evicted(name: str, outcome: IntentOutcome | None = IntentOutcome.DONE) -> JournaledIntent:
    uid = uid_of("Pod", "default", name)
    return JournaledIntent(IntentEntry(1, NOW, Verb.EVICT, "Pod", name, uid, "default", "old-0"), outcome)


def resumed(pods: list[Pod], *changes: JournaledIntent) -> Engine:
    node = a_node("old-0", unschedulable=True)
    aims = (JournaledNode("old-0", node.uid),)
    begun = RunStarted(0, NOW, "run-1", "digest", "0", "me", "here", "me", aims)
    cluster: Cluster = a_cluster(
        nodes=[node, a_roomy_node("new-0")], workloads=[a_workload("ReplicaSet/web")], pods=pods
    )
    return resumed_engine(cluster, JournalState(begun, changes), DrainPolicy(), RunLimits())


def a_new(name: str, **more: object) -> Pod:
    return a_pod(name, **{"node": "new-0", "ready": False, "created_at": ago(20), **more})


def names(engine: Engine) -> list[str]:
    return [pod.name for pod in engine.unready]


def test_it_waits_for_a_replacement_that_is_not_ready() -> None:
    engine = resumed([a_new("web-new")], evicted("web-0"))
    assert names(engine) == ["web-new"]
    engine.due_actions(0.0)
    assert not engine.is_finished


def test_one_in_doubt_that_is_gone_was_evicted() -> None:
    assert names(resumed([a_new("web-new")], evicted("web-0", None))) == ["web-new"]
    assert names(resumed([a_new("web-new")], evicted("web-0", IntentOutcome.REFUSED))) == []


def test_a_statefulsets_pod_has_its_name_again() -> None:
    again = a_new("db-0", owner="StatefulSet/db", uid="another")
    assert names(resumed([again], evicted("db-0"))) == ["db-0"]


def test_a_pod_that_was_not_ready_before_is_not_waited_for() -> None:
    old, others = a_new("web-old", created_at=ago(9000)), a_new("cart-1", owner="ReplicaSet/cart")
    engine = resumed([old, others, a_new("web-new", ready=True)], evicted("web-0"))
    assert names(engine) == [], "the latest of as many as were evicted are new"


def test_one_without_a_node_holds_it() -> None:
    engine = resumed([a_new("web-new", node="", phase="Pending"), a_pod("web-1")], evicted("web-0"))
    engine.due_actions(0.0)
    engine.due_actions(11.0)
    assert engine.hold_reason == "default/web-new has no node yet"
