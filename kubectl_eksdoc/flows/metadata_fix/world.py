"""What a fix needs of the world, and what all of them do: note, wait, and look at nodes afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.machines import Instance
from kubectl_eksdoc.core.run.metadata.became import Became, Part, of_node
from kubectl_eksdoc.core.run.stages import pause_s
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsMissing, AwsRefused, AwsThrottled, JournalError
from kubectl_eksdoc.flows.metadata_fix.ports import MetadataAws, NodeClasses
from kubectl_eksdoc.flows.ports import UpdateJournal

WATCH_S = 3600.0
"""A node group of some nodes is rolled within an hour; one of many takes longer, and goes on in EKS."""

_SLICE_S = 0.5

REFUSALS = (AwsDenied, AwsRefused, AwsMissing, AwsThrottled, AwsLogin)
"""Errors after which nothing was changed."""


class Clock(Protocol):
    def monotonic(self) -> float: ...

    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class FixWorld:
    """What a fix needs of the world. `told`: how often the process was told to end. `tell` hears what happens, a line
    each. `members`: the nodes of a group as they are now, by name, each with its instance. `prove`: asks from pods on
    nodes, by their names; None: nobody asks from a pod."""

    aws: MetadataAws
    classes: NodeClasses
    journal: UpdateJournal
    clock: Clock
    sleep: Callable[[float], object]
    told: Callable[[], int]
    tell: Callable[[str], object]
    members: Callable[[str], Mapping[str, Instance | Absent | Unknown] | Unknown]
    prove: Callable[[Sequence[str]], tuple[Part, ...]] | None = None


def note(world: FixWorld, entry: Doc) -> None:
    """What has happened is told all the same where it cannot be written down."""
    try:
        world.journal.write(entry)
    except JournalError as error:
        world.tell(f"the journal lacks what came then: {error.message}")


def waited(world: FixWorld, began_s: float, watch_s: float) -> str:
    """Until it is looked at again; else why it is not, a clause."""
    now = world.clock.monotonic()
    until = now + pause_s(now - began_s)
    while world.clock.monotonic() < until:
        if world.told():
            return "it was told to stop"
        if world.clock.monotonic() - began_s >= watch_s:
            return f"it was watched for {watch_s:.0f} s, and has not ended"
        world.sleep(_SLICE_S)
    return ""


def members_after(group: str, hop_limit: int, world: FixWorld) -> tuple[tuple[str, ...], tuple[Part, ...]]:
    """The nodes of a group by their names, and what they have now."""
    try:
        found = world.members(group)
    except AwsError as error:
        found = Unknown(error.message)
    if isinstance(found, Unknown):
        return (), (Part(f"nodes of {group}", Became.UNKNOWN, found.why),)
    names = tuple(sorted(found))
    return names, tuple(of_node(name, hop_limit, found[name]) for name in names)
