"""HTML by construction: what is not markup already is escaped, so that a cluster's text stays text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from html import escape

from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.text import clean

TONES = {Tone.GOOD: "good", Tone.WARN: "warn", Tone.BAD: "bad", Tone.UNKNOWN: "open"}

_SHORT = 30
"""Cells of so many characters are not broken into lines."""

_EMPTY = frozenset({"meta", "br", "rect", "line", "input"})


class Html(str):
    """Markup that may stand in a page as it is. Only this module makes it from other text."""

    __slots__ = ()


BREAK = Html("\n")
"""A line end in the page's source; one in a text of a cluster is shown as an escape."""


def text(said: str) -> Html:
    """`said` as it is shown: markup stays, anything else is cleaned and escaped."""
    return said if isinstance(said, Html) else Html(escape(clean(said), quote=True))


def el(tag: str, *inside: str, **attributes: str | int | bool) -> Html:
    """An element. ``class_`` is the attribute class, ``stroke_width`` is stroke-width; False leaves one out."""
    named = [(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items() if value is not False]
    marks = "".join(f" {name}" if value is True else f' {name}="{text(str(value))}"' for name, value in named)
    if tag in _EMPTY:
        return Html(f"<{tag}{marks}/>")
    return Html(f"<{tag}{marks}>{''.join(text(part) for part in inside)}</{tag}>")


def put(*parts: str, between: str = "") -> Html:
    """`parts` one after another; those that are empty are left out."""
    return Html(text(between).join(text(part) for part in parts if part))


def lines(parts: Iterable[str]) -> Html:
    return Html("\n".join(text(part) for part in parts if part))


def command(line: str) -> Html:
    """A command line that is selected as a whole by one click; nothing for none."""
    return el("pre", el("code", line)) if line else Html("")


def bullets(texts: Iterable[str], class_: str = "") -> Html:
    """A list; nothing where it is empty."""
    items = [el("li", each) for each in texts]
    return el("ul", *items, class_=class_ or False) if items else Html("")


def folded(summary: str, *inside: str, open_: bool = False, class_: str = "") -> Html:
    """Details under a line that opens them; nothing where there are none."""
    if not any(inside):
        return Html("")
    return el("details", el("summary", summary), BREAK, *inside, open=open_, class_=class_ or False)


def more(count: int, what: str = "") -> Html:
    """The line that says how many are left out; nothing where all are there."""
    said = f"… and {count} more{f' {what}' if what else ''}; all of them are in -o json."
    return el("p", said, class_="soft") if count > 0 else Html("")


def table(columns: Sequence[Column], rows: Sequence[Sequence[str | Cell]], names: Collection[str] = ()) -> Html:
    """A table that scrolls sideways by itself, by keys as well; what `names` lists are columns of names to copy.

    A column that a narrow terminal would drop is left out on a narrow screen as well.
    """
    if not rows:
        return Html("")
    marks = [_mark(column, i, rows, column.title in names) for i, column in enumerate(columns)]
    titles = (
        el("th" if c.title else "td", c.title.capitalize(), class_=m.replace("name", "").strip() or False)
        for c, m in zip(columns, marks, strict=True)
    )
    body = (el("tr", *(_cell(cell, mark) for cell, mark in zip(row, marks, strict=True))) for row in rows)
    whole = el("table", el("thead", el("tr", *titles)), BREAK, el("tbody", lines(body)))
    return el("div", whole, class_="scroll", tabindex=0)


def page(title: str, style: str, body: str) -> Html:
    """A whole document that loads nothing, sends nothing and runs no script; only `style` itself may style it."""
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    head = (
        Html('<meta charset="utf-8"/>'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        Html('<meta name="referrer" content="no-referrer"/>'),
        Html('<meta name="color-scheme" content="light dark"/>'),
        el("title", title),
        Html(f"<style>{style}</style>"),
    )
    document = el("html", el("head", BREAK, lines(head), BREAK), BREAK, el("body", BREAK, body, BREAK), lang="en")
    return Html(f"<!DOCTYPE html>\n{document}\n")


def _mark(column: Column, at: int, rows: Sequence[Sequence[str | Cell]], name: bool) -> str:
    """The classes of a column's cells; ``s`` where all are short enough to stay on one line."""
    texts = (row[at] for row in rows)
    short = all(isinstance(cell, Html) or len(_said(cell)) <= _SHORT for cell in texts)
    words = (("n", column.right), ("name", name), ("s", short and not name), ("minor", column.drop))
    return " ".join(word for word, holds in words if holds)


def _cell(cell: str | Cell, mark: str) -> Html:
    tone = TONES.get(cell.tone, "") if isinstance(cell, Cell) and cell.tone else ""
    return el("td", _said(cell), class_=f"{mark} {tone}".strip() or False)


def _said(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell
