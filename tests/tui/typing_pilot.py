"""A pilot that waits until its keys are handled, and not until the process is idle: under load that alone takes
seconds."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import Any

from textual.events import Key
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.message_pump import MessagePump
from textual.pilot import Pilot

_MOST_ROUNDS, _MOST_TURNS, _QUICK_TURNS = 200, 2000, 400


class TypingPilot(Pilot[int]):
    """Textual's pilot, except that `press` and `pause` return when every widget has handled all its messages."""

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.app.post_message(event_of(key))
            await self.pause()

    async def pause(self, delay: float | None = None) -> None:
        if delay:
            await super().pause(delay)
        for _ in range(_MOST_ROUNDS):
            await self._handled()
            if not self.app.is_running:
                return
            self.app.screen._on_timer_update()  # this may lay out the screen, and run the callbacks that wait for it
            if not self._is_busy:
                break
        await self.app.animator.wait_until_complete()

    async def _handled(self) -> None:
        """Whether no message is queued and no widget handles one."""
        for turn in range(_MOST_TURNS):
            await asyncio.sleep(0 if turn < _QUICK_TURNS else 0.005)
            if turn and not self._is_busy:
                return

    async def resize_terminal(self, width: int, height: int) -> None:
        """Resize and wait: Textual delays the new layout, so that several changes of the size cause one layout."""
        await super().resize_terminal(width, height)
        app: Any = self.app
        for _ in range(_MOST_ROUNDS):
            if app._resize_event is None and app._resize_timer is None:
                break
            await asyncio.sleep(0.005)
        await self.pause()

    @property
    def _is_busy(self) -> bool:
        app = self.app
        if not app.is_running:
            return False
        return not all(_waits(pump) for pump in (app, *app.screen_stack, *app.screen.walk_children()))


def _waits(pump: MessagePump) -> bool:
    """Whether the widget waits for its next message."""
    queue: Any = pump._message_queue
    return bool(queue.ready_event._waiters) and queue.empty() and not pump._next_callbacks


def event_of(key: str) -> Key:
    """A key event as Textual's own pilot makes it."""
    name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
    try:
        character: str | None = unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(name, name)))
    except KeyError:
        character = name if len(name) == 1 else None
    return Key(name, character)
