"""One golden file per format; EKSDOC_UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubectl_eksdoc.render.drain.report import DrainReport
from kubectl_eksdoc.render.text import Look
from tests.render.plans import a_view

render = DrainReport.render

GOLDEN = Path(__file__).parent / "golden"

CASES = {
    "table-120.txt": ("table", Look()),
    "table-80.txt": ("table", Look(width=80)),
    "table-ascii.txt": ("table", Look(ascii=True)),
    "table-no-headers.txt": ("table", Look(headers=False)),
    "table-colour.txt": ("table", Look(colour=True)),
    "wide.txt": ("wide", Look()),
    "markdown.md": ("markdown", Look()),
    "page.html": ("html", Look()),
    "plan.json": ("json", Look()),
    "plan.yaml": ("yaml", Look()),
    "name.txt": ("name", Look()),
}


def check_golden(path: Path, got: str) -> None:
    if os.environ.get("EKSDOC_UPDATE_GOLDEN"):
        path.write_text(got, encoding="utf-8", newline="\n")
    assert got == path.read_bytes().decode("utf-8")


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    fmt, look = CASES[name]
    check_golden(GOLDEN / name, render(a_view(), fmt, look))


def test_every_format_has_a_golden_file_and_no_file_is_left_over() -> None:
    assert {fmt for fmt, _ in CASES.values()} == set(DrainReport.formats)
    assert {path.name for path in GOLDEN.iterdir()} == set(CASES)
