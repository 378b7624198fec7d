"""What an IntOrString of a budget means as an amount, where it means one.

Source: staging/src/k8s.io/apimachinery/pkg/util/intstr/intstr.go (GetScaledValueFromIntOrPercent),
Kubernetes v1.36. How an amount is scaled and rounded is in `budgets`.
"""

from __future__ import annotations

import re

from kubectl_eksdoc.core.model.budgets import Amount

_PERCENT = re.compile(r"([-+]?[0-9]+)%\Z")
_LONGEST = 64  # digits; anything longer is no int64, and Python refuses to convert very long text


def amount_of(value: int | str) -> Amount | None:
    """The amount; None for text that is no percentage, be it a bare number such as ``"90"``.

    A sign is read here; that an amount is not negative is the validation's business.
    """
    if isinstance(value, int):
        return Amount(value)
    match = _PERCENT.match(value)
    if match is None or len(match[1]) > _LONGEST:
        return None
    number = int(match[1])
    return Amount(number, percent=True) if -(2**63) <= number < 2**63 else None
