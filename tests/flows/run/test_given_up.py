"""Pods that are refused for ever, or that never stop: they are given up in time, and the others go on."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.run.account import Record
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.moments import Happened, RunMoment
from kubectl_eksdoc.embedded.stage import EmbeddedStage
from kubectl_eksdoc.flows.rehearse import rehearse
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, Details, StatusCause
from kubectl_eksdoc.kubernetes.news import News, RequestAnswered
from kubectl_eksdoc.model.acts import Act, Evict
from kubectl_eksdoc.model.api_objects import Doc, with_value
from tests.flows.stages import BLUE, ONE_BY_ONE, begun, made, steps, web
from tests.simulator.planes import a_budget_doc, a_node_doc

LIMITS = RunLimits(blocked_s=600)

OVER_BUDGET = ApiStatus(
    429,
    "TooManyRequests",
    "Cannot evict pod as it would violate the pod's disruption budget.",
    Details(
        causes=(StatusCause("DisruptionBudget", "The disruption budget web needs 2 healthy pods and has 2 currently"),)
    ),
)
DENIED = ApiStatus(403, "Forbidden", 'admission webhook "w" denied the request: not now')


class Refusing(EmbeddedStage):
    """Every eviction of default/web-0 is answered so, until `until_s`."""

    answer = OVER_BUDGET
    until_s = float("inf")
    asked_s: tuple[float, ...] = ()

    def do(self, act: Act) -> News:
        if isinstance(act, Evict) and act.pod.key == "default/web-0" and self.seconds < self.until_s:
            self.asked_s += (self.seconds,)
            return RequestAnswered(act, self.answer)
        return super().do(act)


def refusing(answer: ApiStatus, *docs: Doc) -> Refusing:
    plane, stage = made(*web(2, 2), *(a_node_doc(f"new-{i}") for i in range(2)), *docs)
    found = Refusing(plane, stage._observed)
    found.answer = answer
    return found


def first(rehearsal: Record, what: Happened, subject: str) -> RunMoment:
    return next(each for each in rehearsal.moments if each.what is what and each.subject == subject)


BUDGET = (a_budget_doc(allowed=1, healthy=2),)


@pytest.mark.parametrize("budgets", [BUDGET, ()])
@pytest.mark.parametrize("answer", [OVER_BUDGET, DENIED])
def test_who_is_refused_for_ever_is_given_up(answer: ApiStatus, budgets: tuple[Doc, ...]) -> None:
    stage = refusing(answer, *budgets)
    _, rehearsal = rehearse(stage, BLUE, ONE_BY_ONE, limits=LIMITS)
    kept = first(rehearsal, Happened.KEPT, "default/web-0")
    assert 600 <= kept.at_s <= 800 and "for 10m00s" in kept.why
    assert len(stage.asked_s) >= 5, "it was tried again meanwhile"
    assert rehearsal.undone == {"old-0": ("default/web-0",)}
    assert first(rehearsal, Happened.DONE, "old-1")


@pytest.mark.parametrize("budgets", [BUDGET, ()])
def test_who_is_let_go_in_time_is_not(budgets: tuple[Doc, ...]) -> None:
    stage = refusing(OVER_BUDGET, *budgets)
    stage.until_s = 500.0
    _, rehearsal = rehearse(stage, BLUE, ONE_BY_ONE, limits=LIMITS)
    assert not rehearsal.undone and len(stage.asked_s) <= 10, "it is no more than asked once a minute"


def test_while_it_is_paused_nobodys_patience_ends() -> None:
    stage = refusing(DENIED)
    engine = begun(stage, ONE_BY_ONE, LIMITS)
    steps(stage, engine, 300)
    engine.pause("the user paused it")
    steps(stage, engine, 2300)
    assert not [each for each in engine.moments if each.what is Happened.KEPT]
    engine.pause("")
    steps(stage, engine, 10_000)
    (kept,) = (each for each in engine.moments if each.what is Happened.KEPT)
    assert 2550 <= kept.at_s <= 2700, "what had passed before counts"


def stuck(finalizers: list[str]) -> EmbeddedStage:
    docs = [*web(2, 2), *(a_node_doc(f"new-{i}") for i in range(2))]
    docs = [
        with_value(doc, ("metadata", "finalizers"), finalizers) if doc["metadata"]["name"] == "web-0" else doc
        for doc in docs
    ]
    return made(*docs)[1]


def test_after_a_pod_that_never_stops_the_next_wave_begins() -> None:
    _, rehearsal = rehearse(stuck(["example.io/hold"]), BLUE, ONE_BY_ONE, limits=LIMITS)
    (warned,) = (each for each in rehearsal.moments if each.what is Happened.WARNED)
    asked = first(rehearsal, Happened.EVICTED, "default/web-0")
    kept = first(rehearsal, Happened.KEPT, "default/web-0")
    alone = first(rehearsal, Happened.LEFT_ALONE, "old-0")
    assert (warned.subject, warned.node) == ("default/web-0", "old-0")
    assert 90 <= warned.at_s - asked.at_s <= 95 and kept.at_s == alone.at_s == warned.at_s + 600
    assert (
        warned.why == "has been stopping for 1m30s, 1m00s longer than its grace period: the finalizer "
        "example.io/hold holds it"
    )
    assert "has been stopping for 11m" in kept.why and kept.why in alone.why
    assert first(rehearsal, Happened.BEGUN, "old-1").at_s >= alone.at_s
    assert first(rehearsal, Happened.DONE, "old-1") and rehearsal.undone == {"old-0": ("default/web-0",)}
