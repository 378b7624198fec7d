"""What a hook before a wave says counts for the moment at which the wave is begun: nothing goes without its yes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.moments import Happened, RunMoment
from kubectl_eksdoc.drain.run.others import Replanning
from kubectl_eksdoc.drain.run.pursuits import ObservedState
from kubectl_eksdoc.embedded.stage import EmbeddedStage
from kubectl_eksdoc.flows.drain import plan_drain
from kubectl_eksdoc.flows.rehearse import pace_of
from kubectl_eksdoc.flows.run.draining import DrainRunEnd, RunWish, RunWishState
from kubectl_eksdoc.kubernetes.news import HookEnded, News
from kubectl_eksdoc.model.acts import BEFORE_WAVE, Errand, Evict, Hook
from tests.flows.fields import a_drain
from tests.flows.run.test_strangers import a_cluster, comes
from tests.flows.run.test_waves import HookedStage
from tests.flows.stages import BLUE, ONE_BY_ONE

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


def ran(
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


def begun(moments: Sequence[RunMoment]) -> list[tuple[str, float]]:
    return [(moment.subject, moment.at_s) for moment in moments if moment.what is Happened.BEGUN]


@pytest.mark.long
def test_a_yes_that_came_while_it_was_paused_is_asked_for_again() -> None:
    """Whoever gates by alerts wants to know of those that fire now, not of those before the pause."""
    _, stage = a_cluster()
    ended, field, moments = ran(stage, [(30.0, True)], paused(stage, (10.0, 3000.0)))
    assert ended.whole and [hook.wave for _, hook in field.asked] == [1, 1, 2, 3]
    assert field.asked[1][0] >= 3000 and begun(moments)[0][1] >= field.asked[1][0]


@pytest.mark.parametrize("says", [[(30.0, False)], [(30.0, True), (0.0, False)]])
def test_a_no_during_the_pause_or_after_it_stops_it(says: list[Says]) -> None:
    _, stage = a_cluster()
    ended, field, moments = ran(stage, says, paused(stage, (10.0, 600.0)))
    assert ended.stopped.startswith("the hook before wave 1 failed") and not begun(moments)
    assert not [act for act in field.done if isinstance(act, Evict)]


def test_an_answer_from_a_pause_that_comes_after_it_counts() -> None:
    """It was asked for before, and looked as long as it wanted."""
    _, stage = a_cluster()
    ended, field, moments = ran(stage, [(300.0, True)], paused(stage, (10.0, 100.0)))
    assert ended.whole and [hook.wave for _, hook in field.asked] == [1, 2, 3] and begun(moments)[0][1] >= 300


def test_it_is_asked_only_when_the_new_nodes_are_there_that_the_wave_needs() -> None:
    """Else its yes would be old by the time when the wave is begun."""
    _, stage = a_cluster()
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
    plane, stage = a_cluster()
    for number, node in zip(count(), ("old-0", "old-1", "old-2"), strict=False):
        comes(plane, f"api-new-{number}", 15.0 + number, node)
        comes(plane, f"api-late-{number}", 100.0 + number, node)
    ended, field, moments = ran(stage, [(60.0, True)] * 3, paused(stage, (20.0, 80.0)))
    assert ended.whole and len(begun(moments)) == 3
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
    plane, stage = a_cluster()
    for number, (at_s, node) in enumerate(come):
        comes(plane, f"api-new-{number}", at_s, f"old-{node}")
    wish = paused(stage, *((since, since + lasts) for since, lasts in pauses))
    ended, field, _ = ran(stage, says, wish)
    assert bool(ended.stopped) == field.refused
