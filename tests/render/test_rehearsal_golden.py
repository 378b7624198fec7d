"""One golden file per format of a rehearsal that goes well and of one that does not; see `test_golden`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.render.rehearsal import RehearsalReport
from kubectl_eksdoc.render.text import Look
from tests.render.rehearsals import BADLY, WELL, a_rehearsal_view
from tests.render.test_golden import check_golden

render = RehearsalReport.render

GOLDEN = Path(__file__).parent / "golden_rehearsal"

REHEARSALS = {"well": WELL, "badly": BADLY}

CASES = {
    "table-120.txt": ("table", Look()),
    "table-80.txt": ("table", Look(width=80)),
    "table-ascii.txt": ("table", Look(ascii=True)),
    "table-no-headers.txt": ("table", Look(headers=False)),
    "table-colour.txt": ("table", Look(colour=True)),
    "wide.txt": ("wide", Look()),
    "markdown.md": ("markdown", Look()),
    "rehearsal.json": ("json", Look()),
    "rehearsal.yaml": ("yaml", Look()),
}


@pytest.mark.parametrize("went", REHEARSALS)
@pytest.mark.parametrize("name", CASES)
def test_golden(went: str, name: str) -> None:
    fmt, look = CASES[name]
    check_golden(GOLDEN / f"{went}-{name}", render(a_rehearsal_view(REHEARSALS[went]), fmt, look))


def test_every_format_has_a_golden_file_and_no_file_is_left_over() -> None:
    assert {fmt for fmt, _ in CASES.values()} == set(RehearsalReport.formats)
    assert {path.name for path in GOLDEN.iterdir()} == {f"{went}-{name}" for went in REHEARSALS for name in CASES}
