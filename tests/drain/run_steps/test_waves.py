"""What is between two waves: a soak, the user's hooks, whose yes is needed; and waves of a resumed run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.generations import pace_of
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import Happened, RunMoment
from kubectl_eksdoc.drain.run.journal import replay, stops_in
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.loop import DrainRunEnd, RunWish, RunWishState
from kubectl_eksdoc.drain.run.other_drains import Replanning
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.result import nodes_of
from kubectl_eksdoc.drain.run.runner import (
    ResumedIntent,
    RunEnvironment,
    RunHeader,
    go_on,
    run_plan,
)
from kubectl_eksdoc.embedded.stage import EmbeddedStage
from kubectl_eksdoc.kubernetes.news import HookEnded, News
from kubectl_eksdoc.model.actions import AFTER_WAVE, BEFORE_WAVE, Cordon, Errand, Evict, Hook
from kubectl_eksdoc.model.cluster import played
from kubectl_eksdoc.model.journal import JournalNote, Note, Timed
from kubectl_eksdoc.rehearse.rehearsal import rehearse
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.plane import ControlPlane
from tests.drain.fields import KeptJournal, OwnLock, StageClock, StageField, a_drain
from tests.drain.run_steps.test_rolling_back import AdoptedJournal
from tests.drain.run_steps.test_strangers import a_cluster as with_strangers
from tests.drain.run_steps.test_strangers import comes
from tests.drain.stages import BLUE, ONE_BY_ONE, begun, made, web
from tests.simulator.planes import a_node_doc

BOTH = frozenset((BEFORE_WAVE, AFTER_WAVE))


def a_cluster() -> tuple[ControlPlane, EmbeddedStage]:
    return made(*web(3, 3), *(a_node_doc(f"new-{i}") for i in range(3)))


class HookedStage(StageField):
    """`says` answers the hooks, `takes_s` after they were asked for."""

    def __init__(
        self,
        stage: EmbeddedStage,
        says: Callable[[Hook], HookEnded],
        takes_s: float = 0.0,
        journal: KeptJournal | None = None,
    ) -> None:
        super().__init__(stage, journal or KeptJournal())
        self.all: list[Errand] = []
        self._says = says
        self.takes_s = takes_s
        self._due: list[tuple[float, HookEnded]] = []

    def do(self, act: Errand) -> None:
        self.all.append(act)
        if isinstance(act, Hook):
            ended = self._says(act)  # which may set how long it takes
            self._due.append((self.stage.seconds + self.takes_s, ended))
        else:
            super().do(act)

    def news(self, wait_s: float) -> Sequence[News]:
        ended = [each for due_s, each in self._due if due_s <= self.stage.seconds]
        self._due = [each for each in self._due if each[0] > self.stage.seconds]
        return [*ended, *super().news(0.001 if ended else wait_s)]

    @property
    def hooks(self) -> list[Hook]:
        return [act for act in self.all if isinstance(act, Hook)]


def yes(hook: Hook) -> HookEnded:
    return HookEnded(hook, True, "all is well")


def ran(
    stage: EmbeddedStage,
    says: Callable[[Hook], HookEnded] = yes,
    *,
    policy: DrainPolicy = ONE_BY_ONE,
    hooks: frozenset[str] = BOTH,
    limits: RunLimits = RunLimits(),
    takes_s: float = 0.0,
    wish: Callable[[], RunWishState] = RunWishState,
) -> tuple[DrainRunEnd, HookedStage, list[RunMoment]]:
    engine, field = begun(stage, policy, limits, hooks), HookedStage(stage, says, takes_s)
    moments = list[RunMoment]()
    return a_drain(engine, field, moments.extend, wish=wish).to_the_end(), field, moments


def at(moments: Sequence[RunMoment], what: Happened) -> list[float]:
    return [moment.at_s for moment in moments if moment.what is what]


def test_a_wave_begins_only_when_the_one_before_has_soaked() -> None:
    _, rehearsal = rehearse(a_cluster()[1], BLUE, ONE_BY_ONE, limits=RunLimits(soak_s=120))
    moments = rehearsal.moments
    begun, done, soaking = at(moments, Happened.BEGUN), at(moments, Happened.DONE), at(moments, Happened.SOAKING)
    assert soaking == done[:-1], "there is nothing to wait for after the last"
    assert begun[1:] == [over + 120 for over in done[:-1]] and not rehearsal.undone
    why = next(moment.why for moment in moments if moment.what is Happened.SOAKING)
    assert why.startswith("wave 1 is over: wave 2 is not begun for 2m00s, until "), why


def test_guards_go_on_watching_while_it_soaks() -> None:
    plane, stage = made(*web(3, 3), *(a_node_doc(f"new-{i}") for i in range(6)))
    for i in range(3, 6):
        plane.agenda.after(100.0, lambda name=f"new-{i}": mishaps.lose(plane, name))
    _, rehearsal = rehearse(stage, BLUE, ONE_BY_ONE, limits=RunLimits(soak_s=600))
    (stopped,) = (moment for moment in rehearsal.moments if moment.what is Happened.STOPPED)
    assert "nodes became NotReady" in stopped.why and 100 <= stopped.at_s < 600
    assert len(at(rehearsal.moments, Happened.BEGUN)) == 1, "the next wave is not begun"


def test_hooks_are_asked_before_and_after_every_wave() -> None:
    _, stage = a_cluster()
    ended, field, moments = ran(stage)
    assert ended.whole
    nodes = [node for hook in field.hooks if hook.when == BEFORE_WAVE for node in hook.nodes]
    assert sorted(nodes) == ["old-0", "old-1", "old-2"]
    assert field.hooks == [
        Hook(when, wave, (node,)) for wave, node in enumerate(nodes, 1) for when in (BEFORE_WAVE, AFTER_WAVE)
    ]
    shape = [type(act) for act in field.all if isinstance(act, (Cordon, Hook, Evict))]
    assert shape == [Cordon] * 3 + [Hook, Evict, Hook] * 3, "all are cordoned before the first is asked for"
    said = [moment.why for moment in moments if moment.what is Happened.HOOKED]
    assert said[:2] == [f"the hook {when} wave 1 said yes: all is well" for when in ("before", "after")]


@pytest.mark.parametrize(("when", "wave", "evicted"), [(BEFORE_WAVE, 1, 0), (AFTER_WAVE, 1, 1), (BEFORE_WAVE, 2, 1)])
def test_a_hook_that_fails_stops_it(when: str, wave: int, evicted: int) -> None:
    def says(hook: Hook) -> HookEnded:
        return HookEnded(hook, (hook.when, hook.wave) != (when, wave), "exit status 3: 2 alerts fire")

    _, stage = a_cluster()
    ended, field, moments = ran(stage, says)
    assert ended.stopped == f"the hook {when.replace('-', ' ')} {wave} failed: exit status 3: 2 alerts fire"
    assert len([act for act in field.done if isinstance(act, Evict)]) == evicted == 3 - len(ended.undone)
    assert field.hooks[-1][:2] == (when, wave)
    assert at(moments, Happened.STOPPED)


def test_who_stops_it_does_not_wait_for_a_hook() -> None:
    _, stage = a_cluster()
    ended, field, _ = ran(
        stage, takes_s=10**6, wish=lambda: RunWishState(RunWish.STOP) if stage.seconds > 30 else RunWishState()
    )
    assert ended.stopped == "the user stopped it" and stage.seconds < 100 and len(field.hooks) == 1


def test_a_wave_whose_nodes_went_away_is_none() -> None:
    plane, stage = a_cluster()
    cluster, plan = plan_drain(stage, BLUE, ONE_BY_ONE)
    second = next(target.node.name for target in plan.targets if target.order == 2)
    plane.agenda.after(1.0, lambda: mishaps.disappear(plane, second))
    ended, field, _ = ran(EmbeddedStage(plane, cluster))
    assert ended.whole and [hook.wave for hook in field.hooks] == [1, 1, 3, 3]


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


Says = tuple[float, bool]
"""After so many seconds, and whether yes."""


class Gated(HookedStage):
    """Answers each hook as the next of `says` has it, with a yes after the last; and checks every eviction."""

    def __init__(self, stage: EmbeddedStage, says: Sequence[Says]) -> None:
        super().__init__(stage, self._next)
        self._said = list(says)
        self.asked: list[tuple[float, Hook]] = []
        self.open: set[str] = set()  # nodes that a hook has said yes of
        self.refused = False

    def _next(self, hook: Hook) -> HookEnded:
        self.asked.append((self.stage.seconds, hook))
        self.takes_s, ok = self._said.pop(0) if self._said else (0.0, True)
        return HookEnded(hook, ok)

    def do(self, act: Errand) -> None:
        if isinstance(act, Evict):
            assert act.pod.node in self.open and not self.refused, f"{act.pod.key}: {self.asked}"
        super().do(act)

    def news(self, wait_s: float) -> Sequence[News]:
        found = super().news(wait_s)
        for each in found:
            if isinstance(each, HookEnded):
                self.open |= set(each.act.nodes) if each.ok else set()
                self.refused = self.refused or not each.ok
        return found


def gated(
    stage: EmbeddedStage, says: Sequence[Says] = (), wish: Callable[[], RunWishState] = RunWishState
) -> tuple[DrainRunEnd, Gated, list[RunMoment]]:
    """As a real run goes about it, with new plans for pods that come."""
    cluster, plan = plan_drain(stage, BLUE, ONE_BY_ONE)
    stage.start(pace_of(cluster))
    engine = Engine(plan, ObservedState(cluster), hooks=frozenset((BEFORE_WAVE,)))
    field, heard = Gated(stage, says), list[RunMoment]()
    made = a_drain(engine, field, heard.extend, wish=wish, replanning=Replanning(engine, cluster))
    return made.to_the_end(), field, heard


def paused(stage: EmbeddedStage, *windows: tuple[float, float]) -> Callable[[], RunWishState]:
    def wish() -> RunWishState:
        return (
            RunWishState(RunWish.PAUSE)
            if any(since <= stage.seconds < until for since, until in windows)
            else RunWishState()
        )

    return wish


def when_begun(moments: Sequence[RunMoment]) -> list[tuple[str, float]]:
    return [(moment.subject, moment.at_s) for moment in moments if moment.what is Happened.BEGUN]


@pytest.mark.long
def test_a_yes_that_came_while_it_was_paused_is_asked_for_again() -> None:
    """Whoever gates by alerts wants to know of those that fire now, not of those before the pause."""
    _, stage = with_strangers()
    ended, field, moments = gated(stage, [(30.0, True)], paused(stage, (10.0, 3000.0)))
    assert ended.whole and [hook.wave for _, hook in field.asked] == [1, 1, 2, 3]
    assert field.asked[1][0] >= 3000 and when_begun(moments)[0][1] >= field.asked[1][0]


@pytest.mark.parametrize("says", [[(30.0, False)], [(30.0, True), (0.0, False)]])
def test_a_no_during_the_pause_or_after_it_stops_it(says: list[Says]) -> None:
    _, stage = with_strangers()
    ended, field, moments = gated(stage, says, paused(stage, (10.0, 600.0)))
    assert ended.stopped.startswith("the hook before wave 1 failed") and not when_begun(moments)
    assert not [act for act in field.done if isinstance(act, Evict)]


def test_it_is_asked_only_when_the_new_nodes_are_there_that_the_wave_needs() -> None:
    """Else its yes would be old by the time when the wave is begun."""
    _, stage = with_strangers()
    cluster, plan = plan_drain(stage, BLUE, DrainPolicy())
    waiting = replace(plan, targets=tuple(replace(each, needs=("old-9",)) for each in plan.targets))
    engine = Engine(waiting, ObservedState(cluster), hooks=frozenset((BEFORE_WAVE,)))

    def hooks(now_s: float) -> list[Hook]:
        found: list[Hook] = []
        for _ in range(5):
            for act in engine.acts(now_s):
                if isinstance(act, Hook):
                    found.append(act)
                else:
                    engine.take(stage.do(act), now_s)
            for news in stage.news():
                engine.take(news, now_s)
        return found

    assert hooks(0.0) == [], "all are cordoned, and nothing can be begun"
    engine.renewed("old-9")
    (hook,) = hooks(100.0)
    assert hook.wave == 1 and len(hook.nodes) == 3


def test_pods_that_come_to_a_node_before_its_wave_wait_for_the_hook() -> None:
    plane, stage = with_strangers()
    for number, node in zip(count(), ("old-0", "old-1", "old-2"), strict=False):
        comes(plane, f"api-new-{number}", 15.0 + number, node)
        comes(plane, f"api-late-{number}", 100.0 + number, node)
    ended, field, moments = gated(stage, [(60.0, True)] * 3, paused(stage, (20.0, 80.0)))
    assert ended.whole and len(when_begun(moments)) == 3
    assert {act.pod.name for act in field.done if isinstance(act, Evict)} >= {"api-new-0", "api-late-2"}


@pytest.mark.long
@settings(max_examples=25)
@given(
    says=st.lists(st.tuples(st.sampled_from([0.0, 5.0, 45.0, 200.0]), st.booleans()), max_size=5),
    pauses=st.lists(st.tuples(st.floats(0, 400), st.floats(1, 200)), max_size=3),
    come=st.lists(st.tuples(st.floats(1, 400), st.integers(0, 2)), max_size=4),
)
def test_whatever_happens_nothing_goes_without_a_yes(
    says: list[Says], pauses: list[tuple[float, float]], come: list[tuple[float, int]]
) -> None:
    plane, stage = with_strangers()
    for number, (at_s, node) in enumerate(come):
        comes(plane, f"api-new-{number}", at_s, f"old-{node}")
    wish = paused(stage, *((since, since + lasts) for since, lasts in pauses))
    ended, field, _ = gated(stage, says, wish)
    assert bool(ended.stopped) == field.refused


def test_nothing_goes_on_before_a_hook_has_answered() -> None:
    _, stage = a_cluster()
    ended, _, moments = ran(stage, takes_s=90)
    begun, done, hooked = (at(moments, what) for what in (Happened.BEGUN, Happened.DONE, Happened.HOOKED))
    assert ended.whole and len(hooked) == 6
    assert begun[0] >= 90 and all(later >= over + 180 for over, later in zip(done, begun[1:], strict=False))


def test_the_last_hook_counts_too() -> None:
    _, stage = a_cluster()
    ended, _, _ = ran(stage, lambda hook: HookEnded(hook, False, "3 alerts"), hooks=frozenset((AFTER_WAVE,)))
    assert ended.stopped == "the hook after wave 1 failed: 3 alerts" and not ended.whole


def test_while_it_is_paused_no_hook_is_asked_for() -> None:
    _, stage = a_cluster()
    ended, _, moments = ran(stage, wish=lambda: RunWishState(RunWish.PAUSE) if stage.seconds < 50 else RunWishState())
    assert ended.whole and at(moments, Happened.HOOKED)[0] >= 50
