"""Screens of runs under a pilot: a run is started by keys or is already active; tests read the text line by line."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from textual.events import Paste

from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.tui.app import EksdocApp
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.opening import Progress
from kubectl_eksdoc.tui.run.pages import KEY_ISOLATION_S
from kubectl_eksdoc.tui.run.screen import RunScreen
from kubectl_eksdoc.tui.run.state import RunState
from tests.builders import a_cluster, a_node
from tests.tui.pilots import (
    NARROW,
    WIDE,
    Drives,
    a_demo,
    as_first,
    forget_run,
    lines,
    main_screen,
    planned,
    with_opening,
)
from tests.tui.run.scripted import NAME, ScriptedDesk, ScriptedLive
from tests.tui.shared import SharedApp, with_shared
from tests.tui.typing_pilot import event_of

SOON_S = 10.0
_TICK_S = 0.02


class Show:
    """The app and its visible text. Keys change it. Mutable."""

    def __init__(self, pilot: Drives, desk: ScriptedDesk) -> None:
        self.pilot = pilot
        self.desk = desk
        self.app: EksdocApp = pilot.app  # type: ignore[assignment]
        self._later_s = 0.0

    @property
    def text(self) -> str:
        return "\n".join(lines(self.app))

    @property
    def stack(self) -> list[str]:
        """The screens by their kind; the visible one is the last."""
        return [type(screen).__name__ for screen in self.app.screen_stack[1:]]

    @property
    def top(self) -> str:
        return self.stack[-1]

    @property
    def told(self) -> list[str]:
        """The notifications, the latest last."""
        return [notification.message for notification in self.app._notifications]

    @property
    def state(self) -> RunState:
        state = self.app.followed_run.state
        assert state is not None, "a run was begun"
        return state

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
        await self.pilot.pause()

    async def chooses(self, *keys: str) -> None:
        """Press keys in a menu of a run, one by one: by the clock of the events each comes long after the previous key
        and the menu's first paint, however slow the machine is."""
        for key in keys:
            self._later_s += 60.0
            self.types_at_once([key], self._later_s)
            await self.pilot.pause(1.5 * KEY_ISOLATION_S)

    def types_at_once(self, keys: Iterable[str], later_s: float = 0.0) -> None:
        """Press keys that follow each other immediately by the clock of the events, `later_s` later than now."""
        for event in map(event_of, keys):
            event.time += later_s
            self.app.post_message(event)

    async def types(self, text: str) -> None:
        """Type into the focused field; all characters but the last are pasted, because keys are slow under a pilot."""
        if len(text) > 1:
            self.app.screen.post_message(Paste(text[:-1]))
            await self.pilot.pause()
        await self.press(*_keys(text[-1:]))

    async def until(self, holds: Callable[[], object]) -> None:
        for _ in range(int(SOON_S / _TICK_S)):
            if holds():
                await self.pilot.pause()
                return
            await self.pilot.pause(_TICK_S)
        raise AssertionError(f"it never was so:\n{self.text}")

    async def sees(self, text: str) -> None:
        await self.until(lambda: text in self.text)

    async def looks(self) -> None:
        """Poll the news of the run now."""
        self.app.followed_run._poll()
        await self.pilot.pause()


def _keys(text: str) -> list[str]:
    names = {" ": "space", "-": "minus", "/": "slash", ".": "full_stop", "_": "underscore"}
    return [names.get(sign, sign) for sign in text]


Played = Callable[[Show], Coroutine[Any, Any, None]]


def play(played: Played, desk: ScriptedDesk | None = None, size: tuple[int, int] = WIDE, **opening: Any) -> EksdocApp:
    """Call `played` once the marked nodes are planned; the run controller `desk` starts runs. If `opening` has nothing
    but `ascii`, the app is shared with earlier tests and was reset to its first state."""
    return _played(played, desk or ScriptedDesk(), size, "demo", opening)


def play_run(
    played: Played,
    live: ScriptedLive | None = None,
    desk: ScriptedDesk | None = None,
    size: tuple[int, int] = WIDE,
    **opening: Any,
) -> EksdocApp:
    """Call `played` while a run is active and visible; below it is the plan of a cluster with one node, unless another
    cluster is read."""

    async def begun(show: Show) -> None:
        followed = live or ScriptedLive()
        show.desk.begun.append(followed)
        show.app.followed_run.follow(followed, NAME)
        await show.until(lambda: isinstance(show.app.screen, RunScreen) and show.app.screen.is_mounted)
        await show.looks()
        await played(show)

    return _played(begun, desk or ScriptedDesk(), size, "one node", opening)


def _played(
    played: Played, desk: ScriptedDesk, size: tuple[int, int], cluster: str, opening: dict[str, Any]
) -> EksdocApp:
    more = {**_CLUSTERS[cluster], **opening}
    if size in (WIDE, NARROW) and opening.keys() <= {"ascii"}:
        shared = partial(_shared, size, more)
        return with_shared((cluster, size, more.get("ascii", False)), shared, partial(_at_the_desk, played, desk))

    async def work(pilot: Drives) -> None:
        await planned(pilot)
        await played(Show(pilot, desk))

    return with_opening(a_demo(run_controller=None if "read_only_reason" in opening else desk, **more), size, work)


class _Lent:
    """The run controller of the shared app: it forwards to that of the current test. Mutable."""

    desk = ScriptedDesk()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.desk, name)


async def _at_the_desk(played: Played, desk: ScriptedDesk, pilot: Drives) -> None:
    lent: Any = pilot.app.opening.run_controller  # type: ignore[attr-defined]
    lent.desk = desk
    await played(Show(pilot, desk))


def _shared(size: tuple[int, int], opening: dict[str, Any]) -> SharedApp[EksdocApp]:
    app = EksdocApp(a_demo(run_controller=_Lent(), **opening))
    first: list[Model] = []

    async def begin(pilot: Drives) -> None:
        await planned(pilot)
        first.append(main_screen(app).model)

    async def reset(pilot: Drives) -> None:
        forget_run(app)
        await as_first(pilot, size, first[0])

    return SharedApp(app, size, begin, reset)


def _read_one_node(progress: Progress) -> Cluster:
    return a_cluster(nodes=[a_node("blue-1")])


_CLUSTERS: dict[str, dict[str, Any]] = {
    "demo": {},
    "one node": {"read": _read_one_node, "targeting": Targeting()},
}
