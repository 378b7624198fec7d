"""Amounts of resources as Kubernetes writes them (``250m``, ``1.5Gi``, ``2e3``), as exact whole numbers.

The grammar is that of apimachinery's ``resource.ParseQuantity`` (pkg/api/resource/quantity.go). Sums must be
exact before they are rounded, so an amount is a count of billionths, the smallest unit there is.
"""

from __future__ import annotations

import re

NANOS = 10**9
"""Billionths in one."""

_FORM = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:([eE][+-]?[0-9]{1,4})|(n|u|m|k|M|G|T|P|E|[KMGTPE]i)?)\Z")
_POWER = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_LONGEST = 64
_MOST = (2**63 - 1) * NANOS


class InvalidQuantity(ValueError):
    """The text is not an amount; the message quotes it."""


def is_amount(text: str) -> bool:
    try:
        nanos(text)
    except InvalidQuantity:
        return False
    return True


def nanos(text: str) -> int:
    """The amount in billionths; what is finer is rounded away from zero, what is past 2^63-1 is cut to it.

    Raises:
        InvalidQuantity: the text does not follow the grammar.
    """
    match = _FORM.match(text) if len(text) <= _LONGEST else None
    if match is None:
        raise InvalidQuantity(f"{text!r} is not an amount (as in 250m, 1.5Gi, 2e3)")
    sign, number, exponent, suffix = match.groups()
    whole, _, fraction = number.partition(".")
    digits = int(whole + fraction)
    power = 9 - len(fraction)
    if suffix in _BINARY:
        digits <<= _BINARY[suffix]
    else:
        power += int(exponent[1:]) if exponent else _POWER[suffix or ""]
    if not digits:
        return 0
    if power >= 0:
        amount = _MOST if power > _LONGEST else digits * 10**power
    else:
        # More places than any text has digits: the smallest amount there is.
        amount = 1 if -power > 4 * _LONGEST else -(-digits // 10**-power)
    amount = min(amount, _MOST)
    return -amount if sign == "-" else amount


def millis(amount: int) -> int:
    """Billionths as thousandths, rounded up (``Quantity.MilliValue``): millicores of an amount of cpu."""
    return -(-amount // 10**6)


def wholes(amount: int) -> int:
    """Billionths as whole units, rounded up (``Quantity.Value``): bytes, devices, pods."""
    return -(-amount // NANOS)
