"""A run in a thread of this process accepts requests (pause, stop) from the local user and from other machines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timezone

from kubectl_eksdoc.drain.command.live_run import LiveRun, OpenDisplay, RunDisplay
from kubectl_eksdoc.drain.command.screen_ports import RunKind, RunSummaryView
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.loop import RunRequest
from kubectl_eksdoc.errors import LockLost
from kubectl_eksdoc.model.journal import RunPhase
from tests.cli.processes import until
from tests.rehearsed import rehearsed_demo

BEGAN = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)
LONGEST_S = 20.0
OTHERS = "ben@elsewhere"

STEPS = rehearsed_demo().steps


class Others:
    """Requests from other machines, as the run's journal shows them, and the answers that they received. Mutable."""

    def __init__(self) -> None:
        self.asked = ("", "")
        self.overruled: list[RunRequest] = []

    def ask(self, phase: RunPhase, who: str = OTHERS) -> None:
        self.asked = (phase.value, who)

    def overrule(self) -> None:
        self.overruled.append(RunRequest.RESUME)
        self.ask(RunPhase.RUNNING, "ann@here")


class Carried:
    """A run that advances step by step when the test says so. Mutable."""

    def __init__(self, others: Others | None = None) -> None:
        self.others = others or Others()
        self.face: RunDisplay | None = None
        self._open, self._end = threading.Event(), threading.Event()
        self._outcome: Callable[[], RunSummaryView] = lambda: RunSummaryView("done")
        self.live = LiveRun("r1", RunKind.DRAIN, None, BEGAN, self._carry, self.others.overrule)

    def __enter__(self) -> Carried:
        self.live.start()
        assert self._open.wait(LONGEST_S)
        return self

    def __exit__(self, *of: object) -> None:
        self.end()

    @property
    def wishes(self) -> RunDisplay:
        assert self.face is not None, "it is open"
        return self.face

    def end(self, outcome: Callable[[], RunSummaryView] | None = None) -> None:
        self._outcome = outcome or self._outcome
        self._end.set()
        self.live.wait(LONGEST_S)

    def _carry(self, face_of: OpenDisplay) -> RunSummaryView:
        with face_of(lambda: 0, lambda: self.others.asked) as self.face:
            self._open.set()
            assert self._end.wait(LONGEST_S)
        return self._outcome()


def test_all_that_happens_arrives_once_and_in_its_order() -> None:
    told = [DrainEvent(float(at), DrainEventKind.GONE, f"pod-{at}") for at in range(5000)]

    def carry(face_of: OpenDisplay) -> RunSummaryView:
        with face_of(lambda: 0, lambda: ("", "")) as face:
            for at in range(0, len(told), 7):
                face.listen(told[at : at + 7])
                face.show(STEPS[min(at, len(STEPS) - 1)].standing)
        return RunSummaryView("done")

    live = LiveRun("r1", RunKind.DRAIN, None, BEGAN, carry)
    live.start()
    seen: list[DrainEvent] = []
    while (update := live.take_update()).outcome is None:
        seen += update.events
    seen += [*update.events, *live.take_update().events]
    assert seen == told
    assert live.take_update().progress is STEPS[-1].standing and live.take_update().events == []
    live.wait(LONGEST_S)
    assert live.has_ended


def test_paused_elsewhere_and_gone_on_with_here_others_are_told() -> None:
    with Carried() as run:
        run.others.ask(RunPhase.PAUSED)
        assert run.wishes.current_request().request is RunRequest.PAUSE
        run.live.submit(RunRequest.RESUME)
        assert run.wishes.current_request().request is RunRequest.RESUME, "at once, whatever others hear"
        until(lambda: run.others.overruled)
        assert (
            run.wishes.current_request().request is RunRequest.RESUME and run.others.asked[0] == RunPhase.RUNNING.value
        )
        run.others.ask(RunPhase.PAUSED)
        assert run.wishes.current_request().request is RunRequest.PAUSE, "once more from elsewhere"


def test_what_is_wished_here_after_others_were_told_is_not_taken_for_theirs() -> None:
    """This machine overrules a request of another machine by a request of its own, which it reads back later."""
    others = Others()
    others.overrule = lambda: others.overruled.append(RunRequest.RESUME)  # type: ignore[method-assign]
    with Carried(others) as run:
        others.ask(RunPhase.PAUSED)
        assert run.wishes.current_request().request is RunRequest.PAUSE
        run.live.submit(RunRequest.RESUME)
        until(lambda: others.overruled)
        run.live.submit(RunRequest.PAUSE)
        assert run.wishes.current_request().request is RunRequest.PAUSE
        others.ask(RunPhase.RUNNING, "ann@here")  # only now it is heard
        assert run.wishes.current_request().request is RunRequest.PAUSE
        others.ask(RunPhase.PAUSED)
        assert run.wishes.current_request().request is RunRequest.PAUSE
        others.ask(RunPhase.RUNNING)
        assert run.wishes.current_request().request is RunRequest.RESUME, "this time it is theirs"


def test_what_is_stopped_here_is_not_begun_anew_from_elsewhere() -> None:
    with Carried() as run:
        for wish in (RunRequest.STOP, RunRequest.LEAVE):
            run.live.submit(wish)
            for phase in (RunPhase.PAUSED, RunPhase.RUNNING):
                run.others.ask(phase)
                assert run.wishes.current_request().request is wish


def test_paused_here_and_gone_on_with_elsewhere_it_goes_on() -> None:
    with Carried() as run:
        run.live.submit(RunRequest.PAUSE)
        assert run.wishes.current_request().request is RunRequest.PAUSE
        run.others.ask(RunPhase.RUNNING)
        assert run.wishes.current_request().request is RunRequest.RESUME
        run.live.submit(RunRequest.PAUSE)
        assert run.wishes.current_request().request is RunRequest.PAUSE, "what others asked for before is old"
        assert run.others.overruled == []


def test_nodes_that_are_left_alone_stay_so_whatever_is_wished() -> None:
    with Carried() as run:
        run.live.leave_alone("blue-1")
        assert run.wishes.current_request().nodes_left_alone == {"blue-1"}
        run.live.leave_alone("blue-2")
        run.live.submit(RunRequest.PAUSE)
        assert run.wishes.current_request().nodes_left_alone == {"blue-1", "blue-2"}
        run.others.ask(RunPhase.ABORTED)
        assert run.wishes.current_request().nodes_left_alone == {"blue-1", "blue-2"}


def test_an_error_and_a_bug_become_what_came_of_it() -> None:
    def lost() -> RunSummaryView:
        raise LockLost("somebody else holds the lock", "Go on: drain resume r1\nor take it back")

    def wrong() -> RunSummaryView:
        raise ZeroDivisionError("[red]")

    with Carried() as run:
        run.end(lost)
        more = ("Go on: drain resume r1", "or take it back")
        assert run.live.take_update().outcome == RunSummaryView("somebody else holds the lock", more, has_failed=True)
    with Carried() as run:
        run.end(wrong)
        outcome = run.live.take_update().outcome
        assert (
            outcome is not None
            and outcome.has_failed
            and "please report it: ZeroDivisionError('[red]')" in outcome.summary
        )


def test_its_thread_outlives_whoever_looks() -> None:
    """The thread is no daemon: a daemon thread could be killed in the middle of a change to the cluster."""
    with Carried() as run:
        assert [thread.daemon for thread in threading.enumerate() if thread.name == "run r1"] == [False]
        assert not run.live.has_ended
