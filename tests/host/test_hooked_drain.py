"""A drain of a served cluster, over the wire and in real time: hooks are real processes, and a pod comes meanwhile."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.policy import ALL, DrainPolicy, Targeting
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.journal import JournalWriter
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.moments import Happened, RunMoment
from kubectl_eksdoc.drain.run.others import Replanning
from kubectl_eksdoc.drain.run.pursuits import ObservedState
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import Scaled
from kubectl_eksdoc.flows.drain import plan_drain
from kubectl_eksdoc.flows.run.draining import Draining, DrainRunEnd
from kubectl_eksdoc.host.hooks import HookedField
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.model.acts import AFTER_WAVE, BEFORE_WAVE
from kubectl_eksdoc.model.budgets import Amount
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.workloads.everything import every_controller
from tests.embedded.clients import worlds
from tests.flows.fields import KeptJournal, OwnLock
from tests.flows.stages import made, web
from tests.kube.field.fields import among, connection, field_on
from tests.simulator.planes import a_node_doc, a_pod_doc

HOOKS = frozenset((BEFORE_WAVE, AFTER_WAVE))
POLICY = DrainPolicy(max_unavailable=((ALL, Amount(1)),), force=True)


def two_nodes() -> Api:
    """Two old nodes with a pod each, and room for them."""
    space = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "default", "uid": "uid-default"}}
    plane, _ = made(space, *web(2, 2), *(a_node_doc(f"new-{i}") for i in range(2)))
    plane.start(worlds.QUICK, every_controller)
    return Api(plane, worlds.SETUP, Scaled(time.monotonic, worlds.SPEED))


class FastClock:
    """The cluster's time passes faster."""

    def monotonic(self) -> float:
        return time.monotonic() * worlds.SPEED

    def now(self) -> datetime:
        return datetime.now(timezone.utc)


class Coming:
    """Makes a pod on the first node that is begun, past the scheduler."""

    def __init__(self, api: Api) -> None:
        self.moments: list[RunMoment] = []
        self._api = api
        self._made = False

    def listen(self, moments: list[RunMoment]) -> None:
        self.moments += moments
        begun = next((moment.subject for moment in moments if moment.what is Happened.BEGUN), None)
        if begun is not None and not self._made:
            self._made = True
            doc = a_pod_doc("late", cpu="1m", app="late", nodeName=begun)
            del doc["metadata"]["uid"]

            def make(plane: ControlPlane) -> None:
                plane.registry.create("pods", doc, "default")

            self._api.now(make)


def drain(api: Api, folder: Path, after: str) -> tuple[DrainRunEnd, list[RunMoment]]:
    coming, journal = Coming(api), KeptJournal()
    with among(api) as server, field_on(connection(server, folder)) as live:
        cluster, plan = plan_drain(LiveReader(connection(server, folder)), Targeting(nodegroups=("blue",)), POLICY)
        log = f'echo "$EKSDOC_WHEN $EKSDOC_WAVE $EKSDOC_NODES" >> {folder}/log'
        field = HookedField(live, {BEFORE_WAVE: log, AFTER_WAVE: f"{log}; {after}"}, "r1")
        engine = Engine(plan, ObservedState(cluster), RunLimits(soak_s=20), HOOKS)
        draining = Draining(
            engine,
            field,
            journal,
            OwnLock(),
            FastClock(),
            JournalWriter(),
            coming.listen,  # type: ignore[arg-type]
            replanning=Replanning(engine, cluster),
        )
        ended = draining.to_the_end()
        field.close()
    return ended, coming.moments


def waves(moments: list[RunMoment], what: Happened) -> list[float]:
    return [moment.at_s for moment in moments if moment.what is what]


@pytest.mark.long
def test_hooks_and_a_soak_around_each_wave_and_a_pod_that_came(tmp_path: Path) -> None:
    ended, moments = drain(two_nodes(), tmp_path, "true")
    assert ended.whole
    asked = [line.split()[:2] for line in (tmp_path / "log").read_text().splitlines()]
    assert asked == [[when, wave] for wave in ("1", "2") for when in (BEFORE_WAVE, AFTER_WAVE)]
    (soaking,), begun = waves(moments, Happened.SOAKING), waves(moments, Happened.BEGUN)
    assert begun[1] >= soaking + 20
    gone = [moment.subject for moment in moments if moment.what is Happened.GONE]
    assert gone.count("default/late") == 1 and len(gone) == len(set(gone))
    assert [moment.why for moment in moments if moment.what is Happened.REPLANNED] == [
        "came to it after the plan was made: default/late"
    ]


@pytest.mark.long
def test_a_hook_that_fails_ends_it(tmp_path: Path) -> None:
    ended, moments = drain(two_nodes(), tmp_path, "echo 2 alerts fire; exit 3")
    assert ended.stopped == "the hook after wave 1 failed: exit status 3: 2 alerts fire" and ended.undone
    assert len(waves(moments, Happened.HOOKED)) == 2
