"""The end of a run: it waits for the last replacements, for pods whose eviction is always refused, and for pods that
never stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.journal import replay_journals
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.loop import DrainRunEnd, RunRequest, RunRequestState
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.progress import Reason
from kubectl_eksdoc.drain.run.result import Record
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, StatusCause, StatusDetails
from kubectl_eksdoc.kubernetes.updates import RequestAnswered, RunUpdate
from kubectl_eksdoc.model.actions import ClusterAction, Evict
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.nodes import SCALE_DOWN_PROTECTIONS
from kubectl_eksdoc.rehearse.rehearsal import rehearse
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.drain.fields import KeptJournal, StageField, a_drain, begun_journal
from tests.drain.run_loop.test_draining import Heard, having
from tests.drain.stages import BLUE, ONE_BY_ONE, begun, made, steps, web
from tests.simulator.control_planes import Steady, a_budget_doc, a_node_doc

NEVER = 1e7


class Said(Heard):
    """Events as in `Heard`. `why`: the reasons that were reported, with their times."""

    def __init__(self) -> None:
        super().__init__()
        self.why: list[tuple[float, float, list[Reason]]] = []


def ended(
    start_s: float,
    limits: RunLimits = RunLimits(),
    budget: bool = False,
    wish: Callable[[Said, float], RunRequestState] | None = None,
    docs: Sequence[Doc] = tuple(web(2, 2)),
) -> tuple[ControlPlane, DrainRunEnd, Said, KeptJournal]:
    """Empty two nodes with one pod each; the pods move to two new nodes."""
    plane, stage = made(*docs, a_node_doc("new-0"), a_node_doc("new-1"), *([a_budget_doc()] if budget else []))
    cluster, plan = plan_drain(stage, BLUE, DrainPolicy())
    stage.start(Steady(start=start_s, stop=2.0))
    journal, said = KeptJournal(), Said()

    def explain(reasons: Sequence[Reason], for_s: float) -> None:
        said.why.append((stage.seconds, for_s, list(reasons)))

    engine, scribe = Engine(plan, ObservedState(cluster), limits), begun_journal(journal, plan)
    wished = said.wish if wish is None else lambda: wish(said, stage.seconds)
    made_of = a_drain(engine, StageField(stage, journal), said.listen, scribe, read_request=wished, explain=explain)
    return plane, made_of.run(), said, journal


def at(said: Said, what: DrainEventKind) -> list[float]:
    return [moment.at_s for moment in said.moments if moment.what is what]


def test_it_ends_when_the_last_replacement_is_ready_and_keeps_its_node_until_then() -> None:
    _, run, said, journal = ended(90.0)
    record = run.record
    assert run.is_complete and (record.coming, record.pending, record.unready) == ((), (), ())
    assert record.drain_s == max(at(said, DrainEventKind.DONE)) < 30
    assert 90 < record.ended_s < 110 and min(at(said, DrainEventKind.UNPROTECTED)) > 90
    assert replay_journals(journal.read()).ended == "done"


def test_it_does_not_wait_where_nobody_wants_it() -> None:
    _, run, said, _ = ended(90.0, RunLimits(ready_s=0.0))
    assert run.is_complete and run.record.ended_s == run.record.drain_s == max(at(said, DrainEventKind.DONE))
    assert len(run.record.coming) == 2 and run.record.unready == (), "nobody waited for them"


def test_what_was_not_ready_before_is_not_waited_for_long() -> None:
    """Both pods crash before the drain and after it."""
    ill = {"conditions": [{"type": "Ready", "status": "False"}]}
    docs = [doc | {"status": doc["status"] | ill} if doc["kind"] == "Pod" else doc for doc in web(2, 2)]
    _, run, _, _ = ended(NEVER, docs=docs)
    assert run.is_complete and run.record.ready_s == 60 and len(run.record.unready) == 2


def test_those_that_are_never_ready_are_named() -> None:
    plane, run, said, journal = ended(NEVER)
    record = run.record
    assert run.is_complete and 600 <= record.ready_s < 602
    assert len(record.unready) == 2 and all(name.startswith("default/web-") for name in record.unready)
    assert (
        having(plane, "annotations", *SCALE_DOWN_PROTECTIONS) == [] and replay_journals(journal.read()).ended == "done"
    )
    assert not at(said, DrainEventKind.STOPPED)


@pytest.mark.parametrize("wish", [RunRequest.STOP, RunRequest.LEAVE])
def test_the_user_may_end_the_wait(wish: RunRequest) -> None:
    def wished(said: Said, now_s: float) -> RunRequestState:
        return RunRequestState(wish if now_s > 60 else RunRequest.RESUME)

    plane, run, _, _ = ended(NEVER, wish=wished)
    assert 60 < run.record.ended_s < 63
    if wish is RunRequest.STOP:
        assert run.is_complete and having(plane, "annotations", *SCALE_DOWN_PROTECTIONS) == []
    else:
        assert run.stop_reason == "the user stopped it", "to be gone on with: its nodes are still kept"


def test_it_says_every_minute_what_it_waits_for() -> None:
    _, run, said, _ = ended(200.0, budget=True)
    assert run.is_complete
    times = [at_s for at_s, _, _ in said.why]
    assert len(times) >= 5 and all(60 <= later - sooner < 80 for sooner, later in pairwise(times[:3]))
    _, for_s, (first, *_) = said.why[0]
    assert 60 <= for_s < 63 and first.for_s is not None and for_s < first.for_s < for_s + 20
    assert first.subject == "default/web-1 on old-1"
    assert first.reason.startswith(
        "budget default/web allows no eviction: 1 healthy, 1 needed; replacement default/web-"
    ), first.reason
    assert " on new-" in first.reason and "is not Ready (" in first.reason
    assert first.typical.startswith("usually Ready ") and first.remedy.startswith("kubectl describe pod web-")
    _, _, last = said.why[-1]
    assert [each.reason.partition(" default/")[0] for each in last] == ["replacement"], "of the last pod, at the end"


LIMITS = RunLimits(blocked_s=600)

OVER_BUDGET = ApiStatus(
    429,
    "TooManyRequests",
    "Cannot evict pod as it would violate the pod's disruption budget.",
    StatusDetails(
        causes=(StatusCause("DisruptionBudget", "The disruption budget web needs 2 healthy pods and has 2 currently"),)
    ),
)
DENIED = ApiStatus(403, "Forbidden", 'admission webhook "w" denied the request: not now')


class Refusing(SimulatedStage):
    """Every eviction of default/web-0 gets this answer until `until_s`."""

    answer = OVER_BUDGET
    until_s = float("inf")
    asked_s: tuple[float, ...] = ()

    def do(self, act: ClusterAction) -> RunUpdate:
        if isinstance(act, Evict) and act.pod.key == "default/web-0" and self.seconds < self.until_s:
            self.asked_s += (self.seconds,)
            return RequestAnswered(act, self.answer)
        return super().do(act)


def refusing(answer: ApiStatus, *docs: Doc) -> Refusing:
    plane, stage = made(*web(2, 2), *(a_node_doc(f"new-{i}") for i in range(2)), *docs)
    found = Refusing(plane, stage._observed)
    found.answer = answer
    return found


def first(rehearsal: Record, what: DrainEventKind, subject: str) -> DrainEvent:
    return next(each for each in rehearsal.moments if each.what is what and each.subject == subject)


BUDGET = (a_budget_doc(allowed=1, healthy=2),)


@pytest.mark.parametrize("budgets", [BUDGET, ()])
@pytest.mark.parametrize("answer", [OVER_BUDGET, DENIED])
def test_who_is_refused_for_ever_is_given_up(answer: ApiStatus, budgets: tuple[Doc, ...]) -> None:
    stage = refusing(answer, *budgets)
    _, rehearsal = rehearse(stage, BLUE, ONE_BY_ONE, limits=LIMITS)
    kept = first(rehearsal, DrainEventKind.KEPT, "default/web-0")
    assert 600 <= kept.at_s <= 800 and "for 10m00s" in kept.why
    assert len(stage.asked_s) >= 5, "it was tried again meanwhile"
    assert rehearsal.undone == {"old-0": ("default/web-0",)}
    assert first(rehearsal, DrainEventKind.DONE, "old-1")


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
    assert not [each for each in engine.events if each.what is DrainEventKind.KEPT]
    engine.pause("")
    steps(stage, engine, 10_000)
    (kept,) = (each for each in engine.events if each.what is DrainEventKind.KEPT)
    assert 2550 <= kept.at_s <= 2700, "what had passed before counts"


def stuck(finalizers: list[str]) -> SimulatedStage:
    docs = [*web(2, 2), *(a_node_doc(f"new-{i}") for i in range(2))]
    docs = [
        with_value(doc, ("metadata", "finalizers"), finalizers) if doc["metadata"]["name"] == "web-0" else doc
        for doc in docs
    ]
    return made(*docs)[1]


def test_after_a_pod_that_never_stops_the_next_wave_begins() -> None:
    _, rehearsal = rehearse(stuck(["example.io/hold"]), BLUE, ONE_BY_ONE, limits=LIMITS)
    (warned,) = (each for each in rehearsal.moments if each.what is DrainEventKind.WARNED)
    asked = first(rehearsal, DrainEventKind.EVICTED, "default/web-0")
    kept = first(rehearsal, DrainEventKind.KEPT, "default/web-0")
    alone = first(rehearsal, DrainEventKind.LEFT_ALONE, "old-0")
    assert (warned.subject, warned.node) == ("default/web-0", "old-0")
    assert 90 <= warned.at_s - asked.at_s <= 95 and kept.at_s == alone.at_s == warned.at_s + 600
    assert (
        warned.why == "has been stopping for 1m30s, 1m00s longer than its grace period: the finalizer "
        "example.io/hold holds it"
    )
    assert "has been stopping for 11m" in kept.why and kept.why in alone.why
    assert first(rehearsal, DrainEventKind.BEGUN, "old-1").at_s >= alone.at_s
    assert first(rehearsal, DrainEventKind.DONE, "old-1") and rehearsal.undone == {"old-0": ("default/web-0",)}
