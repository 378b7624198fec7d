"""Resource quantities, durations and versions: parsing of the Kubernetes notation.

The grammar of quantities (``250m``, ``1.5Gi``, ``2e3``) is that of apimachinery's ``resource.ParseQuantity``
(pkg/api/resource/quantity.go). Sums must be exact before they are rounded, so an amount is a number of billionths, the
smallest unit.
"""

from __future__ import annotations

import re
from datetime import timedelta

from kubectl_eksdoc.frozen import frozen

NANOS = 10**9
"""Billionths in one."""

_QUANTITY = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:([eE][+-]?[0-9]{1,4})|(n|u|m|k|M|G|T|P|E|[KMGTPE]i)?)\Z")
_POWER = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MAX_DIGITS = 64
_MAX_NANOS = (2**63 - 1) * NANOS


class InvalidQuantity(ValueError):
    """The text is not a quantity; the message quotes it."""


def is_amount(text: str) -> bool:
    try:
        nanos(text)
    except InvalidQuantity:
        return False
    return True


def nanos(text: str) -> int:
    """The amount in billionths; smaller fractions are rounded away from zero, amounts above 2^63-1 are cut to it.

    Raises:
        InvalidQuantity: the text does not follow the grammar.
    """
    match = _QUANTITY.match(text) if len(text) <= _MAX_DIGITS else None
    if match is None:
        raise InvalidQuantity(f"{text!r} is not an amount (as in 250m, 1.5Gi, 2e3)")
    sign, number, exponent, suffix = match.groups()
    integer_part, _, fraction = number.partition(".")
    digits = int(integer_part + fraction)
    power = 9 - len(fraction)
    if suffix in _BINARY:
        digits <<= _BINARY[suffix]
    else:
        power += int(exponent[1:]) if exponent else _POWER[suffix or ""]
    if not digits:
        return 0
    if power >= 0:
        amount = _MAX_NANOS if power > _MAX_DIGITS else digits * 10**power
    else:
        # More decimal places than any text has digits: the smallest amount.
        amount = 1 if -power > 4 * _MAX_DIGITS else -(-digits // 10**-power)
    amount = min(amount, _MAX_NANOS)
    return -amount if sign == "-" else amount


def millis(amount: int) -> int:
    """Billionths as thousandths, rounded up (``Quantity.MilliValue``): millicores of CPU."""
    return -(-amount // 10**6)


def wholes(amount: int) -> int:
    """Billionths as whole units, rounded up (``Quantity.Value``): bytes, devices, pods."""
    return -(-amount // NANOS)


# Durations in Go's notation (``1h30m``, ``1.5h``, ``90s``), and in messages (``22 min``).


_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION_PART = re.compile(r"([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(ns|us|µs|μs|ms|s|m|h)")
_MAX_SECONDS = 2**63 / 1e9  # Go's longest duration, about 292 years


def go_duration(text: str) -> timedelta | None:
    """Parse like Go's ``time.ParseDuration``; None if it reports an error."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return timedelta(0)
    seconds, at = 0.0, 0
    while at < len(unsigned):
        part = _DURATION_PART.match(unsigned, at)
        if part is None:
            return None
        seconds += float(part[1]) * _SECONDS[part[2]]
        at = part.end()
    if not unsigned or seconds >= _MAX_SECONDS:
        return None
    return timedelta(seconds=-seconds if text[0] == "-" else seconds)


def format_duration(seconds: float) -> str:
    """Exact to the second: ``47s``, ``4m47s``, ``2h05m00s``."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02d}m{rest:02d}s"
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"


# Kubernetes versions as users and kubelets write them: ``v1.33``, ``1.33.1``, ``v1.33.1-eks-1b3e656``.


_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:[-+].*)?\Z")


@frozen
class Version:
    """`patch` is None if only a minor version was named; it sorts before all versions of that minor."""

    major: int
    minor: int
    patch: int | None = None

    def __lt__(self, other: Version) -> bool:
        return self._sort_key < other._sort_key

    @property
    def _sort_key(self) -> tuple[int, int, int]:
        return self.major, self.minor, -1 if self.patch is None else self.patch

    def older_than(self, other: Version) -> bool:
        """Whether this version is older than `other`; if `other` has no patch, by minor only."""
        own_minor, other_minor = (self.major, self.minor), (other.major, other.minor)
        if own_minor != other_minor or other.patch is None:
            return own_minor < other_minor
        return (self.patch or 0) < other.patch

    def __str__(self) -> str:
        text = f"v{self.major}.{self.minor}"
        return text if self.patch is None else f"{text}.{self.patch}"


def parse_version(text: str) -> Version | None:
    """The version in `text`, or None when it is not one."""
    match = _VERSION.match(text.strip())
    if not match:
        return None
    major, minor, patch = match.groups()
    return Version(int(major), int(minor), None if patch is None else int(patch))
