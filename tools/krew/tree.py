"""The files of an archive: the launcher, the licence, and lib."""

from __future__ import annotations

import configparser
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.krew.contents import of_wheel
from tools.krew.pins import Pin, of_file
from tools.krew.platforms import Machine
from tools.krew.wheels import COMPILED, Wheels

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = "kubectl-eksdoc"
ENTRY = "kubectl-eksdoc-entry"
LICENCE = "LICENSE"
LIB = "lib"

_PACKAGE = "kubectl_eksdoc"
_LAUNCHER = (Path(__file__).with_name("launcher.sh"), Path(__file__).with_name("launcher.py"))
"""One file in two languages, in that order."""
_ENTRY = Path(__file__).with_name("entry.sh")


class Clash(Exception):
    """Two packages have the same file; the message names it."""


def of_machine(machine: Machine, wheels: Wheels, root: Path = ROOT) -> dict[str, bytes]:
    """By path in the archive.

    Raises:
        Unfetched: a wheel cannot be downloaded.
        NotPure: a package has a compiled file that is not allowed.
        Clash: two packages have the same file.
        ValueError: constraints.txt is invalid.
    """
    files = {LAUNCHER: launcher(), LICENCE: (root / LICENCE).read_bytes()}
    pins = of_file(root)
    wheels.fetch_pure(pins)
    for pin in pins:
        _add(files, _of_pin(pin, machine, wheels), str(pin))
    _add(files, {path.relative_to(root).as_posix(): path.read_bytes() for path in _own(root)}, _PACKAGE)
    return files


def of_entry(root: Path = ROOT) -> dict[str, bytes]:
    """The files of a plugin that stands for one command: it has no program of its own."""
    return {ENTRY: _ENTRY.read_bytes(), LICENCE: (root / LICENCE).read_bytes()}


def launcher() -> bytes:
    return b"".join(path.read_bytes() for path in _LAUNCHER)


def _of_pin(pin: Pin, machine: Machine, wheels: Wheels) -> Mapping[str, bytes]:
    if pin.name != COMPILED:
        return of_wheel(wheels.pure(pin), pin)
    files: dict[str, bytes] = {}
    for wheel in reversed(wheels.compiled(pin, machine)):  # of files that all have, the one of the first
        files.update(of_wheel(wheel, pin))
    records = [name for name in files if name.endswith("/RECORD")]
    return {name: content for name, content in files.items() if name not in records}


def _add(files: dict[str, bytes], more: Mapping[str, bytes], whose: str) -> None:
    for name, content in more.items():
        path = f"{LIB}/{name}"
        if files.setdefault(path, content) != content:
            raise Clash(f"{whose} brings {name}, which another package has brought")


def _own(root: Path) -> Iterator[Path]:
    """The modules, and the data files in setup.cfg."""
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg", encoding="utf-8")
    package = root / _PACKAGE
    for pattern in ("**/*.py", *config["options.package_data"][_PACKAGE].split()):
        yield from (path for path in sorted(package.glob(pattern)) if path.is_file())
