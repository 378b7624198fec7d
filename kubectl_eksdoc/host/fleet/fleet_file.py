"""A file that names the clusters of a fleet: a list in YAML or JSON, or plain lines."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.documents import hand_written, read_text

MOST_BYTES = 1 << 20
FLAG = "--fleet"
_LISTS = ("members", "fleet", "clusters", "contexts")
_PATHS = ("kubeconfig", "snapshot")
_STRUCTURED = re.compile(r"---|-(\s|$)|[\[{]|\S+:(\s|$)")
"""How the first line of a document begins; that of plain lines is the name of a context."""
_COMMENT = re.compile(r"(^|\s)#.*")


def named_file(text: str) -> str:
    """The path that `text` names, "" where it is no file: what begins with ``@``, ``./``, ``../``, ``/`` or ``~/``, and
    whatever is a file here."""
    if text.startswith("@"):
        return text[1:]
    if text.startswith(("./", "../", "/", "~/")):
        return text
    return text if os.path.isfile(text) else ""


def read_fleet(path: str, wanted: str) -> list[object]:
    """Its entries, as they are written; paths in them belong to the folder of the file. `wanted` says what to give.

    Raises:
        UsageError: it cannot be read, or holds no list.
    """
    path = os.path.expanduser(path)
    text = read_text(path, FLAG, MOST_BYTES, wanted)
    plain = [line for line in (_COMMENT.sub("", line).strip() for line in text.splitlines()) if line]
    if not plain or not _STRUCTURED.match(plain[0]):
        return list(plain)
    try:
        found = hand_written(text)
    except ValueError as error:
        raise UsageError(f"{FLAG} {path} is neither YAML nor JSON: {error}", wanted) from error
    if isinstance(found, dict):
        found = next((found[key] for key in _LISTS if key in found), found)
    if not isinstance(found, list):
        raise UsageError(f"{FLAG} {path} holds no list of clusters", wanted)
    folder = os.path.dirname(path)
    return [_placed(each, folder) if isinstance(each, Mapping) else each for each in found]


def _placed(entry: Mapping[object, object], folder: str) -> dict[object, object]:
    return {key: _path(value, folder) if key in _PATHS else value for key, value in entry.items()}


def _path(value: object, folder: str) -> object:
    """As the file's folder has it; what is no text is told of later."""
    if not isinstance(value, str) or not value.strip():
        return value
    path = os.path.join(folder, os.path.expanduser(value.strip()))
    return f"./{path}" if path.startswith("-") else path  # alone it would be standard input, or a flag
