"""Base class of the applications: appearance, key handling, and restoring the terminal."""

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

from kubectl_eksdoc.report.text import Appearance, printable

from .paint import PaintedScreen

# The terminal driver. The terminal may disappear: Textual itself would wait for it for ever, and an invisible run would
# continue.


SWITCH_INTERVAL_S = 0.0005
"""Interval after which the planning thread yields to the drawing thread. With Python's default, ten times as long, a
key pressed during planning waits 5 ms for each step of its handling."""


class TerminalDriver(LinuxDriver):
    """Output after the terminal is closed goes to the null device."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        output: Any = TerminalOutput(cast("IO[str]", self._file))
        self._file = output
        self._pending_messages: list[Future[bool]] = []  # key events on their way to the app

    def start_application_mode(self) -> None:
        """Install signal handlers before the terminal is changed: from here on it must be restored."""
        hear_signals = getattr(self._app, "hear_signals", None)
        if hear_signals is not None:
            hear_signals()
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def send_message(self, message: Message) -> None:
        """Called in the thread that reads keys."""
        while self._queued_messages >= MAX_QUEUED_KEYS and not self.exit_event.wait(QUEUE_POLL_S):
            pass
        self._pending_messages.append(asyncio.run_coroutine_threadsafe(self._app._post_message(message), self._loop))

    @property
    def _queued_messages(self) -> int:
        self._pending_messages = [each for each in self._pending_messages if not each.done()]
        return len(self._pending_messages) + self._app.message_queue_size

    @property
    def is_left(self) -> bool:
        """Whether the terminal is closed: not every closed terminal sends a signal."""
        if not hasattr(select, "poll"):
            return False
        poller = select.poll()
        poller.register(self.fileno, 0)  # errors are reported without a mask
        return any(event_mask & (select.POLLHUP | select.POLLERR) for _, event_mask in poller.poll(0))


class TerminalOutput:
    """The stream of a terminal. It never raises: otherwise the writer thread would end, and other threads would wait
    for it."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        try:
            return self._file.write(text)
        except OSError:
            self._redirect_to_null()
            return len(text)

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            self._redirect_to_null()

    def isatty(self) -> bool:
        return self._file.isatty()

    def fileno(self) -> int:
        return self._file.fileno()

    def _redirect_to_null(self) -> None:
        """Redirect all further output to the null device."""
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, self._file.fileno())
        os.close(null_device)


# Colours: a dark and a light theme, checked for colour blindness.
#
# Distances between the four status colours (CIE76 after Machado 2009): at least 45 for each of deuteranopia, protanopia
# and tritanopia on the dark background, 34 on the light one. A symbol or a word always repeats the meaning of a colour.


DARK, LIGHT = "eksdoc-dark", "eksdoc-light"

THEMES_BY_NAME = {"dark": DARK, "light": LIGHT}
"""Names in $EKSDOC_THEME and ``:theme``."""


