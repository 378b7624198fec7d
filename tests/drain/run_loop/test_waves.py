"""Between two waves: a soak, and the user's hooks, which must succeed; also the waves of a resumed run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.journal import replay_journals, stop_times_in
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.loop import DrainRunEnd, RunRequest, RunRequestState
from kubectl_eksdoc.drain.run.other_drains import Replanner
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.result import node_summaries
from kubectl_eksdoc.drain.run.runner import (
    ResumedIntent,
    RunEnvironment,
    RunHeader,
    resume,
    run_plan,
)
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.kubernetes.updates import HookEnded, RunUpdate
from kubectl_eksdoc.model.actions import AFTER_WAVE, BEFORE_WAVE, Cordon, Evict, Hook, RunCommand
from kubectl_eksdoc.model.cluster import simulated_version
from kubectl_eksdoc.model.journal import NoteEntry, NoteKind, TimingEntry
from kubectl_eksdoc.rehearse.rehearsal import rehearse
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.drain.fields import KeptJournal, OwnLock, StageClock, StageField, a_drain
from tests.drain.run_loop.test_late_pods import a_cluster as with_strangers
from tests.drain.run_loop.test_late_pods import comes
from tests.drain.run_loop.test_rollback import AdoptedJournal
from tests.drain.stages import BLUE, ONE_BY_ONE, begun, made, web
from tests.simulator.control_planes import a_node_doc

BOTH = frozenset((BEFORE_WAVE, AFTER_WAVE))


def a_cluster() -> tuple[ControlPlane, SimulatedStage]:
    return made(*web(3, 3), *(a_node_doc(f"new-{i}") for i in range(3)))


class HookedStage(StageField):
    """`says`: the answers of the hooks, `takes_s` seconds after each request."""

    def __init__(
        self,
        stage: SimulatedStage,
        says: Callable[[Hook], HookEnded],
        takes_s: float = 0.0,
        journal: KeptJournal | None = None,
    ) -> None:
        super().__init__(stage, journal or KeptJournal())
        self.all: list[RunCommand] = []
        self._says = says
        self.takes_s = takes_s
        self._due: list[tuple[float, HookEnded]] = []

    def do(self, act: RunCommand) -> None:
        self.all.append(act)
        if isinstance(act, Hook):
            ended = self._says(act)  # which may set how long it takes
            self._due.append((self.stage.seconds + self.takes_s, ended))
        else:
            super().do(act)

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        ended = [each for due_s, each in self._due if due_s <= self.stage.seconds]
        self._due = [each for each in self._due if each[0] > self.stage.seconds]
        return [*ended, *super().updates(0.001 if ended else wait_s)]

    @property
    def hooks(self) -> list[Hook]:
        return [act for act in self.all if isinstance(act, Hook)]


def yes(hook: Hook) -> HookEnded:
    return HookEnded(hook, True, "all is well")


def ran(
    stage: SimulatedStage,
    says: Callable[[Hook], HookEnded] = yes,
    *,
    policy: DrainPolicy = ONE_BY_ONE,
    hooks: frozenset[str] = BOTH,
    limits: RunLimits = RunLimits(),
    takes_s: float = 0.0,
    wish: Callable[[], RunRequestState] = RunRequestState,
) -> tuple[DrainRunEnd, HookedStage, list[DrainEvent]]:
    engine, field = begun(stage, policy, limits, hooks), HookedStage(stage, says, takes_s)
    moments = list[DrainEvent]()
    return a_drain(engine, field, moments.extend, read_request=wish).run(), field, moments


def at(moments: Sequence[DrainEvent], what: DrainEventKind) -> list[float]:
    return [moment.at_s for moment in moments if moment.what is what]


def test_a_wave_begins_only_when_the_one_before_has_soaked() -> None:
    _, rehearsal = rehearse(a_cluster()[1], BLUE, ONE_BY_ONE, limits=RunLimits(soak_s=120))
    moments = rehearsal.moments
    begun, done, soaking = (
        at(moments, DrainEventKind.BEGUN),
        at(moments, DrainEventKind.DONE),
        at(moments, DrainEventKind.SOAKING),
    )
    assert soaking == done[:-1], "there is nothing to wait for after the last"
    assert begun[1:] == [over + 120 for over in done[:-1]] and not rehearsal.undone
    why = next(moment.why for moment in moments if moment.what is DrainEventKind.SOAKING)
    assert why.startswith("wave 1 is over: wave 2 is not begun for 2m00s, until "), why


def test_guards_go_on_watching_while_it_soaks() -> None:
    plane, stage = made(*web(3, 3), *(a_node_doc(f"new-{i}") for i in range(6)))
    for i in range(3, 6):
        plane.virtual_time.schedule(100.0, lambda name=f"new-{i}": mishaps.mark_unreachable(plane, name))
    _, rehearsal = rehearse(stage, BLUE, ONE_BY_ONE, limits=RunLimits(soak_s=600))
    (stopped,) = (moment for moment in rehearsal.moments if moment.what is DrainEventKind.STOPPED)
    assert "nodes became NotReady" in stopped.why and 100 <= stopped.at_s < 600
    assert len(at(rehearsal.moments, DrainEventKind.BEGUN)) == 1, "the next wave is not begun"


def test_hooks_are_asked_before_and_after_every_wave() -> None:
    _, stage = a_cluster()
    ended, field, moments = ran(stage)
    assert ended.is_complete
    nodes = [node for hook in field.hooks if hook.when == BEFORE_WAVE for node in hook.nodes]
    assert sorted(nodes) == ["old-0", "old-1", "old-2"]
    assert field.hooks == [
        Hook(when, wave, (node,)) for wave, node in enumerate(nodes, 1) for when in (BEFORE_WAVE, AFTER_WAVE)
    ]
    shape = [type(act) for act in field.all if isinstance(act, (Cordon, Hook, Evict))]
    assert shape == [Cordon] * 3 + [Hook, Evict, Hook] * 3, "all are cordoned before the first is asked for"
    said = [moment.why for moment in moments if moment.what is DrainEventKind.HOOKED]
    assert said[:2] == [f"the hook {when} wave 1 said yes: all is well" for when in ("before", "after")]


@pytest.mark.parametrize(("when", "wave", "evicted"), [(BEFORE_WAVE, 1, 0), (AFTER_WAVE, 1, 1), (BEFORE_WAVE, 2, 1)])
def test_a_hook_that_fails_stops_it(when: str, wave: int, evicted: int) -> None:
    def says(hook: Hook) -> HookEnded:
        return HookEnded(hook, (hook.when, hook.wave) != (when, wave), "exit status 3: 2 alerts fire")

    _, stage = a_cluster()
    ended, field, moments = ran(stage, says)
    assert ended.stop_reason == f"the hook {when.replace('-', ' ')} {wave} failed: exit status 3: 2 alerts fire"
    assert len([act for act in field.done if isinstance(act, Evict)]) == evicted == 3 - len(ended.not_drained)
    assert field.hooks[-1][:2] == (when, wave)
    assert at(moments, DrainEventKind.STOPPED)


def test_who_stops_it_does_not_wait_for_a_hook() -> None:
    _, stage = a_cluster()
    ended, field, _ = ran(
        stage, takes_s=10**6, wish=lambda: RunRequestState(RunRequest.STOP) if stage.seconds > 30 else RunRequestState()
    )
    assert ended.stop_reason == "the user stopped it" and stage.seconds < 100 and len(field.hooks) == 1


def test_a_wave_whose_nodes_went_away_is_none() -> None:
    plane, stage = a_cluster()
    cluster, plan = plan_drain(stage, BLUE, ONE_BY_ONE)
    second = next(target.node.name for target in plan.targets if target.order == 2)
    plane.virtual_time.schedule(1.0, lambda: mishaps.delete_node(plane, second))
    ended, field, _ = ran(SimulatedStage(plane, cluster))
    assert ended.is_complete and [hook.wave for hook in field.hooks] == [1, 1, 3, 3]


class Begins(AdoptedJournal):
    """An adopted journal that can also be started."""

    def start(self, begun: object) -> None:
        self.entries.append(begun)  # type: ignore[arg-type]


class World:
    """Runs of three nodes, one in each wave; a run stops when a node is done."""

    def __init__(self, policy: DrainPolicy = ONE_BY_ONE) -> None:
        _, self.stage = a_cluster()
        self.journal = Begins()
        self.policy = policy
        self.moments: list[DrainEvent] = []
        self.hooks: list[Hook] = []

    def running(self, dones: int) -> RunEnvironment:
        def says(hook: Hook) -> HookEnded:
            self.hooks.append(hook)
            return yes(hook)

        def listen(moments: Sequence[DrainEvent]) -> None:
            self.moments += moments

        def wish() -> RunRequestState:
            done = sum(moment.what is DrainEventKind.DONE for moment in self.moments)
            return RunRequestState(RunRequest.STOP if done >= dones else RunRequest.RESUME)

        field = HookedStage(self.stage, says, 0.0, self.journal)
        clock = StageClock(self.stage)
        made = (field, self.journal, OwnLock(), clock, listen, wish, RunLimits(soak_s=60))
        return RunEnvironment(*made, hooks=BOTH)  # type: ignore[arg-type]

    def begun(self) -> DrainRunEnd:
        cluster, plan = plan_drain(self.stage, BLUE, self.policy)
        self.stage.start(learned_kubelet_times(cluster))
        return run_plan(cluster, plan, RunHeader("", "d", "1", "ada", "desk", ()), self.running(1))

    def gone_on(self, dones: int) -> DrainRunEnd:
        self.stage.updates()
        return resume("", self.stage, ResumedIntent(self.policy), self.running(dones))[1]

    def waves(self) -> list[int]:
        return [node.wave for node in node_summaries(replay_journals(self.journal.read()))]


def test_waves_are_counted_on_however_often_it_is_gone_on_with() -> None:
    world = World()
    assert world.begun().stop_reason and world.waves() == [1, 2, 3]
    second = world.gone_on(2)
    assert second.stop_reason and sorted(t.wave for t in second.record.plan.targets) == [2, 3]
    third = world.gone_on(9)
    assert third.is_complete and [target.wave for target in third.record.plan.targets] == [3]
    assert list(dict.fromkeys(hook.wave for hook in world.hooks)) == [1, 2, 3] == world.waves()


def test_what_is_left_of_a_wave_goes_in_the_next_one() -> None:
    """The run stopped during the first wave: its journal does not say that the node is done."""
    world = World()
    world.begun()
    ends = (NoteKind.NODE_DONE, NoteKind.ENDED)
    world.journal.entries = [e for e in world.journal.entries if not (isinstance(e, NoteEntry) and e.what in ends)]
    ended = world.gone_on(9)
    assert ended.is_complete and sorted(target.wave for target in ended.record.plan.targets) == [2, 3, 4]
    assert sorted(world.waves()) == [2, 3, 4]


@pytest.mark.parametrize(("version", "teaches"), [("v1.33.0", True), (simulated_version("v1.33.0", 15), False)])
def test_a_rehearsal_that_plays_faster_than_time_teaches_later_plans_nothing(version: str, teaches: bool) -> None:
    """A served snapshot has the uid of the real cluster, so its journals are stored beside those of the real one."""
    world = World()
    observed = world.stage._observed
    world.stage._observed = replace(observed, identity=replace(observed.identity, server_version=version))
    world.begun()
    while not world.gone_on(9).record.drained_s:
        pass
    entries = world.journal.read()
    timed = any(isinstance(each, TimingEntry) for each in entries.entries)
    assert (bool(list(stop_times_in(entries))), timed) == (teaches, teaches)


Says = tuple[float, bool]
"""After so many seconds, and whether yes."""


class Gated(HookedStage):
    """Answers each hook as the next item of `says`, and with success after the last; checks every eviction."""

    def __init__(self, stage: SimulatedStage, says: Sequence[Says]) -> None:
        super().__init__(stage, self._next)
        self._said = list(says)
        self.asked: list[tuple[float, Hook]] = []
        self.open: set[str] = set()  # nodes for which a hook has succeeded
        self.refused = False

    def _next(self, hook: Hook) -> HookEnded:
        self.asked.append((self.stage.seconds, hook))
        self.takes_s, ok = self._said.pop(0) if self._said else (0.0, True)
        return HookEnded(hook, ok)

    def do(self, act: RunCommand) -> None:
        if isinstance(act, Evict):
            assert act.pod.node in self.open and not self.refused, f"{act.pod.key}: {self.asked}"
        super().do(act)

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        found = super().updates(wait_s)
        for each in found:
            if isinstance(each, HookEnded):
                self.open |= set(each.hook.nodes) if each.ok else set()
                self.refused = self.refused or not each.ok
        return found


def gated(
    stage: SimulatedStage, says: Sequence[Says] = (), wish: Callable[[], RunRequestState] = RunRequestState
) -> tuple[DrainRunEnd, Gated, list[DrainEvent]]:
    """A run loop as in a real run, with new plans for late pods."""
    cluster, plan = plan_drain(stage, BLUE, ONE_BY_ONE)
    stage.start(learned_kubelet_times(cluster))
    engine = Engine(plan, ObservedState(cluster), hooks=frozenset((BEFORE_WAVE,)))
    field, heard = Gated(stage, says), list[DrainEvent]()
    made = a_drain(engine, field, heard.extend, read_request=wish, replanning=Replanner(engine, cluster))
    return made.run(), field, heard


def paused(stage: SimulatedStage, *windows: tuple[float, float]) -> Callable[[], RunRequestState]:
    def wish() -> RunRequestState:
        return (
            RunRequestState(RunRequest.PAUSE)
            if any(since <= stage.seconds < until for since, until in windows)
            else RunRequestState()
        )

    return wish


def when_begun(moments: Sequence[DrainEvent]) -> list[tuple[str, float]]:
    return [(moment.subject, moment.at_s) for moment in moments if moment.what is DrainEventKind.BEGUN]


@pytest.mark.long
def test_a_yes_that_came_while_it_was_paused_is_asked_for_again() -> None:
    """A hook that checks alerts must see the alerts of now, not those from before the pause."""
    _, stage = with_strangers()
    ended, field, moments = gated(stage, [(30.0, True)], paused(stage, (10.0, 3000.0)))
    assert ended.is_complete and [hook.wave for _, hook in field.asked] == [1, 1, 2, 3]
    assert field.asked[1][0] >= 3000 and when_begun(moments)[0][1] >= field.asked[1][0]


@pytest.mark.parametrize("says", [[(30.0, False)], [(30.0, True), (0.0, False)]])
def test_a_no_during_the_pause_or_after_it_stops_it(says: list[Says]) -> None:
    _, stage = with_strangers()
    ended, field, moments = gated(stage, says, paused(stage, (10.0, 600.0)))
    assert ended.stop_reason.startswith("the hook before wave 1 failed") and not when_begun(moments)
    assert not [act for act in field.done if isinstance(act, Evict)]


def test_it_is_asked_only_when_the_new_nodes_are_there_that_the_wave_needs() -> None:
    """An earlier answer would be outdated when the wave starts."""
    _, stage = with_strangers()
    cluster, plan = plan_drain(stage, BLUE, DrainPolicy())
    waiting = replace(plan, targets=tuple(replace(each, needs=("old-9",)) for each in plan.targets))
    engine = Engine(waiting, ObservedState(cluster), hooks=frozenset((BEFORE_WAVE,)))

    def hooks(now_s: float) -> list[Hook]:
        found: list[Hook] = []
        for _ in range(5):
            for act in engine.due_actions(now_s):
                if isinstance(act, Hook):
                    found.append(act)
                else:
                    engine.handle(stage.do(act), now_s)
            for news in stage.updates():
                engine.handle(news, now_s)
        return found

    assert hooks(0.0) == [], "all are cordoned, and nothing can be begun"
    engine.record_joined("old-9")
    (hook,) = hooks(100.0)
    assert hook.wave == 1 and len(hook.nodes) == 3


def test_pods_that_come_to_a_node_before_its_wave_wait_for_the_hook() -> None:
    plane, stage = with_strangers()
    for number, node in zip(count(), ("old-0", "old-1", "old-2"), strict=False):
        comes(plane, f"api-new-{number}", 15.0 + number, node)
        comes(plane, f"api-late-{number}", 100.0 + number, node)
    ended, field, moments = gated(stage, [(60.0, True)] * 3, paused(stage, (20.0, 80.0)))
    assert ended.is_complete and len(when_begun(moments)) == 3
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
    assert bool(ended.stop_reason) == field.refused


def test_nothing_goes_on_before_a_hook_has_answered() -> None:
    _, stage = a_cluster()
    ended, _, moments = ran(stage, takes_s=90)
    begun, done, hooked = (
        at(moments, what) for what in (DrainEventKind.BEGUN, DrainEventKind.DONE, DrainEventKind.HOOKED)
    )
    assert ended.is_complete and len(hooked) == 6
    assert begun[0] >= 90 and all(later >= over + 180 for over, later in zip(done, begun[1:], strict=False))


def test_the_last_hook_counts_too() -> None:
    _, stage = a_cluster()
    ended, _, _ = ran(stage, lambda hook: HookEnded(hook, False, "3 alerts"), hooks=frozenset((AFTER_WAVE,)))
    assert ended.stop_reason == "the hook after wave 1 failed: 3 alerts" and not ended.is_complete


def test_while_it_is_paused_no_hook_is_asked_for() -> None:
    _, stage = a_cluster()
    ended, _, moments = ran(
        stage, wish=lambda: RunRequestState(RunRequest.PAUSE) if stage.seconds < 50 else RunRequestState()
    )
    assert ended.is_complete and at(moments, DrainEventKind.HOOKED)[0] >= 50
