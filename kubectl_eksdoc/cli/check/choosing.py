"""Which checks are made, by the flags of ``check``."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli.options import without_from

if TYPE_CHECKING:  # help must not pay for checks
    from kubectl_eksdoc.check.checking import Check


def named_codes(only: Collection[str], areas: Collection[str]) -> tuple[str, ...]:
    """The finding codes that --only and --area ask for; none where neither is given."""
    if not areas:
        return tuple(only)
    from kubectl_eksdoc.check.registry import codes_of

    return tuple(dict.fromkeys((*only, *codes_of(areas))))


def chosen_from(args: argparse.Namespace) -> tuple[Check, ...]:
    from kubectl_eksdoc.check.areas import Gate
    from kubectl_eksdoc.check.registry import chosen
    from kubectl_eksdoc.check.symptoms import Symptom, codes_of

    codes = codes_of(Symptom(args.symptom)) if args.symptom else named_codes(args.only, args.area)
    return chosen(codes, Gate(args.gate) if args.gate else None, without_from(args))