def _theme(name: str, dark: bool, background: str, text: str, colours: Mapping[str, str]) -> Theme:
    return Theme(
        name=name,
        primary=colours["good"],
        foreground=text,
        background=background,
        surface=background,
        panel=background,
        dark=dark,
        variables={f"st-{colour_name}": colour for colour_name, colour in colours.items()},
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


# The message on a terminal that is too small: it covers all screens, and keys still work.


MIN_SIZE = (60, 16)
"""Minimum columns and rows of a page."""


def is_too_small(columns: int, rows: int) -> bool:
    return columns < MIN_SIZE[0] or rows < MIN_SIZE[1]


def too_small_lines(columns: int, rows: int, run_lines: Sequence[str] = ()) -> list[str]:
    """As many lines as fit into `rows`. `run_lines`: essential lines about an active run, and its keys."""
    message_lines = [f"eksdoc needs {MIN_SIZE[0]}x{MIN_SIZE[1]} (now {columns}x{rows})", *run_lines]
    message_lines = message_lines if run_lines else [*message_lines, "q quit"]
    spaced = [line for each in message_lines for line in ("", each)]
    return spaced if len(spaced) <= rows else message_lines[: max(rows, 1)]


class TooSmall(Static):
    """The message that covers a screen."""


SCREENS_CSS = Path(__file__).with_name("screens.tcss")
"""Styles that are loaded after the first paint, for the bottom screen of the stack."""

WIDE_COLUMNS = 100
"""From this width on, a dialog and notifications mostly fit beside each other."""

TERMINAL_POLL_S = 1.0
"""Interval for checking that the terminal still exists."""


COPIED_PREFIX = "copied"
"""Prefix of all notifications about copied text."""

MAX_PAINT_DELAY_S = 0.03
"""Keys are handled for at most this long before the screen is painted; then the next key waits for painting."""

QUEUE_POLL_S = 0.002
"""Interval for checking whether the app accepts another key."""

MAX_QUEUED_KEYS = 8
"""At most this many keys wait in the app, the others in the terminal: a queue of hundreds would delay painting."""


class LastKey(NamedTuple):
    """The `number`-th key, pressed at `at_s` of the events' clock, `after_s` after the previous key."""

    number: int = 0
    at_s: float = 0.0
    after_s: float = 0.0


_NO_COLOUR_FILTERS = (NoColor(),)  # one instance: it caches filtered lines


class _Stylesheet(Stylesheet):
    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        """Textual sets all forty rules again if one or two differ, as happens when the focus moves."""
        base = node.styles.base
        for name in base._rules.keys() | rules.keys():
            value = rules.get(name)
            if value != base._rules.get(name):
                setattr(base, name, value)
        node.notify_style_update()


class FramedApp(App[int]):
    """`only_ascii`: draw ASCII characters only; `plain`: draw no colours."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = []
    CSS_PATH = Path(__file__).with_name("first.tcss")  # other styles are parsed after the first paint

    def __init__(self, *, ascii: bool, plain: bool, light: bool) -> None:
        super().__init__()
        self.only_ascii = ascii
        self.is_leaving = False  # widgets are removed one by one then
        self._plain = plain
        self._painted_at_s = 0.0
        self._is_batching = False
        self.last_key = LastKey()
        for theme in (DARK_THEME, LIGHT_THEME):
            self.register_theme(theme)
        if light:
            self.theme = LIGHT
        else:  # Textual's default is dark as well; the normal way would parse all styles twice before first paint
            self.set_reactive(FramedApp.theme, DARK)
        self.stylesheet = _Stylesheet(variables=self.get_css_variables())
        self.set_class(plain, "-plain")
        self.set_class(ascii, "-ascii")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without colours, draw none: Textual itself would convert them to greys."""
        return _NO_COLOUR_FILTERS if self._plain else super().get_line_filters()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Defaults for Textual's own themes, which do not have these variables."""
        return dict(DARK_THEME.variables)

    def get_driver_class(self) -> type[Driver]:
        default_driver = super().get_driver_class()
        if default_driver.__name__ != "LinuxDriver":  # used on macOS as well; not on Windows
            return default_driver
        return TerminalDriver

    async def on_event(self, event: Event) -> None:
        """Handle keys in order, even if they arrive faster than they are handled; paint the screen in between from time
        to time, so that the user sees the position."""
        if isinstance(event, Key) and not event.is_forwarded:
            number, at_s, _ = self.last_key
            self.last_key = LastKey(number + 1, event.time, event.time - at_s)
        if not (isinstance(event, Key) and await self._run_key_binding(event)):
            await super().on_event(event)
        if isinstance(event, Key) and self.message_queue_size:
            if monotonic() - self._painted_at_s > MAX_PAINT_DELAY_S:
                self._set_batching(False)
                await self._wait_for_callback(self.screen.call_after_refresh)
                self._painted_at_s = monotonic()
            self._set_batching(self.message_queue_size > 0)

    def on_idle(self) -> None:
        """Paint as soon as no message is queued."""
        self._set_batching(False)
        self._painted_at_s = monotonic()

    def _set_batching(self, on: bool) -> None:
        """While `on`, nothing is painted."""
        if on and not self._is_batching:
            self._begin_batch()
        elif self._is_batching and not on:
            self._end_batch()
            self.screen.check_idle()
        self._is_batching = on

    async def _run_key_binding(self, key: Key) -> bool:
        """Run the binding of a key before the next key is taken; returns whether it was run. Textual itself sends a key
        through the widgets around the focus first: the next key could follow it to a screen that the first one closes,
        and would be lost there. In an input line, letters go that way, and backspace and enter wait for the letters
        before them."""
        input_field = self.focused
        if key.is_forwarded:
            return False
        self.app_focus = True
        if isinstance(input_field, Input):
            if key.is_printable:
                return False
            await self._wait_for_callback(input_field.call_later)
        elif isinstance(self.screen, PaintedScreen) and self.screen.handles_key(key.key):
            return True
        return await self._check_bindings(key.key, priority=True) or await self._check_bindings(key.key)

    async def _on_key(self, event: Key) -> None:
        """The binding has already run (`_run_key_binding`): by now the next key may have opened another screen, which
        must not receive this one."""
        event.prevent_default()

    async def _wait_for_callback(self, schedule: Callable[[Callable[[], None]], object]) -> None:
        called = asyncio.Event()
        schedule(called.set)
        with suppress(asyncio.TimeoutError):  # a closing widget calls nothing any more
            await asyncio.wait_for(called.wait(), MAX_PAINT_DELAY_S)

    def hear_signals(self) -> None:
        """Install signal handlers in the event loop. Without them, a signal would leave the terminal in the alternate
        screen, without cursor and echo."""
        try:
            loop = asyncio.get_running_loop()
            for name in ("SIGTERM", "SIGHUP"):
                signal_number = getattr(signal, name, None)
                if signal_number is not None:
                    loop.add_signal_handler(signal_number, self.exit, 128 + signal_number)
        except (NotImplementedError, RuntimeError, ValueError):
            pass  # the signals do not exist here, or this is not the main thread

    def exit_when_disconnected(self) -> None:
        """Exit as on a signal once the terminal is closed."""
        self.set_interval(TERMINAL_POLL_S, self._exit_if_disconnected)

    def _exit_if_disconnected(self) -> None:
        if getattr(self._driver, "is_left", False):
            self.exit(128 + signal.SIGHUP)

    def on_notify(self, event: Notify) -> None:
        """Before Textual shows a notification: a repeated one, or one about another copied text, replaces the previous
        one instead of covering more of the screen."""
        message = event.notification.message
        for shown_notification in list(self._notifications):
            if shown_notification.message == message or (
                shown_notification.message.startswith(COPIED_PREFIX) and message.startswith(COPIED_PREFIX)
            ):
                self._unnotify(shown_notification, refresh=False)

    def exit(self, *args: Any, **more: Any) -> None:
        self.is_leaving = True
        super().exit(*args, **more)

    async def action_quit(self) -> None:
        self.exit(0)

    def action_help_quit(self) -> None:
        """Ctrl-C."""
        self.run_worker(self.action_quit())

    def push_screen(self, *args: Any, **more: Any) -> Any:
        if args and isinstance(args[0], ModalScreen) and self.size.width < WIDE_COLUMNS:
            self.clear_notifications()  # they would cover the question
        pushed = super().push_screen(*args, **more)
        self.call_later(self.cover_if_too_small)
        return pushed

    def on_resize(self) -> None:
        self.call_later(self.cover_if_too_small)  # once the app's own size is updated

    def cover_if_too_small(self) -> None:
        """Cover a screen that does not fit with a message; keys still reach the screen."""
        columns, rows = self.size
        is_small = is_too_small(columns, rows)
        for screen in self.screen_stack:
            covers = screen.query(TooSmall)
            if not is_small:
                covers.remove()
                continue
            appearance = Appearance(ascii=self.only_ascii)
            message_lines = too_small_lines(columns, rows, [printable(line, appearance) for line in self.run_summary()])
            message = "\n".join(message_lines).replace("[", r"\[")
            for cover in covers:
                cover.update(message)
            if not covers and screen.is_mounted:
                screen.mount(TooSmall(message))

    def run_summary(self) -> list[str]:
        """Lines about an active run and its keys, for a terminal that is too small for its screen."""
        return []
