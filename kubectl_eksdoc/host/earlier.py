"""Reads an answer that was saved with ``-o json`` or ``-o yaml``, to compare a new one with it."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Mapping

from kubectl_eksdoc.core.model.documents import API_VERSION, FLEET
from kubectl_eksdoc.core.model.earlier import Earlier
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.host.fields import Fields, Unfit, short
from kubectl_eksdoc.host.json_file import JsonFile
from kubectl_eksdoc.host.packing import MAGIC
from kubectl_eksdoc.host.saved_metadata import finding, identity, known, options, source

_EMPTY = "A shell empties the file it writes to before the command runs: compare into another file."
SNAPSHOT = "a snapshot, and not an answer: save the result with -o json"
_OF_A_FLEET = """Take that of one: jq '.members[] | select(.name == "NAME") | .result' FILE > ONE"""
_BEGINS = ((b"PK\x03\x04", SNAPSHOT), (b"\x28\xb5\x2f\xfd", SNAPSHOT))
"""Of zip, and Zstandard (RFC 8878)."""
_TAR_AT, _TAR = 257, b"ustar"
"""Where a tar archive says that it is one (POSIX pax)."""


def read_earlier(path: str, kind: str, command: str) -> Earlier:
    """The answer of `command` that was saved at `path`, a document of `kind`.

    Raises:
        BaselineError: it cannot be opened, is something else, or of another form; a sentence says what.
    """
    make = f"Save one with: kubectl eksdoc {command} -o json > FILE"
    if is_snapshot(path):
        raise BaselineError(f"{path} is {SNAPSHOT}", make)
    file = JsonFile(
        "the earlier answer", "no answer of this tool", BaselineError, make, "--since", _EMPTY, _BEGINS, yaml=True
    )
    document = _answer(path, file.read(path), kind, command, make)
    try:
        return _earlier(document, path)
    except Unfit as error:
        hint = f"It says that it was made by kubectl eksdoc {maker(document)}. {make}"
        raise BaselineError(f"{path} is not as this version writes it: {error}", hint) from error


def is_snapshot(path: str) -> bool:
    """Whether what lies there holds what was read rather than what was found: a folder or an archive. What cannot be
    opened is none, and an answer may be packed by itself."""
    try:
        if os.path.isdir(path):
            return True
        with open(path, "rb") as file:
            begin = file.read(_TAR_AT + len(_TAR))
        if begin.startswith(MAGIC):
            with gzip.open(path) as packed:
                begin = packed.read(_TAR_AT + len(_TAR))
    except (OSError, ValueError, EOFError, zlib.error):
        return False
    return begin.startswith(tuple(mark for mark, _ in _BEGINS)) or begin[_TAR_AT:] == _TAR


def maker(document: object) -> str:
    """Which version it says has made it."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    version = metadata.get("toolVersion") if isinstance(metadata, dict) else None
    return short(version) if isinstance(version, str) and version else "of unknown version"


def _answer(path: str, document: object, kind: str, command: str, make: str) -> dict[str, object]:
    """`document` if it calls itself one of `kind` in this version's form."""
    if not isinstance(document, dict):
        raise BaselineError(f"{path} is no answer of this tool: it is no object", make)
    version, what = document.get("apiVersion"), document.get("kind")
    ours = isinstance(version, str) and version.partition("/")[0] == API_VERSION.partition("/")[0]
    if not ours or not isinstance(what, str):
        other = f"a {short(what)}, as a dump is" if isinstance(what, str) and what else "something else"
        raise BaselineError(f"{path} is no answer of this tool: it is {other}", make)
    if what == FLEET:
        raise BaselineError(f"{path} is the answer of a fleet: only that of one cluster is compared", _OF_A_FLEET)
    if what != kind:
        raise BaselineError(f"{path} is an answer of another command than {command}: {short(what)}", make)
    if version != API_VERSION:
        raise BaselineError(
            f"{path} is in the form {short(str(version))}, and this version reads only {API_VERSION}",
            f"It says that it was made by kubectl eksdoc {maker(document)}. {make}",
        )
    return document


def _earlier(document: Mapping[str, object], path: str) -> Earlier:
    """What an older version does not write yet is left open."""
    answer = Fields(document)
    metadata = answer.inside("metadata")
    return Earlier(
        file=path,
        identity=identity(metadata.inside("cluster")),
        source=source(metadata),
        observed_at=metadata.moment("observedAt"),
        tool_version=metadata.text("toolVersion"),
        options=options(metadata.inside("options")),
        read=frozenset(each.text("resource") for each in metadata.each("kindsRead") if known(each)),
        findings=tuple(map(finding, answer.each("findings"))),
        suppressed=tuple(finding(each.inside("finding")) for each in _if_there(answer, "suppressed")),
        codes=_codes(answer),
        addons=frozenset(each.text("name") for each in _if_there(answer, "addons")),
        way=_way(answer),
    )


def _if_there(answer: Fields, key: str) -> tuple[Fields, ...]:
    return tuple(answer.each(key)) if key in answer.names() else ()


def _codes(answer: Fields) -> frozenset[str] | None:
    if "checks" not in answer.names():
        return None
    return frozenset(code for check in answer.each("checks") for code in check.texts("codes"))


def _way(answer: Fields) -> str:
    if "way" not in answer.names():
        return ""
    way = answer.inside("way")
    return f"{way.text('now')} → {way.text('target')}"
