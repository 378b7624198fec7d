"""The snapshot in the package equals the output of its generator, in any process, and a difference is reported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.demo.writing import DATA, added_to, files, stale, write


def test_the_package_has_what_is_made() -> None:
    assert stale(files(DATA), DATA) == []


def test_a_stale_file_is_found_and_written(tmp_path: Path) -> None:
    made = {tmp_path / "account.json": "a", tmp_path / "plain" / "objects.json": "o"}
    document = tmp_path / "schemas" / "x.json"
    write({**made, document: "{}"}, [*made, document])
    assert stale(made, tmp_path) == []
    (tmp_path / "account.json").write_text("other", encoding="utf-8")
    (tmp_path / "plain" / "aws.json").write_text("left behind", encoding="utf-8")
    (tmp_path / "plain" / "objects.json").unlink()
    changed = stale(made, tmp_path)
    assert [path.name for path in changed] == ["account.json", "aws.json", "objects.json"]
    write(made, changed)
    assert stale(made, tmp_path) == [] and document.exists()


@pytest.mark.long
def test_another_process_makes_the_same() -> None:
    path = ":".join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONHASHSEED": "2", "PYTHONPATH": path, "TZ": "Asia/Seoul"}
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
