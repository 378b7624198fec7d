"""What every application of ours has: its looks, and that it leaves the terminal as it found it."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO, Any, ClassVar, NamedTuple, cast

from textual.app import App
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Event, Key
from textual.filter import LineFilter, NoColor
from textual.message import Message
from textual.notifications import Notify
from textual.screen import ModalScreen
from textual.theme import Theme
from textual.widgets import Input, Static

from kubectl_eksdoc.report.text import Look, shown

from .paint import PaintedScreen

# The terminal that the screens are in, which may go away under them: Textual by itself would wait for it for ever, and
# a run would go on that nobody sees.


SWITCH_S = 0.0005
"""A thread that plans gives way so soon to the one that draws. With Python's own, ten times that, a key that comes
while a plan is made waits 5 ms for each step of its handling."""


class TerminalDriver(LinuxDriver):
    """What is written after nobody holds the other end any more is written to nothing."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        output: Any = Output(cast("IO[str]", self._file))
        self._file = output
        self._posting: list[Future[bool]] = []  # keys that are on their way to the app

    def start_application_mode(self) -> None:
        """From here on somebody must tidy up: whoever is told to stop is heard before the terminal is touched."""
        hear = getattr(self._app, "hear_signals", None)
        if hear is not None:
            hear()
        sys.setswitchinterval(SWITCH_S)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def send_message(self, message: Message) -> None:
        """In the thread that reads keys."""
        while self._waiting >= MOST_WAITING and not self.exit_event.wait(ROOM_S):
            pass
        self._posting.append(asyncio.run_coroutine_threadsafe(self._app._post_message(message), self._loop))

    @property
    def _waiting(self) -> int:
        self._posting = [each for each in self._posting if not each.done()]
        return len(self._posting) + self._app.message_queue_size

    @property
    def is_left(self) -> bool:
        """Whether nobody holds the other end: not everybody whose terminal goes away is told so by a signal."""
        if not hasattr(select, "poll"):
            return False
        asked = select.poll()
        asked.register(self.fileno, 0)  # what goes wrong is told unasked
        return any(told & (select.POLLHUP | select.POLLERR) for _, told in asked.poll(0))


class Output:
    """The stream of a terminal. It never fails: the thread that writes would end, and whoever writes wait for it."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        try:
            return self._file.write(text)
        except OSError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            self._drop()

    def isatty(self) -> bool:
        return self._file.isatty()

    def fileno(self) -> int:
        return self._file.fileno()

    def _drop(self) -> None:
        """From now on it leads nowhere."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._file.fileno())
        os.close(nowhere)


# Colours: a dark and a light theme, measured for colour blindness.
#
# Distances between the four status colours (CIE76 after Machado 2009): at least 45 for each of deuteranopia, protanopia
# and tritanopia on the dark ground, 34 on the light one. A colour never says anything alone: beside it stand sign and
# word.


DARK, LIGHT = "eksdoc-dark", "eksdoc-light"

BY_WORD = {"dark": DARK, "light": LIGHT}
"""As $EKSDOC_THEME and ``:theme`` call them."""


def _theme(name: str, dark: bool, ground: str, text: str, status: Mapping[str, str]) -> Theme:
    return Theme(
        name=name,
        primary=status["good"],
        foreground=text,
        background=ground,
        surface=ground,
        panel=ground,
        dark=dark,
        variables={f"st-{word}": colour for word, colour in status.items()},
    )


DARK_THEME = _theme(
    DARK,
    True,
    "#101418",
    "#E6EAF0",
    {
        "good": "#9BE8FF",
        "warn": "#FFE600",
        "bad": "#E8604C",
        "unknown": "#BE4DFF",
        "faint": "#8A94A6",
        "line": "#4A5566",
        "cursor": "#2A3440",
        "key": "#FFA657",
    },
)

LIGHT_THEME = _theme(
    LIGHT,
    False,
    "#FFFFFF",
    "#14181E",
    {
        "good": "#1F78A6",
        "warn": "#946C00",
        "bad": "#A00040",
        "unknown": "#7A22F0",
        "faint": "#5B6472",
        "line": "#A9B2BF",
        "cursor": "#DCE6F2",
        "key": "#9A4A00",
    },
)


