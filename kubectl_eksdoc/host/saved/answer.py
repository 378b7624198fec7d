"""A saved answer of this tool (``-o json``, ``-o yaml``): opened, and known to be one of the kind that is asked for."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Mapping
from typing import TypeVar

from kubectl_eksdoc.core.model.documents import API_VERSION, FLEET
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.host.documents.fields import Unfit, short
from kubectl_eksdoc.host.documents.json_file import JsonFile
from kubectl_eksdoc.host.documents.packing import MAGIC

_EMPTY = "A shell empties the file it writes to before the command runs: compare into another file."
_SNAPSHOT = "a snapshot, and not an answer: save the result with -o json"
_OF_A_FLEET = """Take that of one: jq '.members[] | select(.name == "NAME") | .result' FILE > ONE"""
_BEGINS = ((b"PK\x03\x04", _SNAPSHOT), (b"\x28\xb5\x2f\xfd", _SNAPSHOT))
"""Of zip, and Zstandard (RFC 8878)."""
_TAR_AT, _TAR = 257, b"ustar"
"""Where a tar archive says that it is one (POSIX pax)."""

_Made = TypeVar("_Made")


def read_answer(
    path: str, kind: str, command: str, make: Callable[[Mapping[str, object]], _Made], flag: str = "--since"
) -> _Made:
    """What `make` makes of the answer of `command` at `path`, a document of `kind`; it may raise Unfit. `flag` has
    given the path.

    Raises:
        BaselineError: it cannot be opened, is something else, or of another form; a sentence says what.
    """
    save = f"Save one with: kubectl eksdoc {command} -o json > FILE"
    if is_snapshot(path):
        raise BaselineError(f"{path} is {_SNAPSHOT}", save)
    file = JsonFile(
        "the earlier answer",
        "no answer of this tool",
        BaselineError,
        save,
        flag,
        f"{_EMPTY} {save}",
        _BEGINS,
        yaml=True,
    )
    document = _of_kind(path, file.read(path), kind, command, save)
    try:
        return make(document)
    except Unfit as error:
        hint = f"It says that it was made by kubectl eksdoc {_maker(document)}. {save}"
        raise BaselineError(f"{path} is not as this version writes it: {error}", hint) from error


def is_snapshot(path: str) -> bool:
    """Whether what lies there holds what was read rather than what was found: a folder or an archive. What cannot be
    opened is none, and an answer may be packed by itself."""
    try:
        if os.path.isdir(path):
            return True
        with opened(path) as file:
            begin = file.read(_TAR_AT + len(_TAR))
        if begin.startswith(MAGIC):
            with gzip.open(path) as packed:
                begin = packed.read(_TAR_AT + len(_TAR))
    except (OSError, ValueError, EOFError, zlib.error):
        return False
    return begin.startswith(tuple(mark for mark, _ in _BEGINS)) or begin[_TAR_AT:] == _TAR


def _maker(document: Mapping[str, object]) -> str:
    """Which version it says has made it."""
    metadata = document.get("metadata")
    version = metadata.get("toolVersion") if isinstance(metadata, dict) else None
    return short(version) if isinstance(version, str) and version else "of unknown version"


def _of_kind(path: str, document: object, kind: str, command: str, save: str) -> dict[str, object]:
    """`document` if it calls itself one of `kind` in this version's form."""
    if not isinstance(document, dict):
        raise BaselineError(f"{path} is no answer of this tool: it is no object", save)
    version, what = document.get("apiVersion"), document.get("kind")
    ours = isinstance(version, str) and version.partition("/")[0] == API_VERSION.partition("/")[0]
    if not ours or not isinstance(what, str):
        other = f"a {short(what)}, as a dump is" if isinstance(what, str) and what else "something else"
        raise BaselineError(f"{path} is no answer of this tool: it is {other}", save)
    if what == FLEET:
        raise BaselineError(f"{path} is the answer of a fleet: only that of one cluster is compared", _OF_A_FLEET)
    if what != kind:
        raise BaselineError(f"{path} is an answer of another command than {command}: {short(what)}", save)
    if version != API_VERSION:
        raise BaselineError(
            f"{path} is in the form {short(str(version))}, and this version reads only {API_VERSION}",
            f"It says that it was made by kubectl eksdoc {_maker(document)}. {save}",
        )
    return document
