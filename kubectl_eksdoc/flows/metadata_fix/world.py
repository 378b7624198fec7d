"""What a fix needs of the world, and what all of them do: note, wait, and look at nodes afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kubectl_eksdoc.drain.run.stages import pause_s
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsMissing, AwsRefused, AwsThrottled, JournalError
from kubectl_eksdoc.flows.ports import UpdateJournal
from kubectl_eksdoc.imds_probe.run import Became, Part, of_node
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Update
from kubectl_eksdoc.model.aws.machines import Instance, NodeGroup
from kubectl_eksdoc.model.metadata import OnTemplate, SetOptions

# What fixes of the metadata service need of AWS and of the cluster; edges implement these.


class MetadataAws(Protocol):
    """AWS, as far as changes of the metadata service's options go. Every method may raise AwsError: nothing can be
    asked just now."""

    def instances(self, ids: Sequence[str]) -> Mapping[str, Instance | Absent | Unknown]:
        """By id."""
        ...

    def group(self, name: str) -> NodeGroup | Absent | Unknown:
        """A managed one."""
        ...

    def set_options(self, act: SetOptions, dry: bool = False) -> None:
        """EC2 has taken it, and applies it soon. `dry`: it says whether it would.

        Raises:
            AwsDenied, AwsRefused, AwsMissing, AwsThrottled, AwsLogin: nothing was changed; the error says why.
            AwsError: nobody knows whether it was.
        """
        ...

    def new_version(self, act: OnTemplate, token: str, dry: bool = False) -> int:
        """Its number, 0 of a dry one; with the same `token` it is the same one. Raises: as `set_options`."""
        ...

    def version_of(self, act: OnTemplate, token: str) -> int | Unknown:
        """The number of the version that `token` has made, 0 if it made none."""
        ...

    def update_group(self, act: OnTemplate, number: int, token: str) -> Update:
        """Begin it; with the same `token` it is the same one. Raises: as `set_options`."""
        ...

    def update_to(self, act: OnTemplate, number: int) -> str | Unknown:
        """The id of the update of the group to that version of its template, "" if there is none."""
        ...

    def update(self, group: str, ident: str) -> Update | Unknown | Absent:
        """How one stands, by EKS's own id of it."""
        ...


class NodeClasses(Protocol):
    """Karpenter's EC2NodeClasses, by their names. Every method may raise ClusterError: the cluster cannot be talked
    to."""

    def one(self, name: str) -> Doc | Absent | Unknown:
        """`Unknown.missing` is the right without which it is not had."""
        ...

    def patch(self, name: str, body: Doc, dry: bool = False) -> Doc:
        """The object as it is then. `body`: a merge patch; where it names a resourceVersion, of that object alone.

        Raises:
            Drifted: the object is another one by now; nothing was changed.
            Forbidden, Unauthorized: it may not be.
            ClusterError: it was not, or nobody knows.
        """
        ...


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
            return "it was stopped"
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
