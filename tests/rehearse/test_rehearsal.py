"""Rehearse a drain in virtual time, on recorded clusters and on small ones with a problem."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.result import Record
from kubectl_eksdoc.embedded import faults as of_requests
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, with_value, without_path
from kubectl_eksdoc.objects.single import RawObjects
from kubectl_eksdoc.rehearse.rehearsal import rehearse
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange
from tests.drain.stages import BLUE, CLUSTERS, made, recorded, staged, web, with_group
from tests.simulator.control_planes import BUDGETS, a_budget_doc, a_node_doc, a_pod_doc


def lowest_headroom(plane: ControlPlane) -> list[int]:
    """Record every value of disruptionsAllowed that is written from now on."""
    seen: list[int] = []

    def note(change: StoreChange) -> None:
        if change.item.resource == BUDGETS:
            seen.append(int(change.item.doc["status"]["disruptionsAllowed"]))

    plane.store.listen(note)
    return seen


RECORDED = [
    ("small-traps.tar.gz", 16),
    pytest.param("medium.tar.gz", 632, marks=pytest.mark.long),
    ("landing.tar.gz", 12),
]


@pytest.mark.parametrize(("archive", "evictions"), RECORDED)
def test_a_recorded_cluster_is_drained_as_planned(archive: str, evictions: int) -> None:
    plane, stage = recorded(archive)
    headroom = lowest_headroom(plane)
    cluster, rehearsal = rehearse(stage, BLUE, DrainPolicy())
    drained = {target.node.name for target in rehearsal.plan.targets if target.order}
    estimate = rehearsal.plan.estimate
    assert estimate is not None and rehearsal.late_s is not None
    assert happened(rehearsal, DrainEventKind.EVICTED) == evictions == len(rehearsal.plan.evictions)
    assert set(subjects(rehearsal, DrainEventKind.DONE)) == drained
    assert not rehearsal.undone and not rehearsal.refusals and not rehearsal.re_evicted
    assert min(headroom, default=0) >= 0
    assert abs(rehearsal.late_s) <= 0.1 * estimate.p50_s, "the plan's usual run is what happens"
    waited = {pod.key for pod in cluster.pods if not pod.node}
    assert {each.pod for each in rehearsal.pending} <= waited, "whatever was evicted has a place"
    assert owners_on(plane, drained) == {"DaemonSet"}, "nothing scheduled on a target"


def owners_on(plane: ControlPlane, nodes: set[str]) -> set[str]:
    """The kinds of the pods' owners on that node."""
    owned = (item.doc for item in plane.store.list("pods") if item.doc["spec"].get("nodeName") in nodes)
    return {owner["kind"] for doc in owned for owner in doc["metadata"].get("ownerReferences", ())}


def test_a_dump_without_uids_is_rehearsed_alike() -> None:
    raw = RawObjects()
    observed = DumpReader(str(CLUSTERS / "small-traps.tar.gz"), raw=raw).read(kinds.ALL)
    told = []
    for docs in (list(raw.documents()), [without_path(doc, ("metadata", "uid")) for doc in raw.documents()]):
        _, stage = staged(docs, observed)
        _, rehearsal = rehearse(stage, BLUE, DrainPolicy())
        told.append(sorted((moment.what, moment.subject, moment.node) for moment in rehearsal.moments))
    assert told[0] == told[1], "but for the times: a pod's luck goes by its uid"


def tried(stage: SimulatedStage, policy: DrainPolicy) -> Record:
    return rehearse(stage, BLUE, policy)[1]


def subjects(rehearsal: Record, what: DrainEventKind) -> list[str]:
    return [moment.subject for moment in rehearsal.moments if moment.what is what]


def happened(rehearsal: Record, what: DrainEventKind) -> int:
    return len(subjects(rehearsal, what))


def test_with_a_surge_each_new_node_makes_room_for_the_next() -> None:
    _, stage = made(*web(3, 3))
    rehearsal = tried(stage, DrainPolicy(surge=1))
    assert happened(rehearsal, DrainEventKind.DONE) == 3 and not rehearsal.undone
    begun = {moment.subject: moment.at_s for moment in rehearsal.moments if moment.what is DrainEventKind.BEGUN}
    joined = [moment.at_s for moment in rehearsal.moments if moment.what is DrainEventKind.JOINED]
    assert sorted(begun.values())[1] >= joined[1] > 0, "the second node waits for the first one's successor"
    assert not rehearsal.pending


def test_what_somebody_else_takes_from_a_budget_is_waited_for() -> None:
    plane, stage = made(*web(2, 2), a_node_doc("new-0"), a_node_doc("new-1"), a_budget_doc())
    plane.virtual_time.schedule(0.0, lambda: mishaps.delete_pod(plane, "default", "web-0"))
    headroom = lowest_headroom(plane)
    rehearsal = tried(stage, DrainPolicy())
    assert not rehearsal.undone and min(headroom) >= 0
    evicted = [moment.at_s for moment in rehearsal.moments if moment.what is DrainEventKind.EVICTED]
    assert evicted and evicted[-1] > 10, "web-1 goes when the pod in the place of web-0 is Ready"


def a_troubled(*faults: str, seed: int = 0) -> SimulatedStage:
    return troubled(recorded("small-traps.tar.gz"), *faults, seed=seed)


