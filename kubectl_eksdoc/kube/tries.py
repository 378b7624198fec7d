"""How long one write is tried again, and what it waits between: for whoever must know how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.kube.sent import Clock, Sent


@dataclass(frozen=True, slots=True)
class Tries:
    """Times in seconds. `patience_s`: after so long no further try is begun; a server that is replaced is away for some
    30 s."""

    patience_s: float = 45.0
    first_pause_s: float = 0.2
    longest_pause_s: float = 4.0
    longest_asked_s: float = 10.0

    def each(self, clock: Clock) -> Iterator[Pause]:
        """One for every try; before the next one, its pause is slept."""
        begun, pause_s = clock.monotonic(), self.first_pause_s
        while True:
            pause = Pause(pause_s, self.longest_asked_s, clock.monotonic() - begun)
            yield pause
            if clock.monotonic() - begun + pause.seconds > self.patience_s:
                return
            clock.sleep(pause.seconds)
            pause_s = min(pause_s * 2, self.longest_pause_s)


class Pause:
    """Mutable: what the answer asks for is added to it. `tried_s`: so long it had been tried when this try began."""

    def __init__(self, seconds: float, longest_s: float, tried_s: float = 0.0) -> None:
        self.seconds = seconds
        self.tried_s = tried_s
        self._longest_s = longest_s

    def after(self, sent: Sent) -> None:
        self.seconds = max(self.seconds, min(sent.retry_s, self._longest_s))
