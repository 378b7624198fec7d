"""A whole drain in real time: the engine decides, the live backend acts on a served cluster and reports the effects."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.kube.live_backend import LiveRunBackend
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.nodes import SCALE_DOWN_PROTECTIONS
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange, StoreChangeKind
from tests.embedded.clients import worlds
from tests.embedded.clients.programs import at_once
from tests.kube.live_backend.served_backends import RUN, among, connection, field_on

BLUE = Targeting(nodegroups=("blue",))
MOST_TURNS = 500
"""So many in a row in which nothing happens: it gets nowhere. The turns of a slow machine are longer, not more."""


class Evictions:
    """Evictions as the cluster saw them: UIDs of pods that were marked as evicted, and budgets that were exceeded."""

    def __init__(self, plane: ControlPlane) -> None:
        self.of: Counter[str] = Counter()
        self.overdrawn: list[str] = []
        plane.store.listen(self._note)

    def _note(self, change: StoreChange) -> None:
        item = change.item
        if item.resource == kinds.BUDGETS.full_name and item.doc["status"].get("disruptionsAllowed", 0) < 0:
            self.overdrawn.append("/".join(item.key))
        if change.item.resource == kinds.PODS.full_name and change.change_kind is StoreChangeKind.MODIFIED:
            before = change.before.doc if change.before is not None else {}
            if _marked(change.item.doc) and not _marked(before):
                self.of[change.item.uid] += 1


def _marked(pod: dict[str, object]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()  # type: ignore[attr-defined]
    return any(each["type"] == "DisruptionTarget" and each["status"] == "True" for each in conditions)


def carry_out(engine: Engine, field: LiveRunBackend) -> None:
    """Run until all is over. The engine uses the cluster's time, which passes faster."""
    begun_s = time.monotonic()

    def now_s() -> float:
        return (time.monotonic() - begun_s) * worlds.SPEED

    happened = turns = 0
    while not engine.is_finished:
        turns = turns + 1 if len(engine.events) == happened else 0
        happened = len(engine.events)
        assert turns < MOST_TURNS, engine.not_drained
        for act in engine.due_actions(now_s()):
            field.do(act)
        pause_s = (engine.next_s(now_s()) - now_s()) / worlds.SPEED
        for news in field.updates(min(max(pause_s, 0.0), 0.5)):
            engine.handle(news, now_s())


def drain(api: Api, folder: Path, *faults: str) -> tuple[Engine, Evictions]:
    """Make the plan without faults; then drain with the faults."""
    seen = api.run_locked(Evictions)
    with among(api) as server:
        cluster, plan = plan_drain(LiveReader(connection(server, folder)), BLUE, DrainPolicy())
    engine = Engine(plan, ObservedState(cluster))
    with among(api, *faults) as server, field_on(connection(server, folder, page_size=50)) as field:
        carry_out(engine, field)
    return engine, seen


def check(engine: Engine, seen: Evictions, api: Api) -> None:
    assert not engine.not_drained
    wanted = {eviction.pod.uid for eviction in engine.plan.evictions}
    assert set(seen.of) == wanted and len(wanted) >= 16
    assert max(seen.of.values()) == 1 and seen.overdrawn == []
    done = {moment.subject for moment in engine.events if moment.what is DrainEventKind.DONE}
    assert done == {target.node.name for target in engine.plan.targets if target.order}
    for name in done:
        item = api.run_locked(lambda plane, name=name: plane.store.get("nodes", ("", name)))  # type: ignore[misc]
        assert item is not None and item.doc["spec"]["unschedulable"]
        assert item.doc["metadata"]["annotations"]["eksdoc.io/run"] == RUN
    for item in api.run_locked(lambda plane: list(plane.store.list("nodes"))):
        meta = item.doc["metadata"]
        assert not set(SCALE_DOWN_PROTECTIONS) & set(meta.get("annotations") or ()), "it was released"
        cordoned = {target.node.name for target in engine.plan.targets}  # the skipped ones too
        assert item.key[1] in cordoned or not {"eksdoc.io/run", "eksdoc.io/prior"} & set(meta.get("annotations") or ())
    assert list(api.internal_errors) == []


def subjects(engine: Engine, what: DrainEventKind) -> set[str]:
    return {moment.subject for moment in engine.events if moment.what is what}


def test_every_node_is_emptied_and_every_pod_evicted_once(tmp_path: Path) -> None:
    api = worlds.api_of("small-traps")
    engine, seen = drain(api, tmp_path)
    check(engine, seen, api)
    assert subjects(engine, DrainEventKind.PROTECTED) == subjects(engine, DrainEventKind.UNPROTECTED) != set()


def check_among(folder: Path, fault: str) -> None:
    api = worlds.api_of("small-traps")
    check(*drain(api, folder / fault, fault), api)


EVERY = [
    *("throttled@30%", "server-error@30%", "server-timeout@30%", "conflict@30%", "denied@30%", "webhook-down@30%"),
    *("reset@30%", "answer-lost@30%", "unanswered@5%", "repeated@30%", "watch-expired=2", "watch-silent"),
]
"""No watch and no list stays whole where watches expire at once."""


@pytest.mark.long
@pytest.mark.parametrize("faults", [EVERY[place : place + 3] for place in range(0, len(EVERY), 3)], ids=" ".join)
def test_the_same_among_faults(tmp_path: Path, faults: list[str]) -> None:
    """Three clusters run at a time: each mostly waits."""
    at_once(*(partial(check_among, tmp_path, fault) for fault in faults))


@pytest.mark.long
def test_hundreds_of_pods(tmp_path: Path) -> None:
    api = worlds.api_of("medium")
    check(*drain(api, tmp_path, "answer-lost@5%", "throttled@5%", "watch-expired=9"), api)
