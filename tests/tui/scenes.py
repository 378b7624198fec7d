"""Every screen, page, panel and dialog as a scene: a function opens it at 120x36 and hands it to the test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from textual.app import App

from kubectl_eksdoc.drain.command.screen_ports import RunKind
from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.runner import DryRunResult, _RefusedRequest
from kubectl_eksdoc.errors import Drifted, Forbidden, Unreachable
from kubectl_eksdoc.model.journal import RunSummary
from kubectl_eksdoc.tui.offline import OfflineScreen
from kubectl_eksdoc.tui.opening import Opening
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.tui.live_clusters import DEMO, LiveCluster
from tests.tui.pilots import Drives, drive, press
from tests.tui.replay.shown import EVENTS, JOURNAL, Shown, show
from tests.tui.run import test_golden as of_runs
from tests.tui.run.scripted import BEGAN, NAME, ScriptedDesk, ScriptedLive
from tests.tui.run.stage import Show, play, play_run
from tests.tui.run.test_ended_run_keys import WHY
from tests.tui.test_live import old_view, until
from tests.tui.test_pod_panel import FULL
from tests.tui.test_rights import EVICT, HIDDEN
from tests.tui.test_unguarded import BARE

See = Callable[[App[int], Drives], Awaitable[None]]
Scene = Callable[[See], object]

BLUE = Targeting(nodegroups=("blue",))

AT = "https://0123456789abcdef.gr7.eu-west-1.eks.amazonaws.com"
GONE = Unreachable(
    f"{AT} cannot be reached: no connection within 30 s",
    "Is the cluster's endpoint private? Then a VPN, a bastion or a proxy is needed to reach it.",
)

PLANS: dict[str, tuple[str, ...]] = {
    "nodes": (),
    "nothing-marked": ("m", "n"),
    "filtered": ("slash", *"spot", "enter"),
    "filtered-nothing": ("slash", *"spott"),
    "mark-menu": ("m",),
    "prompt": ("colon", "w"),
    "wide": ("ctrl+w", "l", "l"),
    "faults": ("ctrl+z",),
    "budgets": ("2", "j", "j", "j", "j"),
    "budgets-fix": ("2", "j", "j"),
    "budgets-closed": ("m", "n", "2"),
    "waves": ("3", "j", "j"),
    "waves-skipped": ("3", "G"),
    "waves-none": ("m", "n", "3"),
    "blockers": ("4", "j", "j", "j"),
    "blockers-fixed": ("4", "j", "space"),
    "blockers-allowed": ("4", "j", "j", "a"),
    "what-if": ("equals_sign", "escape", "j", "space", "J", "equals_sign"),
    "pods": ("j", "enter"),
    "pods-blocked": ("G", *("k",) * 8, "enter"),
    "pods-of-budget": ("2", "enter"),
    "knobs": ("o", "l", "j", "h"),
    "help": ("question_mark",),
    "help-search": ("question_mark", *"undo"),
    "told": ("C",),
}


def of_plan(keys: Sequence[str]) -> Scene:
    def opened(see: See) -> None:
        async def look(pilot: Drives, screen: PlanScreen) -> None:
            await press(pilot, *keys)
            await see(pilot.app, pilot)

        drive(look)

    return opened


def of_live(
    cluster: Callable[[], LiveCluster],
    *keys: str,
    until_it: Callable[[Drives, PlanScreen], bool] = lambda pilot, screen: screen.model.facts is not None,
    ready: bool = True,
    opening: Callable[[LiveCluster], Opening] = LiveCluster.opening,
) -> Scene:
    """A scene of a watched cluster, once `until_it` holds and the `keys` are pressed."""

    def opened(see: See) -> None:
        made = cluster()
        if not ready:
            made.may_answer.clear()

        async def look(pilot: Drives, screen: PlanScreen) -> None:
            await until(pilot, lambda: until_it(pilot, screen))
            for key in keys:
                if key.startswith("+"):
                    made.may_answer.clear()  # it is not read meanwhile
                    made.clock.pass_s(float(key))
                    await until(pilot, lambda: screen.model.reads.started_at is not None)
                    screen.show()
                else:
                    await pilot.press(key)
                await pilot.pause(0.05)
            await see(pilot.app, pilot)
            made.may_answer.set()

        drive(look, opening(made), ready=ready)

    return opened


def _is_offline(pilot: Drives, screen: PlanScreen) -> bool:
    return isinstance(pilot.app.screen, OfflineScreen)


def _guarded(cluster: LiveCluster) -> Opening:
    return replace(cluster.opening(), production_pattern="blue|shop", read_only_reason="EKSDOC_READ_ONLY is set")


def _left_in_the_middle(cluster: LiveCluster) -> Opening:
    return replace(cluster.opening(), production_pattern="blue|shop", run_controller=ScriptedDesk(runs=SUMMARIES))


def _has_unfinished(pilot: Drives, screen: PlanScreen) -> bool:
    return getattr(pilot.app, "has_unfinished", False) and screen.model.denied is not None


EMPTY = replace(DEMO, nodes=(), pods=(), budgets=())
NO_LIST = Forbidden(
    f"{AT} refuses list nodes", "Ask for the right:\n    kubectl auth can-i list nodes -A", "list nodes"
)
OTHERS = ("arn:aws:eks:eu-west-1:111122223333:cluster/shop", "blue", "green")
LIVES: dict[str, Scene] = {
    "live": of_live(lambda: LiveCluster(targeting=BLUE)),
    "live-guarded": of_live(lambda: LiveCluster(targeting=BLUE), opening=_guarded),
    "live-unfinished": of_live(
        lambda: LiveCluster(targeting=BLUE), until_it=_has_unfinished, opening=_left_in_the_middle
    ),
    "empty": of_live(lambda: LiveCluster([EMPTY])),
    "stale": of_live(lambda: LiveCluster([DEMO, GONE], targeting=BLUE), "ctrl+r", "+48"),
    "reading": of_live(LiveCluster, until_it=lambda pilot, screen: True, ready=False),
    "old-view": of_live(
        lambda: LiveCluster(last=old_view()),
        "j",
        "space",
        until_it=lambda pilot, screen: screen.model.is_old,
        ready=False,
    ),
    "offline": of_live(lambda: LiveCluster([GONE], last=old_view(), server=AT), until_it=_is_offline),
    "forbidden": of_live(lambda: LiveCluster([NO_LIST]), until_it=_is_offline),
    "contexts": of_live(lambda: LiveCluster([GONE], others=OTHERS), "x", until_it=_is_offline),
    "hidden": of_live(lambda: LiveCluster([HIDDEN], targeting=BLUE, denied=(EVICT,))),
    "hidden-budgets": of_live(lambda: LiveCluster([HIDDEN], targeting=BLUE, denied=(EVICT,)), "2"),
    "rights": of_live(lambda: LiveCluster([HIDDEN], targeting=BLUE, denied=(EVICT,)), "exclamation_mark"),
    "no-budgets": of_live(lambda: LiveCluster([BARE], targeting=BLUE), "2"),
    "pod-panel": of_live(lambda: LiveCluster(report=FULL), "j", "enter", "d"),
}


def of_run(happens: Callable[[Show, ScriptedLive], Awaitable[None]], *keys: str, kind: RunKind | None = None) -> Scene:
    def opened(see: See) -> None:
        live = of_runs.a_run() if kind is None else ScriptedLive(kind=kind)

        async def look(shown: Show) -> None:
            shown.state._clock = lambda: 0.0  # nothing is silent, however long it takes to draw all this
            await happens(shown, live)
            await shown.press(*keys)
            await see(shown.app, shown.pilot)

        play_run(look, live)

    return opened


async def _refused(shown: Show, live: ScriptedLive) -> None:
    await of_runs.running(shown, live)
    live.happens(DrainEventKind.REFUSED, "shop/web-1", "blue-1", WHY)
    await shown.looks()


async def _stopping(show: Show, live: ScriptedLive) -> None:
    await of_runs.running(show, live)
    await show.chooses("a", "s")


async def _held(shown: Show, live: ScriptedLive) -> None:
    await of_runs.running(shown, live)
    live.happens(DrainEventKind.HELD, why="the API server does not answer: connection refused")
    live.stands(hold_reason="the API server does not answer: connection refused", remaining_s=None)
    await shown.looks()


async def _begins(shown: Show, live: ScriptedLive) -> None:
    live.to(5.0)
    await shown.looks()


RUNS: dict[str, Scene] = {
    **{name: of_run(happens) for name, happens in of_runs.SCENES.items()},
    "run-begins": of_run(_begins),
    "run-held": of_run(_held),
    "run-stopping": of_run(_stopping),
    "run-pods": of_run(of_runs.running, "enter"),
    "run-alone": of_run(of_runs.running, "n"),
    "run-help": of_run(of_runs.running, "question_mark"),
    "run-entry": of_run(_refused, "6", "enter"),
    "run-filter": of_run(of_runs.running, "6", "slash", *"kafka"),
    "run-problems": of_run(_refused, "6", "v"),
    "run-below": of_run(of_runs.running, "1"),
    "run-giving-back": of_run(_begins, kind=RunKind.ROLLBACK),
}


def of_desk(desk: Callable[[], ScriptedDesk], sees: str, *keys: str, types: str = "") -> Scene:
    """A scene with a run controller, once it is visible."""

    def opened(see: See) -> None:
        async def look(shown: Show) -> None:
            await shown.press(*keys)
            await shown.sees(sees)
            await shown.types(types)
            await see(shown.app, shown.pilot)

        play(look, desk())

    return opened


class DryRunDesk(ScriptedDesk):
    def __init__(self, *refused: _RefusedRequest) -> None:
        super().__init__()
        self._refused = refused

    def dry_run_first_round(self, shown: DrainView) -> DryRunResult:
        return DryRunResult(14, self._refused)


FORBIDDEN = _RefusedRequest("cordon blue-3", 'nodes "blue-3" is forbidden: User "ann" cannot patch resource "nodes"')
CHANGED = Drifted("the cluster has changed since this plan was made: 7 pods are on other nodes", "Press ctrl+r, then r")
SUMMARIES = (
    RunSummary("20261120-085000-7f3a", BEGAN, "STOPPED", "ann@laptop/1", BEGAN, "3 of 5 nodes drained; ann stopped it"),
    RunSummary("20261118-080000-aaaa", BEGAN - timedelta(days=2), "ENDED", "ben@desk/1", BEGAN - timedelta(2), "done"),
)
NOTE = "another client has cordoned blue-2 40 s ago (kubectl-drain)"
DESKS: dict[str, Scene] = {
    "run-confirm": of_desk(ScriptedDesk, f"{NAME} 5", "r", types=f"{NAME} 4"),
    "confirm-notes": of_desk(lambda: ScriptedDesk(notes=(NOTE,)), NOTE[:20], "r"),
    "confirm-refused": of_desk(lambda: ScriptedDesk(refuses=CHANGED), "has changed", "r"),
    "runs": of_desk(lambda: ScriptedDesk(runs=SUMMARIES), "20261120", "L"),
    "runs-none": of_desk(ScriptedDesk, "There is no run", "L"),
    "confirm-resume": of_desk(lambda: ScriptedDesk(runs=SUMMARIES), "press enter", "L", "o"),
    "confirm-rollback": of_desk(lambda: ScriptedDesk(runs=SUMMARIES), "press enter", "L", "R"),
    "dry-run": of_desk(lambda: DryRunDesk(FORBIDDEN), "esc closes", "D"),
}


REPLAYS = {
    "journal": (JOURNAL, ("right", "right_square_bracket", "j")),
    "events": (EVENTS, ("right", "right_square_bracket", "j")),
    "end": (EVENTS, ("end",)),
    "log": (JOURNAL, ("end", "6", "v")),
    "entry": (JOURNAL, ("end", "6", "v", "g", "enter")),
}


def of_replay(page: str) -> Scene:
    def opened(see: See) -> None:
        path, keys = REPLAYS[page]

        async def look(shown: Shown) -> None:
            await shown.press(*keys)
            await see(shown.pilot.app, shown.pilot)

        show(look, path)

    return opened


SCENES: dict[str, Scene] = {
    **{name: of_plan(keys) for name, keys in PLANS.items()},
    **LIVES,
    **RUNS,
    **DESKS,
    **{f"replay-{name}": of_replay(name) for name in REPLAYS},
}
