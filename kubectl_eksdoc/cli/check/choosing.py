"""Which checks are made, by the flags of ``check``."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli.options import without_from

if TYPE_CHECKING:  # help must not pay for checks
    from kubectl_eksdoc.check.checking import Check


def chosen_from(args: argparse.Namespace) -> tuple[Check, ...]:
    return chosen_by(args.only, args.gate or "", args.symptom or "", without_from(args))


def chosen_by(only: Collection[str], gate: str, symptom: str, without: Collection[str]) -> tuple[Check, ...]:
    """`symptom` "": by `only`, which are finding codes; `without`: opt-ins that are left out."""
    from kubectl_eksdoc.check.areas import Gate
    from kubectl_eksdoc.check.registry import chosen
    from kubectl_eksdoc.check.symptoms import Symptom, codes_of

    codes = codes_of(Symptom(symptom)) if symptom else only
    return chosen(codes, Gate(gate) if gate else None, without)
