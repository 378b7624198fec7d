"""A drain whose acts fail: refused, lost before or after they were done, throttled. It reaches the same final state,
evicts no pod twice, and never exceeds a budget."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.result import Record
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse, StatusDetails
from kubectl_eksdoc.kubernetes.updates import RequestAnswered, RunUpdate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import ClusterAction, Evict
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.rehearse.rehearsal import rehearse
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange, StoreChangeKind
from tests.drain.stages import BLUE, Bad, Granting, made, recorded, web
from tests.examples import one_in
from tests.simulator.control_planes import BUDGETS, a_budget_doc, a_node_doc

BEFORE = {
    "reset": LostResponse("connection reset by peer"),
    "conflict": ApiStatus(409, "Conflict", "the object has been modified"),
    "throttled": ApiStatus(429, "TooManyRequests", "try again later", StatusDetails(retry_after_s=2)),
    "leader": ApiStatus(500, "InternalError", "etcdserver: leader changed"),
    "stopping": ApiStatus(503, "ServiceUnavailable", "apiserver not ready"),
    "webhook": ApiStatus(500, "InternalError", 'Internal error occurred: failed calling webhook "w": no endpoints'),
    "denied": ApiStatus(403, "Forbidden", 'admission webhook "w" denied the request: not now'),
}
AFTER = {
    "answer lost": LostResponse("connection reset by peer"),
    "late": ApiStatus(504, "Timeout", "Timeout: request did not complete within the allotted duration"),
}


class Swallowing(SimulatedStage):
    """Grants every eviction of this pod (ns/name) without effect, like a webhook that turns it into a dry run."""

    def __init__(self, plane: ControlPlane, observed: Cluster, pod: str) -> None:
        super().__init__(plane, observed)
        self._pod = pod
        self.times: Counter[str] = Counter()

    def do(self, act: ClusterAction) -> RunUpdate:
        if isinstance(act, Evict) and act.pod.key == self._pod:
            self.times[act.pod.uid] += 1
            return RequestAnswered(act, ApiStatus(201))
        return super().do(act)


def stretched(plane: ControlPlane) -> list[str]:
    """Collect the budgets whose status is written below what the budget requires, from now on."""
    found: list[str] = []

    def note(change: StoreChange) -> None:
        if change.item.resource == BUDGETS and change.change_kind is not StoreChangeKind.DELETED:
            status = change.item.doc["status"]
            if status["disruptionsAllowed"] < 0 or status["currentHealthy"] < status["desiredHealthy"]:
                found.append("/".join(change.item.key))

    plane.store.listen(note)
    return found


def drained(faults: list[str], share: float, seed: int) -> tuple[Bad, Record, list[str]]:
    plane, stage = recorded("small-traps.tar.gz")
    known = {"/".join(i.key) for i in plane.store.list(BUDGETS) if below(i.doc["status"])}
    before, after = ({name: each for name, each in of.items() if name in faults} for of in (BEFORE, AFTER))
    bad = Bad((plane, stage), before, after, share, seed)
    found = stretched(plane)
    rehearsal = rehearse(bad, BLUE, DrainPolicy())[1]
    return bad, rehearsal, [each for each in found if each not in known]


def below(status: dict[str, int]) -> bool:
    return status["currentHealthy"] < status["desiredHealthy"]


@pytest.mark.parametrize("fault", one_in(3, [*BEFORE, *AFTER]))
def test_every_fault_is_survived(fault: str) -> None:
    bad, rehearsal, short = drained([fault], 0.3, seed=1)
    assert not rehearsal.undone
    assert bad.granted.total() == len(rehearsal.plan.evictions) == 16
    assert max(bad.granted.values()) == 1, "nobody is asked again who goes"
    assert short == []
    assert bad.answered[fault], "it did come"


def survived(faults: set[str], share: float, seed: int) -> None:
    bad, rehearsal, short = drained(sorted(faults), share, seed)
    alone = {m.subject: m.why for m in rehearsal.moments if m.what is DrainEventKind.LEFT_ALONE}
    assert alone.keys() == rehearsal.undone.keys()
    assert all(why.startswith("it cannot be cordoned") for why in alone.values()), "denied so often, if by chance"
    assert max(bad.granted.values(), default=1) == 1 and short == []
    if alone:
        return
    assert bad.granted.total() == len(rehearsal.plan.evictions)
    gone = [moment.subject for moment in rehearsal.moments if moment.what is DrainEventKind.GONE]
    assert len(gone) == len(set(gone)) == len(rehearsal.plan.evictions)


@pytest.mark.long
@settings(max_examples=12)
@given(st.sets(st.sampled_from([*BEFORE, *AFTER]), min_size=1), st.floats(0.0, 0.6), st.integers(0, 2**32))
def test_all_of_them_together(faults: set[str], share: float, seed: int) -> None:
    survived(faults, share, seed)


def test_what_is_granted_and_not_done_is_believed_three_times() -> None:
    plane, stage = made(*web(2, 2), a_node_doc("new-0"), a_node_doc("new-1"))
    swallowing = Swallowing(plane, stage.read(kinds.ALL), "default/web-1")
    rehearsal = rehearse(swallowing, BLUE, DrainPolicy())[1]
    alone = {moment.subject for moment in rehearsal.moments if moment.what is DrainEventKind.LEFT_ALONE}
    assert alone == set(rehearsal.undone) == {"old-1"}
    kept = {moment.subject: moment.why for moment in rehearsal.moments if moment.what is DrainEventKind.KEPT}
    assert list(kept) == ["default/web-1"] and "webhook" in kept["default/web-1"]
    assert swallowing.times.total() == 3
    done = {moment.subject for moment in rehearsal.moments if moment.what is DrainEventKind.DONE}
    assert done | alone == {target.node.name for target in rehearsal.plan.targets if target.order}
    assert done, "the others go on"


CLUSTER_FAULTS = (
    "stuck-pods@30%",
    "stuck-finalizers@30%",
    "slow-pods=3m@30%",
    "silent-pods@30%",
    "budgets-late=20s@50%",
    "node-not-ready@5s",
    "node-gone@5s",
    "autoscaler-removes@5s",
    "controllers-restart@100%",
    "other-cordons@1s",
    "other-uncordons@5s",
    "other-drains@5s",
    "pod-deleted@30%",
)


def among(faults: list[str], seed: int) -> tuple[Granting, Record]:
    plane, stage = recorded("small-traps.tar.gz")
    counting = Granting(plane, stage.read(kinds.ALL), faults, seed)
    return counting, rehearse(counting, BLUE, DrainPolicy())[1]


@settings(max_examples=20)
@given(st.sets(st.sampled_from(CLUSTER_FAULTS), min_size=1, max_size=4), st.integers(0, 2**16))
@pytest.mark.long
def test_whatever_befalls_the_cluster_it_ends_and_says_why(faults: set[str], seed: int) -> None:
    counting, rehearsal = among(sorted(faults), seed)
    assert max(counting.granted.values(), default=0) <= 1
    told = {moment.subject for moment in rehearsal.moments if moment.what is DrainEventKind.LEFT_ALONE}
    stopped = any(moment.what is DrainEventKind.STOPPED for moment in rehearsal.moments)
    waiting = {name for name, pods in rehearsal.undone.items() if pods}
    assert set(rehearsal.undone) <= told | waiting or stopped


def test_a_node_that_somebody_uncordons_is_left_to_them() -> None:
    docs = [*web(2, 2), a_node_doc("new-0"), a_node_doc("new-1"), a_budget_doc()]
    plane, stage = made(*docs)
    counting = Granting(plane, stage.read(kinds.ALL), ["other-uncordons=old-1@1s"], 0)
    rehearsal = rehearse(counting, BLUE, DrainPolicy())[1]
    (left,) = (moment for moment in rehearsal.moments if moment.what is DrainEventKind.LEFT_ALONE)
    assert left.subject == "old-1" and "it was uncordoned" in left.why
    assert not plane.store.get("nodes", ("", "old-1")).doc["spec"].get("unschedulable"), "nobody fights for it"
    assert rehearsal.undone == {"old-1": ("default/web-1",)}
