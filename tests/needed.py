"""What some tests need of the machine: without it they are skipped, and in CI they fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import NoReturn

import pytest


def missing(what: str, environ: Mapping[str, str] = os.environ) -> NoReturn:
    """End the test for want of `what`: skipped, but failed where EKSDOC_CI says that all must be there."""
    if environ.get("EKSDOC_CI", "0") not in ("", "0"):
        pytest.fail(f"CI must have {what}, and there is none", pytrace=False)
    pytest.skip(f"no {what} here")


def found(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """The path of the program `name`, or the end of the test."""
    return shutil.which(name, path=environ.get("PATH", os.defpath)) or missing(name, environ)


def kubectl() -> str:
    """The path of the real kubectl, or the end of the test."""
    return found("kubectl")
