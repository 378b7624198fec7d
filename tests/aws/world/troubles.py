"""Faults that a test injects, by operation (``eks:DescribeAddon``, ``ec2:*``, ``*``); by default there are none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tests.aws.world.words import Call, Refusal


@dataclass
class Trouble:
    """`refusal` is the answer; without one the connection is closed. Mutable.

    `left`: for how many more calls, None for all.
    """

    operation: str
    refusal: Callable[[Call], Refusal] | None = None
    left: int | None = None


@dataclass
class Troubles:
    """All faults, and the recorded calls. Mutable; used by the server's threads too."""

    wanted: list[Trouble] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def meets(self, call: Call) -> Trouble | None:
        """Record the call; returns the newest fault that matches, whose count decreases by one."""
        with self.lock:
            self.calls.append(call)
            for trouble in reversed(self.wanted):
                if trouble.left != 0 and fnmatchcase(call.name, trouble.operation):
                    if trouble.left is not None:
                        trouble.left -= 1
                    return trouble
        return None

    def add(self, trouble: Trouble) -> None:
        with self.lock:
            self.wanted.append(trouble)

    def clear(self) -> None:
        """Remove all faults and recorded calls."""
        with self.lock:
            self.wanted.clear()
            self.calls.clear()
