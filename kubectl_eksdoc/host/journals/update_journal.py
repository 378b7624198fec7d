"""The journals of updates and fixes on this machine: a file of lines for each, with what it was held against.

The first line has all that somebody needs who looks at it later: what was sent, what was there before, and what was
foretold: of texts that may be secrets, digests. The values of before stand beside it as they are, for there is no way
back without them; so a file is its owner's alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.journal import is_run_id
from kubectl_eksdoc.errors import LocalJournalError
from kubectl_eksdoc.host.journals.journal_file import ENDING, LineFile, for_its_owner, state_folder

FORMAT = 1
LARGEST = 64 << 20


def updates_folder(environ: Mapping[str, str], home: str) -> Path:
    """Raises LocalJournalError: there is no home."""
    return state_folder(environ, home) / "addon-updates"


def fixes_folder(environ: Mapping[str, str], home: str) -> Path:
    """Of fixes of the metadata service. Raises LocalJournalError: there is no home."""
    return state_folder(environ, home) / "metadata-fixes"


def dns_folder(environ: Mapping[str, str], home: str) -> Path:
    """Of changes of a CoreDNS that EKS does not manage. Raises LocalJournalError: there is no home."""
    return state_folder(environ, home) / "dns-changes"


class UpdateJournalFile:
    """A `flows.ports.UpdateJournal`. Mutable: it holds a file, which is made with the first entry."""

    def __init__(self, folder: Path, ident: str) -> None:
        self._folder = folder
        self._ident = ident
        self._file: LineFile | None = None
        self.path = folder / f"{ident}{ENDING}"

    def write(self, entry: Doc) -> None:
        """As `flows.ports.UpdateJournal.write`."""
        if self._file is None:
            self._file = LineFile(self._folder, f"{self._ident}{ENDING}")
        self._file.add(json.dumps({"v": FORMAT, **entry}, ensure_ascii=True, separators=(",", ":")) + "\n")

    def beside(self, ending: str, text: str) -> Path:
        """Another file of the same update, for its owner alone; a file that is there is written anew.

        Raises:
            LocalJournalError: it cannot be written.
        """
        path = self._folder / f"{self._ident}{ending}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            for_its_owner(descriptor)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise LocalJournalError(f"{path} cannot be written: {error.strerror}", "Make room, or allow it.") from error
        return path


def read_update(folder: Path, ident: str) -> tuple[Doc, ...]:
    """The entries of an update's journal; a line that was cut off is left out.

    Raises:
        LocalJournalError: there is none of that name, or it cannot be read.
    """
    path = folder / f"{ident}{ENDING}"
    if not is_run_id(ident) or not path.exists():
        known = ", ".join(updates(folder)[-5:]) or "none"
        raise LocalJournalError(f"there is no journal of {ident[:80]!r}", f"Those on this machine: {known}.")
    try:
        if path.stat().st_size > LARGEST:
            raise LocalJournalError(f"{path} has more than {LARGEST >> 20} MiB: that is no journal")
        text = path.read_bytes()
    except OSError as error:
        raise LocalJournalError(f"the journal {path} cannot be read: {error.strerror}", "Check its rights.") from error
    return tuple(entry for entry in map(_entry, text.splitlines()) if entry)


def _entry(line: bytes) -> Doc:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("v") == FORMAT else {}


def updates(folder: Path) -> tuple[str, ...]:
    """Those of which this machine has a journal, sorted: the latest last."""
    try:
        return tuple(sorted(path.name.removesuffix(ENDING) for path in folder.iterdir() if path.name.endswith(ENDING)))
    except OSError:
        return ()
