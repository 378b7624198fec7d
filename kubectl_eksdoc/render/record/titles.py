"""What the parts are called, on a screen as in a ticket."""

from __future__ import annotations

from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.sections import Title
from kubectl_eksdoc.render.text import listing

NODES = Title("Nodes", ", in the order of the plan; times from the start")
TIMELINE = Title("Timeline", ", nodes in the order in which they are begun")
NOT_EMPTIED = Title("Not emptied", ", and the pods that are left")
REFUSALS = Title("Refused", ", by cause")
PENDING = Title("Pending", " at the end: pods without a node")
RE_EVICTED = Title("Evicted more than once")
PLACEMENTS = Title("Placements", " of the replacements, by node; planned and what happened")
FAULTS = Title("Faults", ": what went wrong because it was asked for")
MOMENTS = Title("Moments", ": all that happened")
DIFFERENCES = Title("Differences", " from the plan")
NOT_SHOWN = Title("Not shown", ": what no rehearsal can tell")
NOT_READ = Title("Not read")
NOTES = Title("Notes")

WHOLE = "-o json"
"""Where every node is, however many there are."""


MOST_NAMES = 20


def without_bar(view: RecordView, look: Look) -> str:
    """Nodes that are not in the picture, because they are never done; "" where all are."""
    names = [node.name for node in view.nodes if node.name not in view.spans]
    return f"Without a bar, because never done: {listing(names, MOST_NAMES, look)}." if names else ""
