"""Tags as EC2 and Auto Scaling write them."""

from __future__ import annotations

from collections.abc import Mapping

from tools.demo.meta import Json


def tags(pairs: Mapping[str, str]) -> list[Json]:
    """In the form of every EC2 answer."""
    return [{"Key": key, "Value": value} for key, value in sorted(pairs.items())]
