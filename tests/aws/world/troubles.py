"""What a test wants to go wrong, by operation (``eks:DescribeAddon``, ``ec2:*``, ``*``); nothing by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tests.aws.world.words import Call, Refusal


@dataclass
class Trouble:
    """`refusal` is the answer; without one the call is hung up on. Mutable.

    `left`: for how many more calls, None for all.
    """

    operation: str
    refusal: Callable[[Call], Refusal] | None = None
    left: int | None = None


@dataclass
class Troubles:
    """All of them, and the calls that were seen. Mutable; used by the server's threads too."""

    wanted: list[Trouble] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def meets(self, call: Call) -> Trouble | None:
        """Note the call; the newest trouble that it runs into, used up by one."""
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
        """Forget everything."""
        with self.lock:
            self.wanted.clear()
            self.calls.clear()
