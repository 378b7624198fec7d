"""How the drain goes, in a sentence or two: which order was chosen of those tried, and what joins meanwhile."""

from __future__ import annotations

from kubectl_eksdoc.drain.policy import AUTO
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.text import counted

_ORDERS = {
    "soonest": "the node that can be empty soonest goes first",
    "chain": "nodes with pods of the budget that takes longest go first",
    "light": "nodes whose pods need the least room go first",
    "efficiency": "nodes that give much room for little time go first",
    "zone": "nodes go zone by zone, in each the oldest first",
    "name": "nodes go in the order of their names",
}
"""What can be asked for (`policy.ORDERS`), in words."""

_VARIED = "~"
"""Stands in the name of an order that was tried behind that of the one it is a variation of."""


def course(view: DrainView) -> str:
    """``18 orders were tried, the best is light: … 2 new nodes join first, …``, "" where there is nothing to say."""
    if not any(target.order for target in view.targets):
        return ""
    return " ".join(text for text in (_order(view), joining(view)) if text)


def ordered_by(view: DrainView) -> str:
    """In which order the drained targets stand."""
    return "in the order of --order-file" if view.plan.policy.order_nodes else "in the order in which they are emptied"


def new_names(view: DrainView) -> str:
    """What the names of nodes mean that are not there yet, "" where no pod lands on one."""
    if not any(eviction.lands_on.endswith(")") for eviction in view.evictions):
        return ""
    return "NODE (new) is the new node that takes the place of NODE, NODE (surge 1) one like it that joins first."


def _order(view: DrainView) -> str:
    policy, tried = view.plan.policy, view.plan.tried
    if policy.order_nodes:
        named = set(policy.order_nodes)
        others = any(target.order and target.node.name not in named for target in view.targets)
        return "The order is that of --order-file" + ("; other nodes follow, by name." if others else ".")
    if policy.order != AUTO:
        return f"The order is {policy.order}, as asked: {_ORDERS[policy.order]}."
    if len(tried) < 2:
        return ""
    name, varied, _ = tried[0].name.partition(_VARIED)
    like = "a variation of " if varied else ""
    return f"{len(tried)} orders were tried, the best is {like}{name}: {_ORDERS[name]}."


def joining(view: DrainView) -> str:
    """Which new nodes join meanwhile, "" where none does."""
    surge = view.plan.policy.surge
    if surge is None:
        return ""
    joins = f"{counted(surge, 'new node')} {'joins' if surge == 1 else 'join'} first, and" if surge else ""
    replaced = f"{joins or 'No node joins first, but'} each drained node is replaced by a new one"
    if not view.plan.in_generations:
        return f"{replaced}."
    generations = len({target.wave for target in view.targets if target.wave})
    if generations < 2:
        return f"{replaced}: no drain has to wait for one of those."
    return f"{replaced}: {generations} generations, a node begins when those its pods land on have joined."
