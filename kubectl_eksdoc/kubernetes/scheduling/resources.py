"""NodeResourcesFit: what the pod requests must be left on the node, and room for one pod more (plugins/noderesources).

Not modelled: an in-place resize that is under way counts with what the spec says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.model.placement import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Requests

TOO_MANY_PODS = "Too many pods"


@dataclass(frozen=True, slots=True)
class Shortage:
    """One resource of which there is too little; millicores, bytes or pieces."""

    resource: str
    requested: int
    used: int
    capacity: int


class NodeRoom:
    """What one node has and what is taken of it. The fields are plain, for the search over nodes reads them often."""

    __slots__ = ("allocatable", "cpu", "ephemeral", "memory", "others", "pods")

    def __init__(self, allocatable: Mapping[str, int]) -> None:
        """All is free; `cpu`, `memory`, `ephemeral`, `pods` and `others` are what is left, and may go below 0."""
        self.allocatable = allocatable
        self.cpu = allocatable.get(CPU, 0)
        self.memory = allocatable.get(MEMORY, 0)
        self.ephemeral = allocatable.get(EPHEMERAL_STORAGE, 0)
        self.pods = allocatable.get(PODS, 0)
        self.others: dict[str, int] = {}  # of those that any pod ever took

    def take(self, asked: Requests, count: int = 1) -> None:
        """`count` pods take what each requests; a negative number of pods gives it back."""
        self.cpu -= count * asked.cpu
        self.memory -= count * asked.memory
        self.ephemeral -= count * asked.ephemeral
        self.pods -= count
        for name, amount in asked.others:
            self.others[name] = self.left(name) - count * amount

    def left(self, name: str) -> int:
        """Of a resource that is counted by its name."""
        left = self.others.get(name)
        return self.allocatable.get(name, 0) if left is None else left

    def fits(self, asked: Requests) -> bool:
        """Whether `refusal` is None, in the fewest steps."""
        return (
            self.pods > 0
            and (asked.cpu <= self.cpu or not asked.cpu)
            and (asked.memory <= self.memory or not asked.memory)
            and (asked.ephemeral <= self.ephemeral or not asked.ephemeral)
            and (not asked.others or all(amount <= self.left(name) for name, amount in asked.others))
        )


def shortages(asked: Requests, room: NodeRoom, ignored: frozenset[str] = frozenset()) -> tuple[Shortage, ...]:
    """Every resource that does not suffice, the place for a pod aside.

    `ignored` are the scheduler's ignoredResources and ignoredResourceGroups (what stands before the slash).
    """
    asked_and_left = [
        (CPU, asked.cpu, room.cpu),
        (MEMORY, asked.memory, room.memory),
        (EPHEMERAL_STORAGE, asked.ephemeral, room.ephemeral),
    ]
    for name, amount in asked.others:
        if name not in ignored and name.partition("/")[0] not in ignored:
            asked_and_left.append((name, amount, room.left(name)))
    found = []
    for name, amount, left in asked_and_left:
        if amount > 0 and amount > left:
            capacity = room.allocatable.get(name, 0)
            found.append(Shortage(name, amount, capacity - left, capacity))
    return tuple(found)


def refusal(asked: Requests, room: NodeRoom, ignored: frozenset[str] = frozenset()) -> SchedulingRefusal | None:
    """Other pods going helps unless the pod asks for more than the whole node has."""
    short = shortages(asked, room, ignored)
    if not short and room.pods > 0:
        return None
    full = (TOO_MANY_PODS,) if room.pods <= 0 else ()
    reasons = full + tuple(f"Insufficient {s.resource}" for s in short)
    return SchedulingRefusal(SchedulerFilter.NODE_RESOURCES_FIT, reasons, all(s.requested <= s.capacity for s in short))
