"""What the registry of faults is made of: a name, what it does, what it takes, and of what a share is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.embedded.serving.faults import Fault
from kubectl_eksdoc.simulator.mishaps import TimedMishap

ONCE_AT_S = 60.0
"""When a mishap comes for which no time is said: virtual seconds after the start."""


class FaultValueKind(Enum):
    """What may stand behind ``=``: as help shows it, and in words."""

    NOTHING = ("", "nothing")
    SECONDS = ("SECONDS", "a duration such as 5, 30s or 2m")
    EVENTS = ("EVENTS", "a number of events, 0 or more")
    BUDGET = ("BUDGET", "the name of a budget")
    WEBHOOK = ("WEBHOOK", "the name of a webhook, as guard.example.io")
    RESOURCE = ("RESOURCE", "a resource by its plural, as pods or leases.coordination.k8s.io")
    NODE = ("NODE", "the name of a node")
    PODS = ("PODS", "pods as NAMESPACE/NAME, with * for any text")

    def __init__(self, shown: str, words: str) -> None:
        self.shown = shown
        self.words = words


class ShareOf(Enum):
    """What a share is of; `timed`: a time may stand in its place."""

    REQUESTS = "requests"
    PODS = "pods"
    SYNCS = "processes budgets"
    NODES = "new nodes"
    MINUTES = "virtual minutes"

    @property
    def timed(self) -> bool:
        return self is ShareOf.MINUTES


@dataclass(frozen=True, slots=True)
class FaultParameters:
    """What a user gave: `number` or `text` behind ``=`` or their defaults, `share` from 0 to 1, `at_s` of a mishap that
    comes once. Chance follows from `seed` alone."""

    text: str = ""
    number: float = 0.0
    share: float = 1.0
    at_s: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class FaultName:
    """`about` is one line. `default` is for what it takes: a number, or "" for any that there is."""

    name: str
    about: str
    make: Callable[[FaultParameters], Fault | TimedMishap]
    of: ShareOf
    takes: FaultValueKind = FaultValueKind.NOTHING
    default: float | str = ""
    rehearsed_only: bool = False

    @property
    def shown(self) -> str:
        """As it is typed: ``slow[=SECONDS]``."""
        return f"{self.name}[={self.takes.shown}]" if self.takes.shown else self.name

    @property
    def default_shown(self) -> str:
        """What holds where nothing is said; "" where there is nothing to say."""
        if isinstance(self.default, float):
            return f"{self.default:g}{'s' if self.takes is FaultValueKind.SECONDS else ''}"
        return "" if self.takes is FaultValueKind.NOTHING else self.default or "any"

    @property
    def of_requests(self) -> bool:
        """Whether clients meet it, and not the cluster."""
        return self.of is ShareOf.REQUESTS


@dataclass(frozen=True, slots=True)
class FaultRequest:
    """A fault as it was asked for; `text` is how it was written."""

    named: FaultName
    given: FaultParameters
    text: str