def troubled(cluster: tuple[ControlPlane, SimulatedStage], *faults: str, seed: int = 0) -> SimulatedStage:
    """The stage with these faults."""
    plane, stage = cluster
    chosen = of_requests.build_faults([of_requests.parse_fault(text) for text in faults], seed)
    return SimulatedStage(plane, stage.read(kinds.ALL), chosen.cluster, seed)


@pytest.mark.parametrize("faults", [("pod-deleted=default/web-1@1s",), ("node-gone=old-1@1s", "endless-pulls")])
def test_who_goes_by_another_hand_is_not_evicted(faults: tuple[str, ...]) -> None:
    """web-1 waits for its budget when another client deletes it or its node."""
    docs = [*web(2, 2), a_node_doc("new-0"), a_node_doc("new-1"), a_budget_doc()]
    stage = troubled(made(*docs), *faults)
    rehearsal = tried(stage, DrainPolicy())
    assert subjects(rehearsal, DrainEventKind.EVICTED) == ["default/web-0"]
    assert set(subjects(rehearsal, DrainEventKind.GONE)) == {"default/web-0", "default/web-1"}
    ended = subjects(rehearsal, DrainEventKind.DONE) + subjects(rehearsal, DrainEventKind.LOST)
    assert sorted(ended) == ["old-0", "old-1"] and not rehearsal.undone
    assert not rehearsal.refusals, "nobody is asked to evict it"
    (befallen,) = (moment for moment in rehearsal.moments if moment.what is DrainEventKind.BEFALLEN)
    assert befallen.at_s == 1.0 and befallen.subject in faults[0] and befallen.why


def test_an_autoscaler_that_adds_nothing_leaves_what_waits_for_it() -> None:
    policy = DrainPolicy(surge=1)
    _, rehearsal = rehearse(a_troubled("no-new-nodes"), BLUE, policy)
    assert happened(rehearsal, DrainEventKind.MISSING) and not happened(rehearsal, DrainEventKind.JOINED)
    needing = {target.node.name for target in rehearsal.plan.targets if target.order and target.needs}
    assert needing <= set(rehearsal.undone)


def test_the_same_seed_is_the_same_rehearsal() -> None:
    def told(seed: int) -> object:
        docs = [*web(3, 3), *(a_node_doc(f"new-{i}") for i in range(3))]
        stage = troubled(made(*docs), "stuck-pods@50%", seed=seed)
        return tried(stage, DrainPolicy()).moments

    assert told(1) == told(1)
    assert told(1) != told(2)


def shut_out(policy: DrainPolicy) -> Record:
    """old-1 has a pod without a controller, and free room; new-0 has a little less room."""
    alone = [a_pod_doc("bare", "old-1", cpu="100m"), a_pod_doc("other", "new-0", cpu="500m")]
    bare = [with_value(pod, ("metadata", "labels"), {"app": "alone"}) for pod in alone]
    docs = [*web(1, 1), with_group(a_node_doc("old-1")), a_node_doc("new-0"), *bare]
    return rehearse(made(*docs)[1], BLUE, policy)[1]


def test_nothing_is_scheduled_onto_a_skipped_target_unless_the_user_leaves_it_open() -> None:
    closed, left_open = shut_out(DrainPolicy()), shut_out(DrainPolicy(cordon_skipped=False))
    assert (closed.on_targets, closed.placed, closed.cordoned_only) == (0, {"new-0": 1}, ("old-1",))
    assert (left_open.on_targets, left_open.placed, left_open.cordoned_only) == (1, {"old-1": 1}, ())
    assert not closed.undone and not left_open.undone


def with_volume() -> list[Doc]:
    """Two old nodes with one pod each; the pod on the first one has a volume."""
    docs = web(2, 2)
    (pod,) = (doc for doc in docs if doc["kind"] == "Pod" and doc["metadata"]["name"] == "web-0")
    pod["spec"] = {**pod["spec"], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    claim: Doc = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "status": {"phase": "Bound"}}
    claim |= {"metadata": {"name": "data", "namespace": "default", "uid": "uid-data"}, "spec": {"volumeName": "pv-0"}}
    volume: Doc = {"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": "pv-0", "uid": "uid-pv"}}
    volume["spec"] = {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-0"}}
    attachment: Doc = {"kind": "VolumeAttachment", "apiVersion": "storage.k8s.io/v1"}
    source = {"persistentVolumeName": "pv-0"}
    attachment["spec"] = {"attacher": "ebs.csi.aws.com", "nodeName": "old-0", "source": source}
    attachment["metadata"] = {"name": "csi-0", "uid": "uid-csi"}
    return [*docs, claim, volume, attachment, *(a_node_doc(f"new-{i}") for i in range(2))]


def test_they_are_off_the_node_when_it_is_done() -> None:
    plane, stage = made(*with_volume())
    _, rehearsal = rehearse(stage, BLUE, DrainPolicy())
    assert not rehearsal.undone and not [m for m in rehearsal.moments if m.what is DrainEventKind.WARNED]
    assert not list(plane.store.list(kinds.VOLUME_ATTACHMENTS.full_name))
    done = {moment.subject: moment.at_s for moment in rehearsal.moments if moment.what is DrainEventKind.DONE}
    assert done["old-0"] - done["old-1"] < 60
