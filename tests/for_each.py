"""Run hundreds of cheap cases as one test; its failure names each failed case and the reason."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any


def for_each(name: str, cases: Iterable[Any], ids: Callable[[Any], str] = str) -> Callable[[Any], Any]:
    """Like `pytest.mark.parametrize`, but with all `cases` in one test."""
    every = tuple(cases)
    assert every, "else nothing is tested"

    def decorate(body: Any) -> Any:
        @wraps(body)
        def test(**others: Any) -> None:
            failed = []
            for case in every:
                try:
                    body(**{name: case}, **others)
                except Exception as error:
                    failed.append(f"{ids(case)}: {type(error).__name__}: {error}")
            assert not failed, f"{len(failed)} of {len(every)} fail:\n" + "\n".join(failed)

        asked = inspect.signature(body).parameters
        test.__signature__ = inspect.Signature([asked[other] for other in asked if other != name])  # type: ignore[attr-defined]
        return test

    return decorate
