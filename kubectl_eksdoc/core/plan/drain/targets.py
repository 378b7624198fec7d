"""Which nodes the user means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.versions import Version, parse
from kubectl_eksdoc.core.plan.drain.policy import Targeting
from kubectl_eksdoc.errors import UsageError

_DIGITS = re.compile(r"(\d+)")


@lru_cache(maxsize=1 << 14)
def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key by which ``old-2`` comes before ``old-10``."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in _DIGITS.split(name) if part)


def select(nodes: Iterable[Node], targeting: Targeting, pools: Iterable[str] = ()) -> tuple[Node, ...]:
    """The nodes of `targeting`, in natural order of their names. `pools` are the NodePools that exist.

    Raises:
        UsageError: nothing was asked for, a named node or group does not exist, or no node matches.
    """
    known = {node.name: node for node in nodes}
    if targeting.empty:
        raise UsageError(
            "no node was named to drain",
            "name nodes, or select them: -l SELECTOR, --nodegroup NAME, --older-than v1.33",
        )
    if targeting.names:
        missing = [name for name in targeting.names if name not in known]
        if missing:
            raise UsageError(*_not_found("node", missing, known))
        chosen = [known[name] for name in dict.fromkeys(targeting.names)]
    else:
        groups = {group for node in known.values() for group in node.groups}
        absent = [group for group in targeting.nodegroups if group not in groups]
        if absent and set(absent) <= set(pools):
            raise UsageError(f"NodePool {', '.join(absent)} has no node", "see what it does: kubectl get nodeclaims")
        if absent:
            raise UsageError(*_not_found("node group or NodePool", absent, groups))
        chosen = [node for node in known.values() if _matches(node, targeting)]
    if not chosen:
        raise UsageError(
            f"none of the {len(known)} nodes matches {_described(targeting)}",
            "see what there is: kubectl get nodes --show-labels",
        )
    return tuple(sorted(chosen, key=lambda node: natural(node.name)))


def behind(nodes: Iterable[Node], server: str) -> frozenset[str]:
    """Those whose kubelet is of an older minor version than the control plane's; none where that is not known."""
    version = parse(server)
    if version is None:
        return frozenset()
    minor = Version(version.major, version.minor)
    return frozenset(node.name for node in nodes if node.kubelet and node.kubelet.older_than(minor))


IMAGE = "eks.amazonaws.com/nodegroup-image"
"""The AMI of a managed node group's node."""


def older_images(nodes: Iterable[Node]) -> frozenset[str]:
    """Those that are not made from the AMI of their group's youngest node."""
    youngest: dict[str, tuple[datetime, str]] = {}
    known = [(n.name, n.group, n.created_at, n.labels[IMAGE]) for n in nodes if n.group and IMAGE in n.labels]
    for _, group, created, image in known:
        if created is not None and (group not in youngest or created > youngest[group][0]):
            youngest[group] = created, image
    return frozenset(name for name, group, _, image in known if group in youngest and image != youngest[group][1])


def _matches(node: Node, targeting: Targeting) -> bool:
    if targeting.selector is not None and not targeting.selector.matches(node.labels):
        return False
    if targeting.nodegroups and node.groups.isdisjoint(targeting.nodegroups):
        return False
    if targeting.older_than is None:
        return True
    if node.kubelet is None:
        raise UsageError(
            f"--older-than cannot judge node {node.name}: its kubelet version is {node.kubelet_text or 'missing'!r}",
            "name the nodes, or add a selector that leaves this one out",
        )
    return node.kubelet.older_than(targeting.older_than)


def _not_found(what: str, missing: list[str], known: Iterable[str]) -> tuple[str, str]:
    names = sorted(known, key=natural)
    close = difflib.get_close_matches(missing[0], names, n=3)
    shown = ", ".join(close or names[:8]) + (" …" if not close and len(names) > 8 else "")
    plural = "s" if len(missing) > 1 else ""
    hint = (f"close to it: {shown}" if close else f"there are: {shown}") if names else f"there is no {what} at all"
    return f"{what}{plural} not found: {', '.join(missing)}", hint


def _described(targeting: Targeting) -> str:
    parts = []
    if targeting.selector is not None:
        parts.append(f"-l '{targeting.selector}'")
    parts += [f"--nodegroup {group}" for group in targeting.nodegroups]
    if targeting.older_than is not None:
        parts.append(f"--older-than {targeting.older_than}")
    return " and ".join(parts)
