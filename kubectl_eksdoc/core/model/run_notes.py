"""What a run of this tool has noted on a node that it changed, as whoever meets that node must know it.

The whole note says byte for byte what the node was before; only the edge that takes it back reads that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

RUN, PRIOR = "eksdoc.io/run", "eksdoc.io/prior"
"""The annotations of a node: the run's id, and as JSON what the node was before."""

UNSCHEDULABLE, LABELS, PROTECTED, JOURNAL = "unschedulable", "labels", "protected", "journal"
"""The keys of that JSON: of what was changed, and the namespace of the run's journal."""

SKIPPED = "skipped"
"""The key beside them, true where the run cordons the node and its plan does not drain it."""


_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def is_namespace(text: object) -> bool:
    """Whether a namespace can be called so (RFC 1123 label): people may write anything into an annotation."""
    return isinstance(text, str) and _NAMESPACE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class RunNote:
    """`journal`: the namespace of the run's journal, "" where the note does not say. `drains`: the run cordoned the
    node or had load balancers leave it out; so it is where the note cannot be read. `protects`: it keeps autoscalers
    away. `skipped`: the plan of the run does not drain it, so that it is not counted as a node of that."""

    run: str
    journal: str = ""
    drains: bool = True
    protects: bool = False
    skipped: bool = False
