"""What is made of a plan is made once: a key that is pressed must not go through thousands of budgets again."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

from kubectl_eksdoc.render.drain.view import DrainView

_LAST = 2
"""One plan is shown while the next one is prepared. Nothing is kept at the view itself: what is made of it leads back
to it, and such a ring is freed only by the garbage collector, which runs seldom."""

P = ParamSpec("P")
T = TypeVar("T")


def once_a_view(make: Callable[Concatenate[DrainView, P], T]) -> Callable[Concatenate[DrainView, P], T]:
    """`make`, which for the views it was asked for last says what it said; from any thread."""
    kept: list[tuple[DrainView, object, T]] = []

    def found(view: DrainView, /, *args: P.args, **named: P.kwargs) -> T:
        asked = (args, tuple(sorted(named.items())))
        for of, how, made in tuple(kept):
            if of is view and how == asked:
                return made
        made = make(view, *args, **named)
        alike = [each for each in kept if each[1] == asked]
        others = [each for each in kept if each[1] != asked]
        kept[:] = [*others, *alike[1 - _LAST :], (view, asked, made)]
        return made

    update_wrapper(found, make)
    return found
