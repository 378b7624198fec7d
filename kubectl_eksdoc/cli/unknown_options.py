"""``--accept-unknown``: what may stay unknown."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import values

if TYPE_CHECKING:  # help must not pay for codes
    from kubectl_eksdoc.core.model.codes import Code


def add_accepted(
    group: argparse._ArgumentGroup, codes: Callable[[], Iterable[Code]], of: str, otherwise: str = "exit code 5"
) -> None:
    """Add it for `codes`, which are asked for only where the flag is given; `of` says which they are, for the error of
    another one. `otherwise`: what follows where something unknown is not accepted."""

    group.add_argument(
        "--accept-unknown",
        type=values.Codes(lambda: (code.name for code in codes()), of),
        default=(),
        metavar="CODE,…",
        help=f"findings that may be unknown without {otherwise}",
    )
