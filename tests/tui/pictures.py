"""Pictures of the screens in colour: of fixed size, at a fixed time, with the Textual version of constraints.txt."""

from __future__ import annotations

import re
from pathlib import Path

from textual.app import App

from tests.report.golden import check_golden

DOCS = Path(__file__).parents[2] / "docs"
"""There readers see them."""

_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""They would be fetched from elsewhere: a picture of ours fetches nothing."""


def check_picture(path: Path, app: App[int]) -> None:
    drawn = _FONTS.sub("", app.export_screenshot(title="kubectl eksdoc --demo"))
    assert "url(http" not in drawn and "@import" not in drawn
    check_golden(path, drawn.rstrip() + "\n")
