"""What happens in a run, as one stream: every face shows it, every journal keeps it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Happened(str, Enum):
    CORDONED = "cordoned"
    CORDONED_ONLY = "cordoned-only"  # a target that is not drained
    BEGUN = "begun"  # the node's first eviction may be asked for
    EVICTED = "evicted"  # accepted
    RESTARTED = "restarted"  # accepted: its workload's rollout begins anew, and a new pod comes first
    DELETED = "deleted"  # accepted, past its budget
    FINISHED = "finished"  # it ended by itself while it was waited for
    REFUSED = "refused"
    GONE = "gone"  # the pod's object
    KEPT = "kept"  # a pod does not go until somebody changes something
    EMPTY = "empty"  # nothing that is evicted is on the node any more
    DONE = "done"  # the node was seen empty twice
    LEFT_ALONE = "left-alone"  # a node that cannot be emptied: the others go on
    REPLANNED = "replanned"  # pods came to a node after the plan was made: they are evicted, too
    LOST = "lost"  # a node that is not there any more
    ADOPTED = "adopted"  # a node that somebody else is draining: it is left to them, and waited for
    HELD = "held"  # nothing more is asked for, for now
    RELEASED = "released"  # and again it is
    STOPPED = "stopped"  # nothing more is asked for by this run
    PROTECTED = "protected"  # a node that is not drained, from autoscalers that would remove it
    UNPROTECTED = "unprotected"  # and no longer
    EXCLUDED = "excluded"  # a node: load balancers that send to nodes leave it out
    HELD_BY_NAME = "held-by-name"  # a budget counts a pod as evicted that came back under its name, for a time
    WARNED = "warned"  # something that was not as it should be; it goes on
    BAKING = "baking"  # a wave is over, and the next one is not begun for a while
    HOOKED = "hooked"  # a command of the user was run
    JOINED = "joined"  # a new node in the place of one that is done, or before the drain
    MISSING = "missing"  # a new node that should have joined
    BEFALLEN = "befallen"  # a fault that was asked for


ASKED = (Happened.EVICTED, Happened.RESTARTED, Happened.DELETED)
"""A pod goes since it was asked to."""

THE_DRAIN = "the drain"
"""The subject of what concerns no single node and no pod."""

WENT_WRONG = frozenset(
    (
        Happened.REFUSED,
        Happened.KEPT,
        Happened.LEFT_ALONE,
        Happened.LOST,
        Happened.ADOPTED,
        Happened.HELD,
        Happened.STOPPED,
        Happened.HELD_BY_NAME,
        Happened.WARNED,
        Happened.MISSING,
        Happened.BEFALLEN,
    )
)
"""Whoever asks afterwards what went wrong looks here first."""


class Moment(NamedTuple):
    """`at_s` from the start of the drain; `subject` is a node, or a pod (ns/name), `node` the pod's. `why` of a
    refusal: the server's cause, or its message; of a fault what became of the subject."""

    at_s: float
    what: Happened
    subject: str
    node: str = ""
    why: str = ""
