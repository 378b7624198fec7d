"""Who drains a cluster, as its lock says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Held:
    """`holder` "": nobody. `over`: by the server's clock its time has passed, so nobody leads any more. `renewed`: by
    that clock, None where it does not say."""

    holder: str = ""
    renewed: datetime | None = None
    over: bool = False

    @property
    def led(self) -> bool:
        """Whether somebody leads as far as can be told."""
        return bool(self.holder) and not self.over
