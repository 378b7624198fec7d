"""Compare all formats of a command with golden files. EKSDOC_UPDATE_GOLDEN=1 writes them again; read the diff."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

import kubectl_eksdoc.report.schemas as schemas
from kubectl_eksdoc.report.text import Appearance

TABLES = {
    "table-120.txt": ("table", Appearance(120)),
    "table-80.txt": ("table", Appearance(80)),
    "table-ascii.txt": ("table", Appearance(100, ascii=True)),
    "wide.txt": ("wide", Appearance(120)),
}


def check_golden(path: Path, got: str) -> None:
    if os.environ.get("EKSDOC_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(got, encoding="utf-8", newline="\n")
    assert got == path.read_bytes().decode("utf-8")


@cache
def judge(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schemas.load_schema(kind))


def complaints(document: Any) -> list[str]:
    """The faults of a document according to its published schema."""
    return [f"{error.json_path}: {error.message}" for error in judge(document["kind"]).iter_errors(document)]


@dataclass(frozen=True)
class AnswerFormats:
    """The formats of one command and their golden files. `views` builds reports by name.

    `goldens`: by file name in `folder`, the format, the appearance, and the name of the view if it is not the first.
    `loose`: broken documents that the schema accepts; it does not describe the paths `free`. Lines that begin with one
    of `whole`, or with one of the `commands` of a view, may be wider than the terminal."""

    folder: Path
    views: Mapping[str, Callable[[], Any]]
    goldens: Mapping[str, tuple[str, Appearance] | tuple[str, Appearance, str]]
    loose: Collection[str] = ()
    free: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    commands: Callable[[Any], Collection[str]] = lambda view: ()
    widths: tuple[int, ...] = (60, 80, 120)

    @property
    def first(self) -> Any:
        return next(iter(self.views.values()))()

    def shown(self, file: str) -> str:
        output, look, *view = self.goldens[file]
        made = self.views[view[0]]() if view else self.first
        text: str = made.render(output, look)
        return text

    def too_wide(self, view: Any, text: str, width: int) -> Iterator[str]:
        commands = self.commands(view)
        for line in text.splitlines():
            bare = line.strip()
            if len(line) > width and bare not in commands and not (self.whole and bare.startswith(self.whole)):
                yield line
