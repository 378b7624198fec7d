"""What is not known of AWS, and why: never pass, and never nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """`why` in a clause; `missing`: the IAM action that would tell, ``eks:DescribeAddon``, "" if that is not why."""

    why: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Absent:
    """AWS says that there is no such thing."""

    said: str
