"""A property over few examples or seeds among the quick tests, and over the full number among the long ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import pytest
from hypothesis import given, settings

QUICK, FULL = 25, 100


def for_seeds(seeds: Sequence[int], every: int) -> pytest.MarkDecorator:
    """Gives a test its `seeds`, [quick] one of so many and [full] all of them; the second one is long."""
    full = pytest.param(seeds, marks=pytest.mark.long, id="full")
    return pytest.mark.parametrize("seeds", [pytest.param(seeds[::every], id="quick"), full])


def for_any(*strategies: Any, quick: int = QUICK, full: int = FULL, **named: Any) -> Callable[[Any], Any]:
    """Like hypothesis' `given`, of which it makes two tests, [quick] and [full]; the second one is long."""

    def decorate(body: Any) -> Any:
        counts = {"quick": quick, "full": full}
        runs = {word: settings(max_examples=n)(given(*strategies, **named)(body)) for word, n in counts.items()}

        @wraps(body, updated=())  # what is for hypothesis stays on the body
        def test(examples: str, **others: Any) -> None:
            runs[examples](**others)

        others = inspect.signature(runs["quick"]).parameters.values()
        asked = inspect.Parameter("examples", inspect.Parameter.KEYWORD_ONLY)
        test.__signature__ = inspect.Signature([*others, asked])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("examples", ["quick", pytest.param("full", marks=pytest.mark.long)])(test)

    return decorate
