"""The number of examples of each property test: a few in `make test`, all in `make test-long`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

ALL = os.environ.get("EKSDOC_EXAMPLES") == "all"


def examples(number: int = 100, quick: int = 10) -> int:
    """The value of `max_examples` for a property that is not tried with 100 examples; `quick`: the number in make
    test."""
    return number if ALL else min(quick, number)


def for_seeds(seeds: Sequence[int], every: int) -> pytest.MarkDecorator:
    """Give a test its `seeds` in two cases, [quick] with one of so many and [full] with all; the second case is
    long."""
    full = pytest.param(seeds, marks=pytest.mark.long, id="full")
    return pytest.mark.parametrize("seeds", [pytest.param(seeds[::every], id="quick"), full])


def one_in(number: int, cases: Iterable[Any]) -> list[Any]:
    """For `parametrize`: one in so many cases is in `make test`, beginning with the first; the other cases are long."""
    return [case if place % number == 0 else _long(case) for place, case in enumerate(cases)]


def _long(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.long), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
