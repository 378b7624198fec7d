"""Events of a drain, as one stream for all screens and journals."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class DrainEventKind(str, Enum):
    """Of a node: cordoned, cordoned-only (a target that is not drained), begun (its first eviction may be requested),
    empty (no pod is left that is evicted), done (it was found empty twice), left-alone (a pod stays on it, and the
    drain continues with other nodes), lost (it is not in the cluster any more), adopted (another client drains it, and
    the run waits for that), replanned (pods were scheduled onto it after the plan was made, and are evicted, too),
    protected, unprotected (a node that is not drained, from autoscalers that would remove it), excluded (load balancers
    leave it out before its pods are evicted), joined (a new node), missing (a new node that should have joined). Of a
    pod: evicted, gone, restarted (by a rollout restart of its workload: a new pod is Ready first), deleted (past its
    budget), finished (by itself, while the run waited for it), kept (it stays until a user changes something),
    held-by-name (a budget temporarily counts a pod as evicted that was created again under the same name). Of the
    drain: held (no request is sent for now), released (requests are sent again), stopped (this run sends no more
    requests), soaking (a wave is over, and the next one starts after a wait), hooked (a command of the user was run;
    never in a rehearsal). Of any of these: refused (a request, by the API server), befallen (a requested fault), warned
    (something is not as it should be; the drain continues)."""

    CORDONED = "cordoned"
    CORDONED_ONLY = "cordoned-only"
    BEGUN = "begun"
    EVICTED = "evicted"
    RESTARTED = "restarted"
    DELETED = "deleted"
    FINISHED = "finished"
    REFUSED = "refused"
    GONE = "gone"
    KEPT = "kept"
    EMPTY = "empty"
    DONE = "done"
    LEFT_ALONE = "left-alone"
    REPLANNED = "replanned"
    LOST = "lost"
    ADOPTED = "adopted"
    HELD = "held"
    RELEASED = "released"
    STOPPED = "stopped"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"
    EXCLUDED = "excluded"
    HELD_BY_NAME = "held-by-name"
    WARNED = "warned"
    SOAKING = "soaking"
    HOOKED = "hooked"
    JOINED = "joined"
    MISSING = "missing"
    BEFALLEN = "befallen"


REMOVAL_EVENTS = (DrainEventKind.EVICTED, DrainEventKind.RESTARTED, DrainEventKind.DELETED)
"""Events of pods whose removal was requested and accepted."""

THE_DRAIN = "the drain"
"""Subject of an event that concerns no single node or pod."""

PROBLEM_EVENTS = frozenset(
    (
        DrainEventKind.REFUSED,
        DrainEventKind.KEPT,
        DrainEventKind.LEFT_ALONE,
        DrainEventKind.LOST,
        DrainEventKind.ADOPTED,
        DrainEventKind.HELD,
        DrainEventKind.STOPPED,
        DrainEventKind.HELD_BY_NAME,
        DrainEventKind.WARNED,
        DrainEventKind.MISSING,
        DrainEventKind.BEFALLEN,
    )
)
"""Events that show a problem."""


class DrainEvent(NamedTuple):
    """`at_s` from the start of the drain; `subject` is a node, or a pod (ns/name), `node` the pod's node. `why` of a
    refusal: the server's cause, or its message; of a fault: its effect on the subject."""

    at_s: float
    what: DrainEventKind
    subject: str
    node: str = ""
    why: str = ""
