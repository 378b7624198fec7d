"""What happens to nodes after their drain, as data: where new ones come from and how the old ones leave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from kubectl_eksdoc.model.nodes import NodeOwner


class Way(str, Enum):
    """How the nodes of a managed group can be replaced."""

    OWN_DRAIN = "own-drain"  # this plan's order, in the group as it is
    GROUP_UPDATE = "group-update"  # what EKS does by itself
    BLUE_GREEN = "blue-green"  # this plan's order, with a new group beside the old one


@dataclass(frozen=True, slots=True)
class ReplacementStep:
    """One sentence, and the commands that do it: one for each node, or () where a person must decide. `before`: it is
    of use before the drain only."""

    text: str
    commands: tuple[str, ...] = ()
    before: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """One way to replace the nodes. Pods are ``namespace/name``: those on targets that this plan does not evict, and
    of those it evicts the ones that are too slow for the group's own update.

    `nodes` go in all; `surge` are the most that are added at once, None where the zones are not known;
    `least_seconds` is what it takes at the very least, one node at a time, None where that is not estimated.
    `stopped_by` keep their node for as long as nothing changes; `may_be_stopped_by` only if they take too long;
    `unasked` are evicted although this plan leaves them to a person; `not_judged` could be either.
    """

    way: Way
    nodes: int
    surge: int | None
    surge_why: str
    order: str
    waits: str
    least_seconds: int | None
    way_back: str
    stopped_by: tuple[str, ...] = ()
    may_be_stopped_by: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HandOff:
    """The planned targets of one owner and group (``""`` where its nodes have none).

    `nodes` are emptied by the plan, in its order; `kept` are the targets that are not, or only in part.
    A sentence of `beware` ends with its confidence where that is not high. `instead` compares the ways, for
    managed groups whose own update can bring their nodes, only.
    """

    owner: NodeOwner
    group: str
    nodes: tuple[str, ...]
    kept: tuple[str, ...]
    arrive: tuple[ReplacementStep, ...]
    leave: tuple[ReplacementStep, ...]
    beware: tuple[str, ...] = ()
    instead: tuple[Option, ...] = ()

    @property
    def about(self) -> str:
        """``managed node group blue``, ``NodePool general``, ``hybrid nodes``."""
        named, unnamed = _ABOUT[self.owner]
        return f"{named} {self.group}" if self.group else unnamed

    @property
    def once_drained(self) -> HandOff:
        """What is left of it to be done after the drain."""
        arrive = tuple(step for step in self.arrive if not step.before)
        return replace(self, arrive=arrive, instead=tuple(o for o in self.instead if o.way is not Way.BLUE_GREEN))


_ABOUT = {
    NodeOwner.MANAGED: ("managed node group", "managed nodes"),
    NodeOwner.EKSCTL: ("eksctl's self-managed node group", "eksctl's self-managed nodes"),
    NodeOwner.KARPENTER: ("NodePool", "Karpenter's nodes"),
    NodeOwner.AUTO_MODE: ("Auto Mode NodePool", "Auto Mode nodes"),
    NodeOwner.FARGATE: ("Fargate profile", "Fargate nodes"),
    NodeOwner.HYBRID: ("hybrid node group", "hybrid nodes"),
    NodeOwner.SELF_MANAGED: ("self-managed node group", "self-managed nodes"),
}