# What is shown where the terminal is too small for a screen: it lies over all of them, and keys still work.


LEAST = (60, 16)
"""Columns and rows that a page needs."""


def too_small(columns: int, rows: int) -> bool:
    return columns < LEAST[0] or rows < LEAST[1]


def lines(columns: int, rows: int, run: Sequence[str] = ()) -> list[str]:
    """As many as fit into `rows`. `run`: what must be seen of a run that is under way, and its keys."""
    told = [f"eksdoc needs {LEAST[0]}x{LEAST[1]} (now {columns}x{rows})", *run]
    told = told if run else [*told, "q quit"]
    spaced = [line for each in told for line in ("", each)]
    return spaced if len(spaced) <= rows else told[: max(rows, 1)]


class TooSmall(Static):
    """The message, over whatever screen it is mounted on."""


SCREENS_CSS = Path(__file__).with_name("screens.tcss")
"""The styles of whatever comes after the first paint, for the screen over which all others lie."""

ROOMY = 100
"""Columns in which a dialog and what is told for a moment have room beside each other, mostly."""

LOOK_S = 1.0
"""So often it is looked whether the terminal is still there."""


COPIED = "copied"
"""What is told of everything that is copied begins with it."""

PAINT_S = 0.03
"""So long keys are handled before what they did is painted: the next one waits for it."""

ROOM_S = 0.002
"""So often it is looked whether the app has room for another key."""

MOST_WAITING = 8
"""So many keys wait in the app, all others in the terminal: to take over hundreds at once would hold up painting."""


class LastKey(NamedTuple):
    """The `number`-th key, pressed at `at_s` of the events' own clock, `after_s` behind the one before."""

    number: int = 0
    at_s: float = 0.0
    after_s: float = 0.0


_NO_COLOUR = (NoColor(),)  # one: lines that went through it are kept by it


class _Stylesheet(Stylesheet):
    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        """Textual sets all forty again when one or two differ, as they do where the focus moves."""
        base = node.styles.base
        for name in base._rules.keys() | rules.keys():
            value = rules.get(name)
            if value != base._rules.get(name):
                setattr(base, name, value)
        node.notify_style_update()


