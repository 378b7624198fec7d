"""A file in JSON that another program wrote, packed with gzip or not: read whole and within bounds, or refused in a
sentence.

What is refused is said in the words of whoever asks for the file: each has an error of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.host.archives.archive import standard_input
from kubectl_eksdoc.host.documents.fields import short
from kubectl_eksdoc.host.documents.packing import MAGIC, unpacked
from kubectl_eksdoc.host.documents.plain_yaml import looks_like_yaml, plain_yaml

LARGEST = 256 << 20
"""Bytes. A plan of 30,000 pods has some 15 MB, one of Terraform some 20 MB; what is no file may never end."""


@dataclass(frozen=True, slots=True)
class JsonFile:
    """`name` with its article, ``the baseline``; `no` what it is not where it cannot be decoded, ``no plan``. `make`
    says how one is made; `empty` why it may be empty, "" for `make`. `flag`: "" where ``-`` is standard input.
    `foreign`: begins of files that people take for it, each with what they are. `yaml`: it may be that as well."""

    name: str
    no: str
    error: type[UsageError]
    make: str
    flag: str = ""
    empty: str = ""
    foreign: tuple[tuple[bytes, str], ...] = ()
    yaml: bool = False

    def read(self, path: str) -> object:
        """The document at `path`. The text may be UTF-16, as Windows PowerShell's > writes it.

        Raises:
            UsageError: as `error`: it cannot be opened, is too large, empty, or neither JSON nor what else it may be.
        """
        if path == "-" and self.flag:
            raise self.error(f"{self.flag} reads a file, not standard input", self.make)
        called = f"{self.name} {'on standard input' if path == '-' else path}"
        return self._decoded(called, self._content(path, called))

    def _content(self, path: str, called: str) -> bytes:
        try:
            with standard_input() if path == "-" else opened(path) as file:
                content = _all_of(file.read)
        except (OSError, ValueError) as error:  # ValueError: a path that no system takes
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise self.error(f"cannot read {called}: {why}", "Check the path and its permissions.") from error
        if content.startswith(MAGIC):
            try:
                content = unpacked(content, LARGEST)
            except ValueError as error:
                raise self.error(f"{called} is not JSON: {error}", self.make) from error
        if len(content) > LARGEST:
            raise self.error(f"{called} has more than {LARGEST >> 20} MiB: that is {self.no}", self.make)
        if not content.strip():
            raise self.error(f"{called} is empty", self.empty or self.make)
        for begin, what in self.foreign:
            if content.startswith(begin):
                raise self.error(f"{called} is {what}", self.make)
        return content

    def _decoded(self, called: str, content: bytes) -> object:
        if self.yaml and looks_like_yaml(content):
            try:
                return plain_yaml(content)
            except ValueError as error:
                what = f"{called} is neither JSON nor YAML, or not all of it: {short(str(error))}"
                raise self.error(what, self.make) from error
        try:
            document: object = json.loads(content, parse_constant=_no_number)
        except RecursionError as error:
            raise self.error(f"{called} is {self.no}: it is nested too deeply", self.make) from error
        except ValueError as error:  # not JSON, not Unicode, or a number of thousands of digits
            what = f"{called} is not JSON, or not all of it: {short(str(error))}"
            raise self.error(what, self.make) from error
        return document


def _all_of(read: Callable[[int], bytes | None]) -> bytes:
    """Up to one byte more than is allowed; a pipe gives less at a time than it is asked for."""
    parts: list[bytes] = []
    left = LARGEST + 1
    while left > 0 and (part := read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")
