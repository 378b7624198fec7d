"""Release archives: the source archive is a complete clone. The wheel is in `tests.tools.test_release`."""

from __future__ import annotations

import configparser
import importlib.metadata
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests import required_programs
from tests.contracts.source import PACKAGE, ROOT

BUILDER = (70, 1)  # of setuptools, as the test extra requires
NOT_OURS = (".git", ".venv*", "__pycache__", "*.egg-info", "build", "dist", "out", ".*_cache", ".hypothesis")
TOPS = (
    ".ci",
    ".github",
    ".krew",
    "bench",
    "completions",
    "deploy",
    "docs",
    "kubectl_eksdoc",
    "plugins",
    "tests",
    "tools",
)
SINGLE = (
    ".dockerignore",
    ".editorconfig",
    ".gitignore",
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "Dockerfile",
    "LICENSE",
    "MANIFEST.in",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "action.yml",
    "constraints.txt",
    "plugins.yaml",
    "pyproject.toml",
    "ruff.toml",
    "setup.cfg",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The mode of each file, by its name without the folder of the archive."""
    if tuple(int(part) for part in importlib.metadata.version("setuptools").split(".")[:2]) < BUILDER:
        required_programs.missing("setuptools 70.1 or newer")
    top = tmp_path_factory.mktemp("archives")
    shutil.copytree(ROOT, top / "clone", ignore=shutil.ignore_patterns(*NOT_OURS))
    command = [sys.executable, "-c", "from setuptools import build_meta; build_meta.build_sdist('..')"]
    done = subprocess.run(command, cwd=top / "clone", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = top.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        return {m.name.partition("/")[2]: m.mode for m in tar.getmembers() if m.isfile()}


def held(top: Path) -> set[str]:
    return {p.relative_to(ROOT).as_posix() for p in top.rglob("*") if p.is_file() and not _generated(p)}


def _generated(path: Path) -> bool:
    inside = path.relative_to(ROOT)
    hidden = any(part.startswith(".") and part not in (".ci", ".github", ".krew") for part in inside.parts[:-1])
    return hidden or "__pycache__" in inside.parts or inside.parts[:2] == ("bench", "out")


def test_every_file_of_the_package_and_every_folder_is_named_to_be_packed() -> None:
    """The content of an archive is known only once it is built, which takes long."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    patterns = config["options.package_data"][PACKAGE.name].split()
    packed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    assert [name for name in held(PACKAGE) if not name.endswith(".py") and ROOT / name not in packed] == []
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").split()
    folders = {name for name in TOPS if f"graft {name}" in " ".join(manifest)}
    assert {*TOPS} - folders == {".ci", PACKAGE.name} and {".ci/run", *SINGLE} - {"MANIFEST.in"} <= {*manifest}


@pytest.mark.long
@pytest.mark.parametrize("top", TOPS)
def test_the_source_archive_holds_each_folder_as_it_is(source: dict[str, int], top: str) -> None:
    assert {name for name in source if name.startswith(f"{top}/")} == held(ROOT / top)


@pytest.mark.long
def test_the_source_archive_holds_what_make_reads(source: dict[str, int]) -> None:
    assert [name for name in SINGLE if name not in source] == []
    assert source[".ci/run"] & 0o100, ".ci/run has lost its right to run"
