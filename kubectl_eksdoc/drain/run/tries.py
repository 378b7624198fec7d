"""What the answer to a change of a node means that can be asked for twice without harm."""

from __future__ import annotations

from enum import Enum

from kubectl_eksdoc.drain.run.answers import by_admission
from kubectl_eksdoc.drain.run.journal import is_another
from kubectl_eksdoc.kubernetes.api.statuses import Lost, Status

TRIES = 5
"""So often it is asked for while its answer tells nothing, or others are faster, or it is forbidden."""

AGAIN_S = 5.0
"""And so long after the last answer."""


class Came(Enum):
    """What came of it."""

    DONE = "done"
    GONE = "gone"  # there is no such node any more
    AGAIN = "again"  # nothing, or nobody knows; a webhook that denies may think better of it
    FORBIDDEN = "forbidden"  # nor may it be done to any other node, if that is said again and again
    REFUSED = "refused"


def came_of(answer: Status | Lost) -> Came:
    if may_be_done(answer):
        return Came.AGAIN
    assert isinstance(answer, Status)
    if answer.ok:
        return Came.DONE
    if answer.code == 404 or is_another(answer):
        return Came.GONE
    if answer.code in (409, 429) or by_admission(answer.message):
        return Came.AGAIN
    return Came.FORBIDDEN if answer.code in (401, 403) else Came.REFUSED


def may_be_done(answer: Status | Lost) -> bool:
    """Whether nobody knows."""
    return isinstance(answer, Lost) or answer.code >= 500


def said_of(answer: Status | Lost) -> str:
    return answer.said if isinstance(answer, Lost) else answer.message
