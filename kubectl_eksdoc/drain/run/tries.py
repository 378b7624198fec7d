"""What the answer to a change of a node means that can be asked for twice without harm."""

from __future__ import annotations

from enum import Enum

from kubectl_eksdoc.drain.run.answers import by_admission
from kubectl_eksdoc.drain.run.journal import is_another
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer

TRIES = 5
"""So often it is asked for while its answer tells nothing, or others are faster, or it is forbidden."""

AGAIN_S = 5.0
"""And so long after the last answer."""


class TryResult(Enum):
    """What came of it."""

    DONE = "done"
    GONE = "gone"  # there is no such node any more
    AGAIN = "again"  # nothing, or nobody knows; a webhook that denies may think better of it
    FORBIDDEN = "forbidden"  # nor may it be done to any other node, if that is said again and again
    REFUSED = "refused"


def came_of(answer: ApiStatus | LostAnswer) -> TryResult:
    if may_be_done(answer):
        return TryResult.AGAIN
    assert isinstance(answer, ApiStatus)
    if answer.ok:
        return TryResult.DONE
    if answer.code == 404 or is_another(answer):
        return TryResult.GONE
    if answer.code in (409, 429) or by_admission(answer.message):
        return TryResult.AGAIN
    return TryResult.FORBIDDEN if answer.code in (401, 403) else TryResult.REFUSED


def may_be_done(answer: ApiStatus | LostAnswer) -> bool:
    """Whether nobody knows."""
    return isinstance(answer, LostAnswer) or answer.code >= 500


def said_of(answer: ApiStatus | LostAnswer) -> str:
    return answer.said if isinstance(answer, LostAnswer) else answer.message
