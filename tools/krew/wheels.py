"""Wheels from the package index, through pip, with a local cache."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.krew.lock import Lock, sha256
from tools.krew.pins import Pin
from tools.krew.platforms import PYTHONS, Libc, Machine, fits

COMPILED = "msgspec"
"""Their compiled modules are required; there is no pure alternative."""
EITHER_WAY = ("charset-normalizer", "pyyaml")
"""They run without their compiled modules, which are left out."""

_PURE = re.compile(r"-(py3|py2\.py3)-none-any\.whl$")
_OLDEST_LINUX = Libc("manylinux_2_28_x86_64", "manylinux.*_x86_64")
_NEWER_MACOS = Libc("macosx_15_0_", "")

Fetch = Callable[..., "subprocess.CompletedProcess[str]"]
"""Called with the arguments of each download."""
_DOWNLOADS = """\
import json, sys
from pip._internal.cli.main import main
sys.exit(max([main(["download", *words]) for words in json.loads(sys.argv[1])]))
"""


class Unfetched(Exception):
    """A wheel is missing and cannot be downloaded, or is not the expected one; the message says why."""


def pip(*downloads: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """In one process: starting pip takes longer than a download."""
    command = [sys.executable, "-c", _DOWNLOADS, json.dumps(downloads)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class _Build(NamedTuple):
    """The target of a compiled wheel."""

    python: str
    libc: Libc

    @property
    def platform(self) -> str:
        """The platform that pip is asked for. The oldest macOS differs for each CPython; pip accepts wheels for an
        older one with a newer CPython."""
        return re.sub(r"^macosx_[0-9_]+?_(?=x|a)", _NEWER_MACOS.asked, self.libc.asked)

    def fits(self, name: str) -> bool:
        return fits(name, self.python, self.libc)


class Wheels:
    """Those in `folder`, and those that are downloaded into it. `locked`: their checksums; None accepts any."""

    def __init__(self, folder: Path, fetch: Fetch = pip, locked: Lock | None = None) -> None:
        self._folder = folder
        self._fetch = fetch
        self._locked = locked
        folder.mkdir(parents=True, exist_ok=True)

    def pure(self, pin: Pin) -> Path:
        """A wheel for any Python; where there is none, the one of the oldest CPython, always the same.

        Raises:
            Unfetched: it cannot be downloaded.
        """
        if pin.name in EITHER_WAY:
            return self._one(pin, lambda name: fits(name, PYTHONS[0], _OLDEST_LINUX), PYTHONS[0], _OLDEST_LINUX.asked)
        return self._one(pin, _is_pure, PYTHONS[0], "any")

    def fetch_pure(self, pins: Sequence[Pin]) -> None:
        """Download the missing ones at once. `pure` reports those that could not be downloaded."""
        sought = [pin for pin in pins if pin.name not in (COMPILED, *EITHER_WAY)]
        missing = [pin for pin in sought if self._kept(pin, _is_pure) is None]
        if len(missing) > 1:
            self._fetch(self._words(missing, PYTHONS[0], "any"))

    def compiled(self, pin: Pin, machine: Machine) -> list[Path]:
        """One for each CPython and libc, downloaded at once. Raises: as `pure`."""
        every = [_Build(python, libc) for libc in machine.libcs for python in PYTHONS]
        missing = [each for each in every if self._kept(pin, each.fits) is None]
        if len(missing) > 1:
            self._fetch(*(self._words([pin], each.python, each.platform) for each in missing))
        return [self._one(pin, each.fits, each.python, each.platform) for each in every]

    def every(self, pin: Pin, machines: Sequence[Machine], several: Sequence[str] = (COMPILED,)) -> list[Path]:
        """All wheels of it for the archives of `machines`. `several`: packages with a wheel for each Python there; for
        EITHER_WAY the wheel that pip installs. Raises: as `pure`."""
        if pin.name not in several:
            return [self.pure(pin)]
        return [path for machine in machines for path in self.compiled(pin, machine)]

    def _one(self, pin: Pin, wanted: Callable[[str], bool], python: str, platform: str) -> Path:
        path = self._found(pin, wanted, python, platform)
        if self._locked is not None and sha256(path) not in self._locked.get(str(pin), ()):
            raise Unfetched(
                f"{path.name} is not a wheel that tools/krew/requirements.txt names for {pin}: remove {path}, or, "
                "where constraints.txt was changed, run make lock and read what it changes"
            )
        return path

    def _found(self, pin: Pin, wanted: Callable[[str], bool], python: str, platform: str) -> Path:
        found = self._kept(pin, wanted)
        if found is not None:
            return found
        done = self._fetch(self._words([pin], python, platform))
        found = self._kept(pin, wanted)
        if found is None:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
            raise Unfetched(
                f"no wheel of {pin} for CPython {python} on {platform} could be fetched from the package index: "
                f"{said[-1].strip() if said else 'pip fetched none that fits'}"
            )
        return found

    def _words(self, pins: Sequence[Pin], python: str, platform: str) -> list[str]:
        only = ("--no-deps", "--only-binary=:all:", "--implementation", "cp")
        where = ("--python-version", python, "--platform", platform, "--dest", str(self._folder))
        quietly = ("--quiet", "--disable-pip-version-check", "--retries", "2")
        return [*quietly, *only, *where, *map(str, pins)]

    def _kept(self, pin: Pin, wanted: Callable[[str], bool]) -> Path | None:
        stem = f"{pin.name.replace('-', '_')}-{pin.version}-"
        names = sorted(path.name for path in self._folder.glob("*.whl"))
        return next((self._folder / n for n in names if n.lower().startswith(stem) and wanted(n)), None)


def _is_pure(name: str) -> bool:
    return _PURE.search(name) is not None
