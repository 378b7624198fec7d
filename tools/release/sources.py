"""The source archive and the wheel, built from the files of the clone in a folder of their own.

Times are the date of the release, modes and owners are always the same, so the same files give the same bytes with the
same setuptools and zlib (constraints.txt pins setuptools).
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from tools.release.prepare import Refused, version_of

_DESCRIPTION = "PACKAGE.md"
"""README.md for the package index, where relative links do not work."""
_RELATIVE = re.compile(r"(!?)(\[[^]]*\]\()(?!https?:|#)")
_NOT_OURS = {"build", "dist", "__pycache__", "out"}
_RUN = 0o755


def files(root: Path) -> list[Path]:
    """The files of the clone, without those that git ignores; of a source archive all but its build output."""
    if not (root / ".git").exists():
        return sorted(path for path in root.rglob("*") if path.is_file() and not _built(path.relative_to(root)))
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return sorted(path for name in done.stdout.split("\0") if name and (path := root / name).is_file())


def _built(path: Path) -> bool:
    hidden = {part for part in path.parts[:-1] if part.startswith(".")} - {".ci", ".krew", ".github"}
    return bool(hidden or _NOT_OURS & {*path.parts} or path.parts[0].endswith(".egg-info"))


def packages(root: Path, epoch_s: int, work: Path) -> tuple[Path, Path]:
    """Build both in `work`.

    Raises:
        Refused: setuptools fails; its output is in the message.
    """
    clone = work / "clone"
    for path in files(root):
        copy = clone / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        copy.chmod(_mode(path.stat().st_mode))
    _describe(clone)
    _build("sdist", clone, work, epoch_s)
    (source,) = work.glob("*.tar.gz")
    source.write_bytes(normalized(source.read_bytes(), epoch_s))
    with tarfile.open(source) as archive:
        for entry in archive:  # packed above: no link, no path outside the folder
            _write(entry, archive, work / "sdist")
    (unpacked,) = (work / "sdist").iterdir()
    _build("wheel", unpacked, work, epoch_s)
    (wheel,) = work.glob("*.whl")
    return source, wheel


def _describe(clone: Path) -> None:
    setup, readme = ((clone / name).read_text(encoding="utf-8") for name in ("setup.cfg", "README.md"))
    (address,) = re.findall(r"^url = (\S+)$", setup, re.MULTILINE)
    text = described(readme, address, f"v{version_of(clone)}")
    (clone / _DESCRIPTION).write_text(text, encoding="utf-8")
    (clone / "setup.cfg").write_text(setup.replace("file: README.md\n", f"file: {_DESCRIPTION}\n"), encoding="utf-8")


def described(readme: str, address: str, tag: str) -> str:
    """With absolute links into the repository at `address`, and absolute image addresses."""
    return _RELATIVE.sub(lambda m: f"{m[1]}{m[2]}{address}/{'raw' if m[1] else 'blob'}/{tag}/", readme)


def _write(entry: tarfile.TarInfo, archive: tarfile.TarFile, into: Path) -> None:
    content = archive.extractfile(entry)
    if content is not None:
        path = into / entry.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.read())
        path.chmod(entry.mode)


def _build(kind: str, folder: Path, into: Path, epoch_s: int) -> None:
    # Files that setuptools writes itself have modes that depend on the umask.
    code = f"import os, sys; os.umask(0o022); from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch_s), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", code, str(into)]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"setuptools makes no {kind}: {(done.stderr.strip() or done.stdout.strip())[-500:]}")


def normalized(source: bytes, epoch_s: int) -> bytes:
    """A source archive sorted by name, all entries with the time `epoch_s` and without an owner."""
    held, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry, content in sorted(_entries(source), key=lambda each: each[0].name):
            clean = tarfile.TarInfo(entry.name)
            clean.size, clean.mtime, clean.mode = len(content), epoch_s, _mode(entry.mode)
            archive.addfile(clean, io.BytesIO(content))
    with gzip.GzipFile(filename="", fileobj=zipped, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(held.getvalue())
    return zipped.getvalue()


def _entries(source: bytes) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(source)) as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            if content is not None:
                yield entry, content.read()


def _mode(mode: int) -> int:
    return _RUN if mode & 0o100 else 0o644
