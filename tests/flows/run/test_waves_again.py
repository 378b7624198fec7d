"""A run that is gone on with counts its waves on: in events, for hooks, in the plan of the rest, and by its journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.account import nodes_of
from kubectl_eksdoc.drain.run.journal import replay, stops_in
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.moments import Happened, RunMoment
from kubectl_eksdoc.flows.drain import plan_drain
from kubectl_eksdoc.flows.rehearse import pace_of
from kubectl_eksdoc.flows.run.draining import DrainRunEnd, RunWish, RunWishState
from kubectl_eksdoc.flows.run.running import ResumedIntent, RunEnvironment, RunHeader, go_on, run_plan
from kubectl_eksdoc.kubernetes.news import HookEnded
from kubectl_eksdoc.model.acts import Hook
from kubectl_eksdoc.model.cluster import played
from kubectl_eksdoc.model.journal import JournalNote, Note, Timed
from tests.flows.fields import OwnLock, StageClock
from tests.flows.run.test_rolling_back import AdoptedJournal
from tests.flows.run.test_waves import BLUE, BOTH, ONE_BY_ONE, HookedStage, a_cluster, yes


class Begins(AdoptedJournal):
    """One that can also be begun."""

    def begin(self, begun: object) -> None:
        self.entries.append(begun)  # type: ignore[arg-type]


class World:
    """Runs of three nodes, one in each wave; a run stops when a node is done."""

    def __init__(self, policy: DrainPolicy = ONE_BY_ONE) -> None:
        _, self.stage = a_cluster()
        self.journal = Begins()
        self.policy = policy
        self.moments: list[RunMoment] = []
        self.hooks: list[Hook] = []

    def running(self, dones: int) -> RunEnvironment:
        def says(hook: Hook) -> HookEnded:
            self.hooks.append(hook)
            return yes(hook)

        def listen(moments: Sequence[RunMoment]) -> None:
            self.moments += moments

        def wish() -> RunWishState:
            done = sum(moment.what is Happened.DONE for moment in self.moments)
            return RunWishState(RunWish.STOP if done >= dones else RunWish.GO_ON)

        field = HookedStage(self.stage, says, 0.0, self.journal)
        clock = StageClock(self.stage)
        made = (field, self.journal, OwnLock(), clock, listen, wish, RunLimits(soak_s=60))
        return RunEnvironment(*made, hooks=BOTH)  # type: ignore[arg-type]

    def begun(self) -> DrainRunEnd:
        cluster, plan = plan_drain(self.stage, BLUE, self.policy)
        self.stage.start(pace_of(cluster))
        return run_plan(cluster, plan, RunHeader("", "d", "1", "ada", "desk", ()), self.running(1))

    def gone_on(self, dones: int) -> DrainRunEnd:
        self.stage.news()
        return go_on("", self.stage, ResumedIntent(self.policy), self.running(dones))[1]

    def waves(self) -> list[int]:
        return [node.wave for node in nodes_of(replay(self.journal.read()))]


def test_waves_are_counted_on_however_often_it_is_gone_on_with() -> None:
    world = World()
    assert world.begun().stopped and world.waves() == [1, 2, 3]
    second = world.gone_on(2)
    assert second.stopped and sorted(t.wave for t in second.record.plan.targets) == [2, 3]
    third = world.gone_on(9)
    assert third.whole and [target.wave for target in third.record.plan.targets] == [3]
    assert list(dict.fromkeys(hook.wave for hook in world.hooks)) == [1, 2, 3] == world.waves()


def test_what_is_left_of_a_wave_goes_in_the_next_one() -> None:
    """It is stopped in the midst of the first: nobody has noted that its node is done."""
    world = World()
    world.begun()
    ends = (JournalNote.NODE_DONE, JournalNote.ENDED)
    world.journal.entries = [e for e in world.journal.entries if not (isinstance(e, Note) and e.what in ends)]
    ended = world.gone_on(9)
    assert ended.whole and sorted(target.wave for target in ended.record.plan.targets) == [2, 3, 4]
    assert sorted(world.waves()) == [2, 3, 4]


def test_where_there_are_no_waves_it_is_still_the_first() -> None:
    world = World(DrainPolicy())
    world.begun()
    world.gone_on(9)
    assert {hook.wave for hook in world.hooks} == {1}


@pytest.mark.parametrize(("version", "teaches"), [("v1.33.0", True), (played("v1.33.0", 15), False)])
def test_a_rehearsal_that_plays_faster_than_time_teaches_later_plans_nothing(version: str, teaches: bool) -> None:
    """A snapshot that is served has the uid of the real cluster, and its journals are beside those of that."""
    world = World()
    observed = world.stage._observed
    world.stage._observed = replace(observed, identity=replace(observed.identity, server_version=version))
    world.begun()
    while not world.gone_on(9).record.drained_s:
        pass
    entries = world.journal.read()
    timed = any(isinstance(each, Timed) for each in entries.entries)
    assert (bool(list(stops_in(entries))), timed) == (teaches, teaches)
