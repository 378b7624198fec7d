"""Who else is draining a node, by what others put on it before they drain it; and when a node counts as NotReady.

A node that is only cordoned, or being deleted, tells nobody's name and is no sign. kured notes its lock on its own
DaemonSet, which runs do not watch; where it runs with --annotate-nodes it notes on the node, too, what it will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.quantities import Version, parse
from kubectl_eksdoc.model.workloads import REBOOT_LOCK

TERMINATION_TAINTS = "aws-node-termination-handler/"
"""Beginning of the taints that the AWS Node Termination Handler puts on nodes (its --taint-node option)."""


class Mark(str, Enum):
    TAINT = "taint"
    ANNOTATION = "annotation"


@frozen
class CordonMark:
    """A taint's or annotation's key: whose it is, what its owner does, and why if that is known."""

    mark: Mark
    key: str
    who: str
    source: KnowledgeSource
    does: str = "is draining it"
    why: str = ""


SIGNS = records(CordonMark, "cordon_marks")


class ForeignDrain(NamedTuple):
    """`who` drains it, as one sees by `sign`; `said` is a sentence without its full stop."""

    who: str
    sign: str
    said: str


def by_locks(cluster: Cluster) -> dict[str, ForeignDrain]:
    """Those that are told elsewhere than on the nodes, by the nodes' names: by kured's locks that have not expired."""
    found = {}
    for workload in cluster.workloads:
        for lock in workload.reboot_locks:
            if lock.until is None or cluster.observed_at < lock.until:
                mark = f"annotation {REBOOT_LOCK} of {workload.kind} {workload.key}"
                found[lock.node] = ForeignDrain("kured", mark, f"kured is draining and rebooting it ({mark})")
    return found


def foreign_drain(node: Node) -> ForeignDrain | None:
    """By the first sign on it; the deletion of a node is not somebody's drain."""
    sign = next(_signs_on(node), None)
    if sign is None:
        return None
    mark = f"{sign.mark.value} {sign.key}"
    return ForeignDrain(sign.who, mark, f"{sign.who} {sign.does} ({mark}{f': {sign.why}' if sign.why else ''})")


def as_nobodys(node: Node) -> Node:
    """The node without the signs of others."""
    signs = {sign.key for sign in _signs_on(node)}
    return replace(
        node,
        taints=tuple(taint for taint in node.taints if taint.key not in signs),
        annotations={key: value for key, value in node.annotations.items() if key not in signs},
    )


def _signs_on(node: Node) -> Iterator[CordonMark]:
    known = SIGNS.by("mark", "key")
    marks = (*((Mark.TAINT, each.key) for each in node.taints), *((Mark.ANNOTATION, key) for key in node.annotations))
    return (known[mark] for mark in marks if mark in known)


# When a node that has stopped answering counts as NotReady, and the endpoints of its pods are taken out.
#
# Source: kube-controller-manager's --node-monitor-grace-period, 40 s before Kubernetes 1.32 and 50 s since (its
# changelog); EKS may have its own (confidence: medium).


_LONGER_FROM = Version(1, 32)


def not_ready_after_s(server_version: str) -> int:
    """Seconds; of a server whose version is not known the longer ones."""
    version = parse(server_version)
    return 40 if version is not None and version.older_than(_LONGER_FROM) else 50
