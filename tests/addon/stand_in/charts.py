"""Default values of the vpc-cni chart by version, and how a user's values override them.

Data: tests/data/aws/eks (the README there says where each file is from).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc

_DATA = Path(__file__).resolve().parents[2] / "data" / "aws" / "eks"

Number = tuple[int, ...]


@cache
def table(name: str) -> Mapping[str, Any]:
    """A JSON table of that folder, by chart version."""
    held: dict[str, Any] = json.loads(gzip.decompress((_DATA / f"{name}.json.gz").read_bytes()))
    return held


def versions() -> tuple[str, ...]:
    """Versions with known defaults, ``v1.8.0`` first."""
    return tuple(table("vpc-cni-chart-defaults"))


def chart_of(addon_version: str) -> str:
    """``v1.12.6-eksbuild.1`` → ``v1.12.6``. Raises ValueError for a version without known defaults."""
    chart = addon_version.partition("-")[0]
    if chart not in table("vpc-cni-chart-defaults"):
        raise ValueError(f"no defaults are known of the vpc-cni chart {chart}")
    return chart


def number_of(chart: str) -> Number:
    """``v1.12.6`` → ``(1, 12, 6)``."""
    return tuple(int(part) for part in chart.removeprefix("v").split("."))


def defaults(chart: str) -> Doc:
    """The chart's own values.yaml, less what the table leaves out (images, probes' commands, security contexts)."""
    held: Doc = table("vpc-cni-chart-defaults")[chart]
    return held


def over(values: Doc, user: Doc) -> Doc:
    """Merge the `user`'s values over `values` as Helm does: maps are merged, null removes a key, any other value
    overrides."""
    result = {**values}
    for key, wanted in user.items():
        held = result.get(key)
        if wanted is None:
            result.pop(key, None)
        else:
            result[key] = over(held if isinstance(held, dict) else {}, wanted) if isinstance(wanted, dict) else wanted
    return result
