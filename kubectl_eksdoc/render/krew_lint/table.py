"""A plugin on one page: whether krew takes it, its platforms, and what is to be mended."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.plan.krew_lint.judging import JudgedPlatform
from kubectl_eksdoc.render.findings import findings
from kubectl_eksdoc.render.krew_lint.view import KrewLintView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import Drawn, Title, drawn
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.text import shown, wrap


def table(view: KrewLintView, look: Look, full: bool) -> str:
    """`full`: nothing is cut, and the source of every rule is named."""
    sections = [
        [look.paint(line, Tone.TITLE) for line in wrap(shown(view.verdict, look), look.columns)],
        drawn(Title("Platforms"), _platforms(view.lint.platforms), look, full),
        findings(view.lint.findings, "", look, full, named=True),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _platforms(platforms: Sequence[JudgedPlatform]) -> Drawn:
    columns = [
        Column("", right=True),
        Column("MACHINES", floor=14, lines=3),
        Column("PROGRAM", floor=14, middle=True),
        Column("ARCHIVE", floor=14, middle=True),
    ]
    return columns, [
        [
            str(each.number),
            ", ".join(map(str, each.machines)) or Cell("none", Tone.BAD),
            each.bin or "-",
            each.archive or Cell("not looked into", Tone.UNKNOWN),
        ]
        for each in platforms
    ]
