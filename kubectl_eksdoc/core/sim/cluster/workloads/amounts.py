"""How many pods an amount such as ``25%`` is, of so many.

Source: apimachinery pkg/util/intstr/intstr.go (GetScaledValueFromIntOrPercent), Kubernetes v1.36.
"""

from __future__ import annotations

from kubectl_eksdoc.core.rules.amounts import amount_of


def scaled(value: int | str | None, total: int, default: int | str, *, up: bool) -> int:
    """The count, percentages rounded `up` or down; what is no amount counts as 0."""
    amount = amount_of(default if value is None else value)
    if amount is None:
        return 0
    if not amount.percent:
        return amount.value
    return -(-amount.value * total // 100) if up else amount.value * total // 100
