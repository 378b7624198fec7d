"""Sets of fields as trees in FieldsV1's own JSON form, and what can be done with two of them.

A node maps steps to nodes. ``{}`` is a field of the set with nothing of the set below it; ``{".": {}, ...}`` is one
with more below; any other node is only on the way to its children. Nodes are values and are shared. Source:
structured-merge-diff, fieldpath/set.go and serialize.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.kubernetes.api.ownership.steps import Step, canonical, keys_of, order_of
from kubectl_eksdoc.model.api_objects import Doc

Tree = Doc
Path = tuple[Step, ...]

LEAF: Tree = {}
SELF = "."


def names_item(path: Path) -> bool:
    """It is an item of a list, or one of the keys by which the item is told from others: no value of its own."""
    return path[-1].startswith("k:") or (
        len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in keys_of(path[-2])
    )


def is_member(node: Tree) -> bool:
    return not node or SELF in node


def node_of(children: Tree, member: bool) -> Tree | None:
    """A node, or None where it would be neither in the set nor on the way to anything."""
    if not children:
        return LEAF if member else None
    return {SELF: LEAF, **children} if member else children


def children_of(node: Tree) -> Iterator[tuple[Step, Tree]]:
    return ((step, below) for step, below in node.items() if step != SELF)


def united(one: Tree, other: Tree) -> Tree:
    """Children of either; of nodes in both, what is in either."""
    if one is other or not other:
        return one
    if not one:
        return other
    result = dict(one)
    for step, node in children_of(other):
        mine = result.get(step)
        result[step] = node if mine is None else _united_node(mine, node)
    return result


def _united_node(one: Tree, other: Tree) -> Tree:
    if one is other:
        return one
    children = united(_without_self(one), _without_self(other))
    return node_of(children, is_member(one) or is_member(other)) or LEAF


def minus(one: Tree, other: Tree) -> Tree:
    """The fields of `one` that are not in `other`; what is below a field of `other` stays."""
    return _kept(one, other, below_too=False)


def minus_all_below(one: Tree, other: Tree) -> Tree:
    """The fields of `one` that are neither in `other` nor below a field of it."""
    return _kept(one, other, below_too=True)


def _kept(one: Tree, other: Tree, *, below_too: bool) -> Tree:
    result: Tree = {}
    for step, node in children_of(one):
        against = other.get(step)
        kept: Tree | None = node
        if against is not None:
            if below_too and is_member(against):
                continue
            children = _kept(node, against, below_too=below_too)
            kept = node_of(children, is_member(node) and not is_member(against))
        if kept is not None:
            result[step] = kept
    return result


def common(one: Tree, other: Tree) -> Tree:
    """The fields in both."""
    result: Tree = {}
    for step, node in children_of(one):
        against = other.get(step)
        if against is not None:
            both = node_of(common(node, against), is_member(node) and is_member(against))
            if both is not None:
                result[step] = both
    return result


def parsed(tree: Tree) -> Tree:
    """`tree` with its steps as the server prints them. Raises MalformedStep; steps of unknown kinds are dropped."""
    result: Tree = {}
    for step, node in tree.items():
        if step == SELF:
            result[SELF] = LEAF
        elif step[1:2] != ":" or step[0] in "fkvi":
            result[canonical(step)] = parsed(node) if node else LEAF
    return result


def printed_tree(tree: Tree) -> Tree:
    """`tree` with its steps in the order in which the server prints them."""
    if not tree:
        return tree
    ordered = sorted((step for step in tree if step != SELF), key=order_of)
    result: Tree = {SELF: LEAF} if SELF in tree else {}
    for step in ordered:
        result[step] = printed_tree(tree[step])
    return result


def paths_of(tree: Tree, before: Path = ()) -> Iterator[Path]:
    """The fields of the set, those of a node before those further down (Set.Iterate)."""
    steps = sorted((step for step in tree if step != SELF), key=order_of)
    for step in steps:
        if is_member(tree[step]):
            yield (*before, step)
    for step in steps:
        if tree[step]:
            yield from paths_of(tree[step], (*before, step))


def tree_of(path: Path) -> Tree:
    """The set of one field."""
    node: Tree = LEAF
    for step in reversed(path):
        node = {step: node}
    return node


def _without_self(node: Tree) -> Tree:
    return {step: below for step, below in node.items() if step != SELF} if SELF in node else node