class FramedApp(App[int]):
    """`only_ascii`: no other sign is drawn; `plain`: no colour is."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = []
    CSS_PATH = Path(__file__).with_name("first.tcss")  # what else is parsed before the first paint is waited for

    def __init__(self, *, ascii: bool, plain: bool, light: bool) -> None:
        super().__init__()
        self.only_ascii = ascii
        self.is_leaving = False  # widgets go one by one then
        self._plain = plain
        self._painted = 0.0
        self._holds = False
        self.last_key = LastKey()
        for theme in (DARK_THEME, LIGHT_THEME):
            self.register_theme(theme)
        if light:
            self.theme = LIGHT
        else:  # Textual's own is dark, too; the usual way would parse all styles twice before the first paint
            self.set_reactive(FramedApp.theme, DARK)
        self.stylesheet = _Stylesheet(variables=self.get_css_variables())
        self.set_class(plain, "-plain")
        self.set_class(ascii, "-ascii")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Where no colours are wanted there are none: by itself Textual makes them greys."""
        return _NO_COLOUR if self._plain else super().get_line_filters()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """For Textual's own themes, which do not know them."""
        return dict(DARK_THEME.variables)

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        if usual.__name__ != "LinuxDriver":  # of macOS, too; not of Windows
            return usual
        return TerminalDriver

    async def on_event(self, event: Event) -> None:
        """Keys that come faster than they are handled are handled one after the other; now and then the screen is
        painted in between, so that one sees where one is."""
        if isinstance(event, Key) and not event.is_forwarded:
            number, at_s, _ = self.last_key
            self.last_key = LastKey(number + 1, event.time, event.time - at_s)
        if not (isinstance(event, Key) and await self._acts(event)):
            await super().on_event(event)
        if isinstance(event, Key) and self.message_queue_size:
            if monotonic() - self._painted > PAINT_S:
                self._hold(False)
                await self._waits_for(self.screen.call_after_refresh)
                self._painted = monotonic()
            self._hold(self.message_queue_size > 0)

    def on_idle(self) -> None:
        """It is painted as soon as there is nothing else to do."""
        self._hold(False)
        self._painted = monotonic()

    def _hold(self, on: bool) -> None:
        """Nothing is painted while it is `on`."""
        if on and not self._holds:
            self._begin_batch()
        elif self._holds and not on:
            self._end_batch()
            self.screen.check_idle()
        self._holds = on

    async def _acts(self, key: Key) -> bool:
        """Whether the key did what it is bound to, before the next key is taken. Textual by itself sends a key through
        the widgets around the focus first: the next key may follow it to a screen that the first one closes, and is
        lost there. In a line that is typed, letters go that way, and backspace and enter wait for those before them."""
        field = self.focused
        if key.is_forwarded:
            return False
        self.app_focus = True
        if isinstance(field, Input):
            if key.is_printable:
                return False
            await self._waits_for(field.call_later)
        elif isinstance(self.screen, PaintedScreen) and self.screen.takes(key.key):
            return True
        return await self._check_bindings(key.key, priority=True) or await self._check_bindings(key.key)

    async def _on_key(self, event: Key) -> None:
        """What a key is bound to was done when it was pressed (`_acts`): by now the next key may have opened another
        screen, for which this one was not meant."""
        event.prevent_default()

    async def _waits_for(self, call: Callable[[Callable[[], None]], object]) -> None:
        done = asyncio.Event()
        call(done.set)
        with suppress(asyncio.TimeoutError):  # what is being closed calls nothing any more
            await asyncio.wait_for(done.wait(), PAINT_S)

    def hear_signals(self) -> None:
        """Without this the terminal is left as it is: alternate screen, no cursor, no echo. In the event loop."""
        try:
            loop = asyncio.get_running_loop()
            for name in ("SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                if number is not None:
                    loop.add_signal_handler(number, self.exit, 128 + number)
        except (NotImplementedError, RuntimeError, ValueError):
            pass  # no such signals here, or not in the main thread

    def leave_when_left(self) -> None:
        """That the terminal is not there any more is as if one was told to stop."""
        self.set_interval(LOOK_S, self._leave_when_left)

    def _leave_when_left(self) -> None:
        if getattr(self._driver, "is_left", False):
            self.exit(128 + signal.SIGHUP)

    def on_notify(self, event: Notify) -> None:
        """Before Textual shows it: what is told once more, or copied after something else, takes the place of what was
        told, and does not pile up over what is read."""
        message = event.notification.message
        for told in list(self._notifications):
            if told.message == message or (told.message.startswith(COPIED) and message.startswith(COPIED)):
                self._unnotify(told, refresh=False)

    def exit(self, *args: Any, **more: Any) -> None:
        self.is_leaving = True
        super().exit(*args, **more)

    async def action_quit(self) -> None:
        self.exit(0)

    def action_help_quit(self) -> None:
        """Ctrl-C."""
        self.run_worker(self.action_quit())

    def push_screen(self, *args: Any, **more: Any) -> Any:
        if args and isinstance(args[0], ModalScreen) and self.size.width < ROOMY:
            self.clear_notifications()  # they would lie over what is asked
        pushed = super().push_screen(*args, **more)
        self.call_later(self.fit)
        return pushed

    def on_resize(self) -> None:
        self.call_later(self.fit)  # when its size is known here, too

    def fit(self) -> None:
        """Where there is no room for a screen, a message lies over it; keys go where they went."""
        columns, rows = self.size
        small = too_small(columns, rows)
        for screen in self.screen_stack:
            covers = screen.query(TooSmall)
            if not small:
                covers.remove()
                continue
            look = Look(ascii=self.only_ascii)
            told = lines(columns, rows, [shown(line, look) for line in self.run_in_short()])
            said = "\n".join(told).replace("[", r"\[")
            for cover in covers:
                cover.update(said)
            if not covers and screen.is_mounted:
                screen.mount(TooSmall(said))

    def run_in_short(self) -> list[str]:
        """What must be seen of a run that is under way where there is no room for its screen, and its keys."""
        return []
