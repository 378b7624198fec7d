"""What is between two waves: a soak, the user's hooks; and waves are counted on when a run is resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.account import nodes_of
from kubectl_eksdoc.drain.run.journal import replay, stops_in
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.moments import Happened, RunMoment
from kubectl_eksdoc.embedded.stage import EmbeddedStage
from kubectl_eksdoc.flows.drain import plan_drain
from kubectl_eksdoc.flows.rehearse import pace_of, rehearse
from kubectl_eksdoc.flows.run.draining import DrainRunEnd, RunWish, RunWishState
from kubectl_eksdoc.flows.run.running import ResumedIntent, RunEnvironment, RunHeader, go_on, run_plan
from kubectl_eksdoc.kubernetes.news import HookEnded, News
from kubectl_eksdoc.model.acts import AFTER_WAVE, BEFORE_WAVE, Cordon, Errand, Evict, Hook
from kubectl_eksdoc.model.cluster import played
from kubectl_eksdoc.model.journal import JournalNote, Note, Timed
from kubectl_eksdoc.simulator import mishaps
from kubectl_eksdoc.simulator.plane import ControlPlane
from tests.flows.fields import KeptJournal, OwnLock, StageClock, StageField, a_drain
from tests.flows.run.test_rolling_back import AdoptedJournal
from tests.flows.stages import BLUE, ONE_BY_ONE, begun, made, web
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
            self._due.append((self.stage.seconds + self.takes_s, self._says(act)))
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


def test_soaking_and_hooks_together() -> None:
    _, stage = a_cluster()
    ended, _, moments = ran(stage, limits=RunLimits(soak_s=60))
    whats = [m.what for m in moments if m.what in (Happened.BEGUN, Happened.DONE, Happened.SOAKING, Happened.HOOKED)]
    one = [Happened.HOOKED, Happened.BEGUN, Happened.DONE, Happened.SOAKING, Happened.HOOKED]
    assert ended.whole and whats == [*one, *one, Happened.HOOKED, Happened.BEGUN, Happened.DONE, Happened.HOOKED]
    hooked = at(moments, Happened.HOOKED)
    assert hooked[2] >= hooked[1] + 60, "what comes before a wave looks at it after the soak"


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
