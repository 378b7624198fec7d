"""Programs that some tests need on the machine: without them these tests are skipped, and in CI they fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pytest


def missing(what: str, environ: Mapping[str, str] = os.environ) -> NoReturn:
    """Skip the test because `what` is missing; fail it where EKSDOC_CI says that all programs must be installed."""
    if environ.get("EKSDOC_CI", "0") not in ("", "0"):
        pytest.fail(f"CI must have {what}, and there is none", pytrace=False)
    pytest.skip(f"no {what} here")


def found(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """The path of the program `name`; ends the test if it is missing."""
    return shutil.which(name, path=environ.get("PATH", os.defpath)) or missing(name, environ)


KUBECTLS = tuple(f"1.{minor}" for minor in range(29, 34))
"""The versions that clients are tested with, where they lie beside kubectl as kubectl.1.29, …; the newest is last."""


def kubectl_of(version: str) -> str:
    """The path of a kubectl of that version; for the newest version any kubectl will do, as most machines have only
    one."""
    program = kubectl()
    beside = Path(program).resolve().with_name(f"kubectl.{version}")
    if beside.exists():
        return str(beside)
    if version != KUBECTLS[-1]:
        pytest.skip(f"no kubectl {version} beside {program}")
    return program


def kubectl() -> str:
    """The path of the real kubectl; ends the test if it is missing."""
    return found("kubectl")


BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable")
"""As distributions call it."""


def chromium(environ: Mapping[str, str] = os.environ) -> str:
    """The path of a Chromium; ends the test if it is missing."""
    paths = (shutil.which(name, path=environ.get("PATH", os.defpath)) for name in BROWSERS)
    return next(filter(None, paths), None) or missing("chromium", environ)


BYTECODE = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if os.environ.get(name)}
"""For processes with an environment of their own: else each compiles the whole package, while others wait for it."""
