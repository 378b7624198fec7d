"""Runs of ``check`` that several tests share: each worker runs a command line once."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.cli.running import Ran, run_cli

RICH = str(Path(__file__).parents[2] / "data" / "clusters" / "rich.tar.gz")


@cache
def check(*argv: str) -> Ran:
    return run_cli("check", *argv)


@cache
def document(*argv: str) -> dict[str, Any]:
    """The document of a run; tests only read it."""
    found: dict[str, Any] = json.loads(check(*argv, "-o", "json").out)
    return found
