"""A pilot that waits for what its keys do, and not for the process to be idle: under load that alone takes seconds."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import Any

from textual.events import Key
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.pilot import Pilot

_MOST_ROUNDS = 200


class TypingPilot(Pilot[int]):
    """As Textual's, but for `press` and `pause`, which return when every widget has handled all its messages."""

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.app.post_message(_event_of(key))
            await self.pause()

    async def pause(self, delay: float | None = None) -> None:
        if delay:
            await super().pause(delay)
        for _ in range(_MOST_ROUNDS):
            await super().pause(0)
            if not self._is_waited_for:
                break
        await self.app.animator.wait_until_complete()

    async def resize_terminal(self, width: int, height: int) -> None:
        """Textual lays out anew only some time later, so that it does so once however often the size changes."""
        await super().resize_terminal(width, height)
        app: Any = self.app
        for _ in range(_MOST_ROUNDS):
            if app._resize_event is None and app._resize_timer is None:
                break
            await asyncio.sleep(0.005)
        await self.pause()

    @property
    def _is_waited_for(self) -> bool:
        if not self.app.is_running:
            return False
        pumps = (self.app, *self.app.screen_stack, *self.app.screen.walk_children())
        return any(pump.message_queue_size for pump in pumps)


def _event_of(key: str) -> Key:
    """As Textual's own pilot makes it."""
    name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
    try:
        character: str | None = unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(name, name)))
    except KeyError:
        character = name if len(name) == 1 else None
    return Key(name, character)
