"""Install an archive as krew does (internal/download/downloader.go and internal/installation/install.go), and find the
Pythons of this machine."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_SAY = "import sys; print(sys.implementation.name, *sys.version_info[:2])"


def upgrade(archive: bytes, home: Path, name: str, program: str) -> Path:
    """Install and link the new version, and then remove the old one (internal/installation/upgrade.go)."""
    link = install(archive, home, name, program, "v1")
    shutil.rmtree(home / "store" / name / "v0")
    return link


def install(archive: bytes, home: Path, name: str, program: str, version: str = "v0") -> Path:
    """Unpack the archive into the store of `home`, and link it; returns the link. It refuses what krew refuses."""
    assert archive.startswith(b"\x1f\x8b\x08")
    store = home / "store" / name / version
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        for entry in tar:
            assert ".." not in entry.name and not entry.name.startswith(("/", "\\")), entry.name
            path = store / entry.name
            if entry.isdir():
                path.mkdir(mode=entry.mode, parents=True, exist_ok=True)
                continue
            assert entry.type == tarfile.REGTYPE, (entry.name, entry.type)
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            content = tar.extractfile(entry)
            assert content is not None
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, entry.mode), "wb") as file:
                shutil.copyfileobj(content, file)
    return link(home, name, store / program)


def link(home: Path, name: str, program: Path) -> Path:
    """``kubectl-eksdoc_drain`` of ``eksdoc-drain``. An existing link is replaced; any other file there is an error."""
    assert program.exists()
    found = home / "bin" / f"kubectl-{name.replace('-', '_')}"
    found.parent.mkdir(parents=True, exist_ok=True)
    if found.is_symlink():
        found.unlink()
    found.symlink_to(program)
    return found


@cache
def pythons() -> dict[tuple[int, int], str]:
    """CPythons of this machine by version, as PATH and pyenv know them."""
    found: dict[tuple[int, int], str] = {}
    for program in _candidates():
        try:
            done = subprocess.run([program, "-c", _SAY], capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        words = done.stdout.split()
        if done.returncode == 0 and words[:1] == ["cpython"]:
            found.setdefault((int(words[1]), int(words[2])), os.path.realpath(program))
    return dict(sorted(found.items()))


def _candidates() -> Iterator[str]:
    for minor in range(6, 20):
        program = shutil.which(f"python3.{minor}")
        if program and "shims" not in Path(program).parts:
            yield program
    pyenv = shutil.which("pyenv")
    if pyenv:
        done = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False)
        yield from map(str, sorted(Path(done.stdout.strip()).glob("versions/*/bin/python3")))


def path_of(folder: Path, **programs: str) -> str:
    """A PATH with one folder, which has only links to those programs."""
    folder.mkdir(parents=True)
    for name, program in programs.items():
        (folder / name.replace("_", ".")).symlink_to(program)
    return str(folder)


_NEWER = """\
import collections, importlib.machinery, os, sys
del os.environ["PYTHONPATH"]  # what it starts is what it is
Version = collections.namedtuple("version_info", "major minor micro releaselevel serial")
sys.version_info = Version(3, {minor}, 0, "final", 0)
sys.version = "3.{minor}.0 (main)"
importlib.machinery.EXTENSION_SUFFIXES[:] = [
    each.replace("{here}", "cpython-3{minor}") for each in importlib.machinery.EXTENSION_SUFFIXES
]
"""


def newer_python(folder: Path, minor: int) -> str:
    """A program that runs this Python, but reports to be CPython 3.`minor`, with that version's names of compiled
    modules."""
    folder.mkdir(parents=True)
    code = _NEWER.format(minor=minor, here=sys.implementation.cache_tag)
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    program = folder / "python"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={folder} exec {os.path.realpath(sys.executable)} "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    return str(program)
