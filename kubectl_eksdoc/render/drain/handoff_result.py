"""How nodes come and go after a drain, as the plan's result prints it."""

from __future__ import annotations

from kubectl_eksdoc.drain.handoff import offers
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.render.result import Count, Printed, Text, Texts


class _Step(Printed):
    """One sentence, and the commands that do it: one for each node where they differ by node."""

    text: Text
    commands: Texts


class _Option(Printed):
    """One way to replace the nodes. Pods are namespace/name, of those on targets that this plan does not evict. surge
    null: the zones are not known; leastSeconds null: not estimated."""

    way: offers.Way
    nodes: Count
    surge: Count | None
    """The most nodes that are added at once."""
    surge_why: Text
    order: Text
    waits: Text
    least_seconds: Count | None
    way_back: Text
    stopped_by: Texts
    """Pods that keep their node for as long as nothing changes."""
    may_be_stopped_by: Texts
    """Pods that keep it only if they take too long."""
    evicted_unasked: Texts
    """Pods that it evicts although this plan leaves them to a person."""
    not_judged: Texts

    @classmethod
    def of(cls, facts: offers.Option) -> _Option:
        return cls.filled(facts, evicted_unasked=facts.unasked)


class HandoffResult(Printed):
    """The targets of one owner and group. nodes are emptied by the plan, in its order; kept are not, or only in part.
    group is null where the nodes have none. instead is for managed groups only."""

    owner: NodeOwner
    group: Text | None
    nodes: Texts
    kept: Texts
    arrive: tuple[_Step, ...]
    """Where new nodes come from."""
    leave: tuple[_Step, ...]
    """How the emptied nodes leave."""
    beware: Texts
    """What surprises people; a sentence ends with its confidence where that is not high."""
    instead: tuple[_Option, ...]
    """Ways to replace the nodes, compared."""
