"""The files of a wheel that are needed at run time."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from kubectl_eksdoc.aws.sessions import CREDENTIAL_SERVICES
from kubectl_eksdoc.model import aws_operations as questions
from tools.krew.pins import Pin
from tools.krew.wheels import COMPILED, EITHER_WAY

SERVICES: frozenset[str] = frozenset(each.service for each in questions.ALL) | CREDENTIAL_SERVICES
"""AWS services: those that the tool calls, and those that provide credentials."""

_COMPILED = re.compile(r"\.(so|pyd|dylib|dll|a|o)(\.[0-9.]+)?$")
_COMPILED_HEADS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_LEFT_OUT = re.compile(
    r"(^|/)(tests?|__pycache__)/|\.(pyc|pyi|pyx|pxd|c|h)$|^boto3/examples/|^boto3/data/|^textual/demo/"
    r"|\.dist-info/(RECORD|WHEEL|INSTALLER|entry_points\.txt|top_level\.txt)$"
)
_MODEL = re.compile(r"^botocore/data/(?P<service>[^/]+)/(?P<version>[0-9-]+)/(?P<part>.+)$")
_MODEL_PARTS = re.compile(r"(service-2|endpoint-rule-set-1|paginators-1|waiters-2)(\.sdk-extras)?\.json(\.gz)?")


class NotPure(Exception):
    """A package has an unexpected compiled file; the message names it."""


@cache
def of_wheel(wheel: Path, pin: Pin) -> Mapping[str, bytes]:
    """The kept files, by path below lib.

    Raises:
        NotPure: it has a compiled file that is not allowed.
    """
    held = _unpacked(wheel)
    compiled = {name for name, content in held.items() if is_compiled(name, content)}
    if compiled and pin.name not in (COMPILED, *EITHER_WAY):
        raise NotPure(f"{pin} brings a compiled file: {min(compiled)}")
    models = _newest(held)
    kept = {
        name: content
        for name, content in held.items()
        if not _LEFT_OUT.search(name)
        and (name not in compiled or pin.name == COMPILED)
        and (not _MODEL.match(name) or name in models)
    }
    return MappingProxyType(kept | _record(kept))


def is_compiled(name: str, content: bytes) -> bool:
    return _COMPILED.search(name) is not None or content.startswith(_COMPILED_HEADS)


def _unpacked(wheel: Path) -> dict[str, bytes]:
    """By installed path: modules in ``.data`` are beside the others, and scripts are left out.

    Raises:
        ValueError: it is not a wheel.
    """
    try:
        return _read(wheel)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{wheel} is cut short or damaged ({error}): remove it, and it is fetched again") from error


def _read(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        held = {}
        for name in archive.namelist():
            data = re.match(r"[^/]+\.data/(?P<scheme>[^/]+)/(?P<path>.+)", name)
            if not name.endswith("/") and (data is None or data["scheme"] in ("purelib", "platlib")):
                held[data["path"] if data else name] = archive.read(name)
        return held


def _newest(names: Iterable[str]) -> set[str]:
    """The models of the used services, each in its newest version."""
    found = [match for match in map(_MODEL.match, names) if match and match["service"] in SERVICES]
    newest: dict[str, str] = {}
    for match in found:
        newest[match["service"]] = max(newest.get(match["service"], ""), match["version"])
    return {
        match[0]
        for match in found
        if match["version"] == newest[match["service"]] and _MODEL_PARTS.fullmatch(match["part"])
    }


def _record(kept: Mapping[str, bytes]) -> dict[str, bytes]:
    """importlib.metadata finds the files by it, for example licences."""
    info = next((name.partition("/")[0] for name in sorted(kept) if ".dist-info/" in name), "")
    return {f"{info}/RECORD": "".join(f"{name},,\n" for name in sorted(kept)).encode()} if info else {}
