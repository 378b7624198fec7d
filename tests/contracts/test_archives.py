"""What is handed out: the source archive is a whole clone, the wheel is the package and nothing else."""

from __future__ import annotations

import configparser
import importlib.metadata
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import needed
from tests.contracts.source import PACKAGE, ROOT

BUILDER = (70, 1)  # of setuptools, as the test extra asks for
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


@dataclass(frozen=True)
class Archives:
    source: dict[str, int]  # name without the archive's folder -> mode
    wheel: frozenset[str]
    metadata: str


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Archives:
    """Both archives, the wheel made of the source archive as an installer would, without any network."""
    if tuple(int(part) for part in importlib.metadata.version("setuptools").split(".")[:2]) < BUILDER:
        needed.missing("setuptools 70.1 or newer")
    top = tmp_path_factory.mktemp("archives")
    shutil.copytree(ROOT, top / "clone", ignore=shutil.ignore_patterns(*NOT_OURS))
    _run(top / "clone", "-c", "from setuptools import build_meta; build_meta.build_sdist('..')")
    (source,) = top.glob("*.tar.gz")
    quiet = ("--quiet", "--disable-pip-version-check")
    offline = ("--no-deps", "--no-index", "--no-build-isolation")
    _run(top, "-m", "pip", "wheel", *quiet, *offline, "--wheel-dir", ".", str(source))
    (wheel,) = top.glob("*.whl")
    with tarfile.open(source) as tar:
        names = {m.name.partition("/")[2]: m.mode for m in tar.getmembers() if m.isfile()}
    with zipfile.ZipFile(wheel) as file:
        (metadata,) = (n for n in file.namelist() if n.endswith(".dist-info/METADATA"))
        return Archives(names, frozenset(file.namelist()), file.read(metadata).decode())


def _run(folder: Path, *words: str) -> None:
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _held(top: Path) -> set[str]:
    return {p.relative_to(ROOT).as_posix() for p in top.rglob("*") if p.is_file() and not _generated(p)}


def _generated(path: Path) -> bool:
    inside = path.relative_to(ROOT)
    hidden = any(part.startswith(".") and part not in (".ci", ".github", ".krew") for part in inside.parts[:-1])
    return hidden or "__pycache__" in inside.parts or inside.parts[:2] == ("bench", "out")


def test_every_file_of_the_package_and_every_folder_is_named_to_be_packed() -> None:
    """What the archives hold is seen only when they are made, which takes long."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    patterns = config["options.package_data"][PACKAGE.name].split()
    packed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    assert [name for name in _held(PACKAGE) if not name.endswith(".py") and ROOT / name not in packed] == []
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").split()
    folders = {name for name in TOPS if f"graft {name}" in " ".join(manifest)}
    assert {*TOPS} - folders == {".ci", PACKAGE.name} and {".ci/run", *SINGLE} - {"MANIFEST.in"} <= {*manifest}


@pytest.mark.long
@pytest.mark.parametrize("top", TOPS)
def test_the_source_archive_holds_each_folder_as_it_is(archives: Archives, top: str) -> None:
    assert {name for name in archives.source if name.startswith(f"{top}/")} == _held(ROOT / top)


@pytest.mark.long
def test_the_source_archive_holds_what_make_reads(archives: Archives) -> None:
    assert [name for name in SINGLE if name not in archives.source] == []
    assert archives.source[".ci/run"] & 0o100, ".ci/run has lost its right to run"


@pytest.mark.long
def test_the_wheel_is_the_package_and_nothing_else(archives: Archives) -> None:
    inside = {name for name in archives.wheel if ".dist-info/" not in name}
    assert inside == _held(PACKAGE)
    assert {"kubectl_eksdoc/py.typed", "kubectl_eksdoc/render/schemas/DrainPlan.json"} <= inside
    assert [name for name in archives.wheel if name.endswith("/LICENSE")] != []


@pytest.mark.long
def test_the_wheel_says_what_it_is(archives: Archives) -> None:
    assert "License: Apache-2.0" in archives.metadata.splitlines()
    assert "Requires-Python: >=3.10" in archives.metadata.splitlines()
    assert "# kubectl eksdoc" in archives.metadata
