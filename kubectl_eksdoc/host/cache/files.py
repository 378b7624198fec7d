"""Small files that may be lost at any time: ``$XDG_CACHE_HOME/eksdoc``, else ``~/.cache/eksdoc``."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_KEY = re.compile(r"[0-9a-f]{16,64}\Z")


def cache_folder(environ: Mapping[str, str], home: str) -> Path | None:
    """By the XDG Base Directory Specification 0.8, which has relative paths ignored; None where there is no home."""
    cache = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        if not os.path.isabs(home):
            return None
        cache = os.path.join(home, ".cache")
    return Path(cache) / "eksdoc"


class CacheFiles:
    """Those with one `ending`: at most `most`, of which the one that was written longest ago goes first, each of at
    most `largest` bytes. A key is a digest in hex."""

    def __init__(self, folder: Path, ending: str, most: int, largest: int) -> None:
        self._folder = folder
        self._ending = ending
        self._most = most
        self._largest = largest

    def of(self, key: str) -> bytes | None:
        """None where there is none, or none that can be used."""
        try:
            with open(self._path(key), "rb") as file:
                content = file.read(self._largest + 1)
            return content if len(content) <= self._largest else None
        except (OSError, ValueError):
            return None

    def keep(self, key: str, content: bytes) -> None:
        """Whoever reads it meanwhile finds the old one or this one, whole. Only its owner may. What cannot be written
        is not kept."""
        if len(content) > self._largest:
            return
        with suppress(OSError, ValueError):
            path = self._path(key)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chmod(self._folder, 0o700)
            self._replace(path, content)
            self._bound()

    def _path(self, key: str) -> Path:
        """Raises ValueError: that is no key."""
        if not _KEY.match(key):
            raise ValueError(key)
        return self._folder / f"{key}{self._ending}"

    def _replace(self, path: Path, content: bytes) -> None:
        new = path.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(new, path)
        except OSError:
            with suppress(OSError):
                os.unlink(new)
            raise

    def _bound(self) -> None:
        kept = sorted(self._folder.glob(f"*{self._ending}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[self._most :]:
            with suppress(OSError):  # another process took it away
                path.unlink()
