"""Fixture for the release archives, built once for a test run."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from tests import required_programs
from tools.krew import lock
from tools.krew.build import archive_name, built
from tools.krew.platforms import MACHINES
from tools.krew.tree import ROOT
from tools.krew.wheels import Unfetched, Wheels


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The archives by machine name. Several processes test: the first one builds, the others wait for it."""
    top = tmp_path_factory.getbasetemp()
    top = top.parent if top.name.startswith("worker-") else top
    with (top / "krew.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        found = {machine.name: top / archive_name(machine) for machine in MACHINES}
        wheels = Wheels(ROOT / "build" / "krew" / "wheels", locked=lock.read())
        for machine in MACHINES:
            if not found[machine.name].exists():
                try:
                    built(machine, wheels, top)
                except Unfetched as error:
                    required_programs.missing(f"package index ({error})")
    return found
