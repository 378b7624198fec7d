"""Tags as EC2 and Auto Scaling write them."""

from __future__ import annotations

from collections.abc import Mapping

from tools.demo.meta import Json


def tags(pairs: Mapping[str, str]) -> list[Json]:
    """As every answer of EC2 says them."""
    return [{"Key": key, "Value": value} for key, value in sorted(pairs.items())]
