"""How many examples a property is tried with: a few in `make test`, all in `make test-long`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

ALL = os.environ.get("EKSDOC_EXAMPLES") == "all"


def examples(number: int = 100, quick: int = 10) -> int:
    """For `max_examples` of a property that is not tried with 100 examples; `quick`: in make test."""
    return number if ALL else min(quick, number)


def for_seeds(seeds: Sequence[int], every: int) -> pytest.MarkDecorator:
    """Gives a test its `seeds`, [quick] one of so many and [full] all of them; the second one is long."""
    full = pytest.param(seeds, marks=pytest.mark.long, id="full")
    return pytest.mark.parametrize("seeds", [pytest.param(seeds[::every], id="quick"), full])


def one_in(number: int, cases: Iterable[Any]) -> list[Any]:
    """For `parametrize`: one in so many cases is in `make test`, beginning with the first; the others are long."""
    return [case if place % number == 0 else _long(case) for place, case in enumerate(cases)]


def _long(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.long), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
