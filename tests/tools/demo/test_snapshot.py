"""The snapshot in the package is what its maker makes, in any process, and is told when it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.demo.writing import DATA, added_to, files


def test_the_package_has_what_is_made() -> None:
    made = files()
    assert {path for path, text in made.items() if path.read_text(encoding="utf-8") != text} == set()
    schemas = set((DATA / "schemas").iterdir())
    assert {path for path in DATA.rglob("*") if path.is_file()} == {*made, *schemas}


@pytest.mark.long
@pytest.mark.parametrize(("seed", "zone"), [("1", "UTC"), ("2", "Asia/Seoul")])
def test_another_process_makes_the_same(seed: str, zone: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path)), "TZ": zone}
    command = [sys.executable, "-m", "tools.demo", "--check"]
    done = subprocess.run(command, env=environment, cwd=Path(__file__).parents[3], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_scene_adds_and_changes() -> None:
    plain = {"v1 Pod": {"shop/a": 1, "shop/b": 2}, "v1 Node": {"/n": 1}}
    whole = {"v1 Pod": {"shop/a": 1, "shop/b": 3, "shop/c": 4}, "v1 Node": {"/n": 1}, "v1 Secret": {"shop/s": 1}}
    assert added_to(plain, whole) == {"v1 Pod": {"shop/b": 3, "shop/c": 4}, "v1 Secret": {"shop/s": 1}}


def test_a_scene_takes_nothing_away() -> None:
    with pytest.raises(AssertionError, match="lacks v1 Node /n"):
        added_to({"v1 Pod": {}, "v1 Node": {"/n": 1}}, {"v1 Pod": {}})
