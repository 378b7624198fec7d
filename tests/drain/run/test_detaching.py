"""A node is done when the volumes of its evicted pods are detached, unless the run does not wait for that."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.drain.run.actions import FORCE_DETACH_S
from kubectl_eksdoc.drain.run.events import THE_DRAIN, DrainEventKind
from kubectl_eksdoc.drain.run.state import LISTING_INTERVAL_S
from kubectl_eksdoc.kubernetes.updates import AttachedVolumes, NodeChanged, PodsFound, RunUpdate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import ClusterAction, ListAttachments, ListPods
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Taint, Volume, VolumeKind
from kubectl_eksdoc.model.placement import PersistentVolume, PersistentVolumeClaim
from tests.builders import a_claimed, a_cluster, a_node, a_pod, a_roomy_node, a_workload
from tests.drain.run.instant_engine import Driven, drained

BOUND = {"data-db-0": "pv-0", "scratch-db-0": "pv-1", "log": "pv-2"}
CLAIMS = [PersistentVolumeClaim("default", claim, volume) for claim, volume in BOUND.items()]
VOLUMES = [PersistentVolume(volume, f"uid-{volume}") for volume in BOUND.values()]
EPHEMERAL = Volume("scratch", VolumeKind.EPHEMERAL, "scratch-db-0")
DB = a_pod("db-0", owner="StatefulSet/db", volumes=(a_claimed("data-db-0"), EPHEMERAL))
AGENT = a_pod("agent-0", owner="DaemonSet/agent", volumes=(a_claimed("log"),))
SETS = [a_workload("StatefulSet/db", replicas=1), a_workload("DaemonSet/agent", replicas=1)]
NODES = [a_node("old-0"), a_roomy_node("new-0")]
CLUSTER = a_cluster(nodes=NODES, pods=[DB, AGENT], workloads=SETS, claims=CLAIMS, volumes=VOLUMES)
LISTED_S = 2 * LISTING_INTERVAL_S
"""When the node was found empty the second time."""


class Detached:
    """Volumes that stay attached to old-0 until a time of the engine's clock."""

    def __init__(self, cluster: Cluster = CLUSTER, **until_s: float) -> None:
        self.until_s = {name.replace("_", "-"): end_s for name, end_s in until_s.items()}
        self.driven = Driven(cluster, ListAttachments=self.answer)

    def answer(self, act: ClusterAction) -> RunUpdate:
        assert act == ListAttachments("old-0")
        return AttachedVolumes(act, tuple(each for each, end_s in self.until_s.items() if self.driven.now_s < end_s))

    @property
    def done_s(self) -> float:
        (at_s,) = (moment.at_s for moment in self.driven.engine.events if moment.what is DrainEventKind.DONE)
        return at_s


def test_the_node_is_done_when_all_are_detached() -> None:
    """The engine lists attachments only after two lists found the node empty."""
    detached = Detached(pv_0=17, pv_1=22, pv_2=1000, pv_other=1000)
    detached.driven.to_the_end()
    assert detached.driven.at(ListPods) == [LISTING_INTERVAL_S, LISTED_S]
    assert detached.driven.at(ListAttachments) == [10, 15, 20, 25] and detached.done_s == 25
    assert not detached.driven.told(DrainEventKind.WARNED)


def test_nothing_is_asked_where_no_pod_that_went_had_a_volume() -> None:
    detached = Detached(replace(CLUSTER, pods=(replace(DB, volumes=()), AGENT)), pv_2=1000)
    detached.driven.to_the_end()
    assert not detached.driven.of(ListAttachments) and detached.done_s == LISTED_S


def test_volumes_that_a_pod_which_stays_has_too_are_not_waited_for() -> None:
    shared = replace(AGENT, volumes=(a_claimed("data-db-0"),))
    detached = Detached(replace(CLUSTER, pods=(DB, shared)), pv_0=1000)
    detached.driven.to_the_end()
    assert detached.driven.at(ListAttachments) == [10], "for the other volume"
    assert detached.done_s == LISTED_S


def test_an_answer_that_never_comes_is_not_waited_for_for_ever() -> None:
    driven = drained(CLUSTER, ListAttachments=lambda act: None)
    assert driven.at(ListAttachments) == [10] and driven.now_s == LISTED_S + FORCE_DETACH_S
    assert driven.told(DrainEventKind.WARNED) == [("old-0", "still attached to it after 6m00s: pv-0, pv-1")]


def test_what_could_not_be_read_is_asked_for_again() -> None:
    times = iter([AttachedVolumes(ListAttachments("old-0"), (), "no route"), AttachedVolumes(ListAttachments("old-0"))])
    driven = drained(CLUSTER, ListAttachments=lambda act: next(times))
    assert driven.at(ListAttachments) == [10, 15] and not driven.told(DrainEventKind.WARNED)


def test_without_the_right_it_is_told_once_and_not_waited_for() -> None:
    db = replace(DB, name="db-1", uid="uid-1", node="old-1", volumes=(a_claimed("data-db-0"),))
    two = replace(CLUSTER, nodes=(*CLUSTER.nodes, a_node("old-1")), pods=(DB, db))
    driven = Driven(two, ListAttachments=lambda act: AttachedVolumes(act, (), "cannot list", True))  # type: ignore[arg-type]
    driven.to_the_end()
    assert len(driven.of(ListAttachments)) == 2, "both were asked for at once"
    ((subject, why),) = driven.told(DrainEventKind.WARNED)
    assert subject == THE_DRAIN and why.endswith("their pods are detached: cannot list")
    assert driven.now_s == LISTED_S and not driven.engine.not_drained


def test_claims_that_were_not_read_are_told_and_nothing_is_guessed() -> None:
    driven = drained(a_cluster(nodes=CLUSTER.nodes, pods=[DB], workloads=SETS, unread=[kinds.CLAIMS]))
    assert not driven.of(ListAttachments)
    ((subject, why),) = driven.told(DrainEventKind.WARNED)
    assert subject == THE_DRAIN and why.endswith("persistentvolumeclaims: forbidden")


def test_a_node_that_is_uncordoned_or_taken_over_meanwhile_is_not_done() -> None:
    for change, what in (
        ({"unschedulable": False}, DrainEventKind.LEFT_ALONE),
        ({"taints": (Taint("karpenter.sh/disrupted", "", "NoSchedule"),)}, DrainEventKind.ADOPTED),
    ):
        detached = Detached(pv_0=1000)
        detached.driven.until(20)
        node = replace(detached.driven.engine.observed.nodes["old-0"], **change)  # type: ignore[arg-type]
        detached.driven.hear(NodeChanged(node))
        detached.driven.to_the_end()
        assert [subject for subject, _ in detached.driven.told(what)] == ["old-0"]
        assert not detached.driven.told(DrainEventKind.DONE)


def test_a_pod_that_comes_to_it_meanwhile() -> None:
    """The second list finds a pod: the two lists start again, and no attachments are listed."""
    strange = a_pod("late", owner="ReplicaSet/late")
    lists = iter([(), (strange,), (), ()])
    driven = drained(CLUSTER, ListPods=lambda act: PodsFound(act, next(lists)))
    assert driven.at(ListPods) == [5, 10, 15, 20] and driven.at(ListAttachments) == [20]
