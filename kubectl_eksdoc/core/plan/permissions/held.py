"""Which of the rights that are wanted somebody has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.permissions import Review
from kubectl_eksdoc.core.plan.permissions.wanted import Needed, Wanted


@dataclass(frozen=True, slots=True)
class Held:
    """`held` None: the cluster does not say, and `why` not."""

    needed: Needed
    held: bool | None
    why: str = ""


def held(wanted: Wanted, reviews: Iterable[Review]) -> tuple[Held, ...]:
    """In the order of `wanted`; what no review is about is unknown."""
    by_permission = {each.permission: each for each in reviews}
    found = []
    for each in wanted.needed:
        review = by_permission.get(each.permission)
        if review is None:
            found.append(Held(each, None, "it was not asked"))
        else:
            found.append(Held(each, review.allowed, review.why))
    return tuple(found)
