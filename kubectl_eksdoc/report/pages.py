"""HTML pages: common frame, styles, tables, commands and remedies.

Belongs here: the frame from header to footer, the style sheet, commands and remedies to copy.
Never here: content of a single page; HTML generated without `report.pages`.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import NamedTuple

from kubectl_eksdoc.model.cluster import Cluster, Source

from .identity import NO_CLUSTER, UNKNOWN, identity_parts
from .text import (
    Appearance,
    Cell,
    Column,
    Row,
    Tone,
    cell_text,
    clean,
    first_items,
    pluralize,
    rfc3339,
)

# HTML by construction: text that is not `Html` is escaped, so that text from a cluster cannot become markup.


TONES = {Tone.GOOD: "good", Tone.WARN: "warn", Tone.BAD: "bad", Tone.UNKNOWN: "open"}

_MAX_UNBROKEN = 30
"""Cells of at most this many characters are not wrapped."""

_VOID_ELEMENTS = frozenset({"meta", "br", "rect", "line", "input"})


class Html(str):
    """Markup that goes into a page unchanged. Only this module converts other text to it."""

    __slots__ = ()


BREAK = Html("\n")
"""A newline in the page's source; a newline in text from a cluster is shown as an escape."""


def html_text(value: str) -> Html:
    """`value` as HTML: markup stays as it is, other text is cleaned and escaped."""
    return value if isinstance(value, Html) else Html(escape(clean(value), quote=True))


def element(tag: str, *content: str, **attributes: str | int | bool) -> Html:
    """An HTML element. The keyword ``class_`` is the attribute class, ``stroke_width`` is stroke-width; False omits the
    attribute."""
    attribute_items = [
        (name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items() if value is not False
    ]
    attribute_text = "".join(
        f" {name}" if value is True else f' {name}="{html_text(str(value))}"' for name, value in attribute_items
    )
    if tag in _VOID_ELEMENTS:
        return Html(f"<{tag}{attribute_text}/>")
    return Html(f"<{tag}{attribute_text}>{''.join(html_text(part) for part in content)}</{tag}>")


def concat(*parts: str, between: str = "") -> Html:
    """Concatenate `parts` with `between` as separator; empty parts are skipped."""
    return Html(html_text(between).join(html_text(part) for part in parts if part))


def html_lines(parts: Iterable[str]) -> Html:
    return Html("\n".join(html_text(part) for part in parts if part))


def command_block(line: str) -> Html:
    """A command line that one click selects as a whole; empty if there is none."""
    return element("pre", element("code", line)) if line else Html("")


def bullet_list(texts: Iterable[str], class_: str = "") -> Html:
    """A bullet list; empty if there are no texts."""
    items = [element("li", each) for each in texts]
    return element("ul", *items, class_=class_ or False) if items else Html("")


def collapsible(summary: str, *content: str, open_: bool = False, class_: str = "") -> Html:
    """A `details` element with a summary line; empty if it has no content."""
    if not any(content):
        return Html("")
    return element("details", element("summary", summary), BREAK, *content, open=open_, class_=class_ or False)


def omitted_note(count: int, noun: str = "") -> Html:
    """The line with the number of omitted items; empty if there are none."""
    message = f"… and {count} more{f' {noun}' if noun else ''}; all of them are in -o json."
    return element("p", message, class_="soft") if count > 0 else Html("")


def html_table(columns: Sequence[Column], rows: Sequence[Row], code_columns: Collection[str] = ()) -> Html:
    """A table that scrolls sideways, also by keyboard; the columns titled as in `code_columns` hold names to copy.

    A column that a narrow terminal drops is also hidden on a narrow screen.
    """
    if not rows:
        return Html("")
    cell_classes = [_column_classes(column, i, rows, column.title in code_columns) for i, column in enumerate(columns)]
    titles = (
        element("th" if c.title else "td", c.title.capitalize(), class_=m.replace("name", "").strip() or False)
        for c, m in zip(columns, cell_classes, strict=True)
    )
    body = (element("tr", *(_cell(cell, mark) for cell, mark in zip(row, cell_classes, strict=True))) for row in rows)
    table_element = element(
        "table", element("thead", element("tr", *titles)), BREAK, element("tbody", html_lines(body))
    )
    return element("div", table_element, class_="scroll", tabindex=0)


def html_document(title: str, style: str, body: str) -> Html:
    """A complete document that loads nothing, sends nothing and runs no script; the Content-Security-Policy allows
    `style` alone."""
    style_digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{style_digest}'; base-uri 'none'; form-action 'none'"
    head = (
        Html('<meta charset="utf-8"/>'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        Html('<meta name="referrer" content="no-referrer"/>'),
        Html('<meta name="color-scheme" content="light dark"/>'),
        element("title", title),
        Html(f"<style>{style}</style>"),
    )
    document = element(
        "html", element("head", BREAK, html_lines(head), BREAK), BREAK, element("body", BREAK, body, BREAK), lang="en"
    )
    return Html(f"<!DOCTYPE html>\n{document}\n")


def _column_classes(column: Column, index: int, rows: Sequence[Row], is_code: bool) -> str:
    """The CSS classes of a column's cells; ``s`` if all are short enough to stay on one line."""
    texts = (row[index] for row in rows)
    fits_one_line = all(isinstance(cell, Html) or len(cell_text(cell)) <= _MAX_UNBROKEN for cell in texts)
    class_flags = (
        ("n", column.align_right),
        ("name", is_code),
        ("s", fits_one_line and not is_code),
        ("minor", column.drop_order),
    )
    return " ".join(class_name for class_name, applies in class_flags if applies)


def _cell(cell: str | int | Cell, classes: str) -> Html:
    tone = TONES.get(cell.tone, "") if isinstance(cell, Cell) and cell.tone else ""
    return element("td", cell_text(cell), class_=f"{classes} {tone}".strip() or False)


# Commands that one click selects, and remedies whose flags are not wrapped.


_FLAG = re.compile(r"(--[a-z][a-z-]+[a-z])")
_MAX_SHOWN_COMMANDS = 5


def command_list(commands: Sequence[str]) -> Html:
    """Commands to copy; of a long list, all but the first few are folded."""
    shown_commands = first_items(commands, _MAX_SHOWN_COMMANDS)
    further_commands = commands[len(shown_commands) :]
    further_block = (
        collapsible(
            f"{pluralize(len(further_commands), 'command')} more like it",
            *(command_block(each) for each in further_commands),
        )
        if further_commands
        else ""
    )
    return concat(*(command_block(each) for each in shown_commands), further_block)


def remedy_block(when: str, sentence: str, commands: Sequence[str]) -> Html:
    """A remedy: what to do, when, and its commands."""
    heading = element("p", element("span", when, class_="when"), element("span", nowrap_flags(sentence)), class_="said")
    return element("div", heading, command_list(commands), class_="remedy")


def nowrap_flags(sentence: str) -> Html:
    """`sentence` as HTML; no flag in it is wrapped."""
    return concat(
        *(element("span", part, class_="flag") if _FLAG.fullmatch(part) else part for part in _FLAG.split(sentence))
    )


# Page frame: title and origin of the data, links to the sections, the sections, the footer.


class PageSection(NamedTuple):
    """A section of a page. `anchor` is its id, `nav_label` its name in the navigation; a section without content is
    left out."""

    anchor: str
    nav_label: str
    title: str
    content: Html


def origin_paragraph(cluster: Cluster, *extra_parts: str) -> Html:
    """The cluster, the origin and time of its data, and `extra_parts`."""
    identity = cluster.identity
    labelled = (*identity_parts(identity), ("server", identity.server_version))
    parts = [concat(f"{label} ", element("b", value or UNKNOWN)) for label, value in labelled]
    data = f"{cluster.source.value} data of {rfc3339(cluster.observed_at)}"
    origin_parts = (NO_CLUSTER,) if cluster.source is Source.FILE else (*parts, data)
    return element("p", concat(*origin_parts, *extra_parts, between=" · "), class_="origin")


def render_page(
    name: str,
    style: str,
    heading: Html,
    introduction: Html,
    sections: Iterable[PageSection],
    footer: str,
    appearance: Appearance,
) -> str:
    """The complete document: `heading` below its name, `introduction` before the sections. With `appearance.ascii`,
    non-ASCII characters become character references."""
    filled_sections = [each for each in sections if each.content]
    links = concat(*(element("a", each.nav_label, href=f"#{each.anchor}") for each in filled_sections), between=" ")
    body = html_lines(
        [
            element("header", element("h1", name), heading, element("nav", links, aria_label="Sections")),
            element("main", BREAK, html_lines([introduction, *map(_section_element, filled_sections)]), BREAK),
            element("footer", footer),
        ]
    )
    text = html_document(name, style, body)
    return text.encode("ascii", "xmlcharrefreplace").decode() if appearance.ascii else str(text)


def _section_element(section: PageSection) -> Html:
    return element("section", element("h2", section.title), BREAK, section.content, id=section.anchor)


# Style sheet: light and dark mode, narrow screens, and print.


STYLE = """
:root {
  color-scheme: light dark;
  --back: #fafafa; --card: #fff; --ink: #1c2024; --soft: #5b6470; --line: #dfe3e8; --code: #f1f3f5;
  --good: #0b7a4b; --warn: #8a5a00; --bad: #b4231f; --open: #6b3fa0;
  --good-back: #e6f5ed; --warn-back: #fdf3dc; --bad-back: #fdecea; --open-back: #f2ebfa;
  --bar: #2f6fbb; --bar-soft: #a9c7e8; --lack: #e58a86;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171a; --card: #1c2024; --ink: #e6e9ec; --soft: #9aa4af; --line: #343a41; --code: #262b31;
    --good: #56c991; --warn: #e3b341; --bad: #ff8078; --open: #c3a1f0;
    --good-back: #16301f; --warn-back: #33290f; --bad-back: #3a1c1b; --open-back: #2a2038;
    --bar: #5b9be6; --bar-soft: #2f4a68; --lack: #a5504c;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.25rem 1.25rem 3rem; max-width: 76rem; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
p { margin: .35rem 0; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
a { color: var(--bar); }
.soft, .origin, .origin b { color: var(--soft); }
.origin { font-size: .87rem; margin: .2rem 0 0; }
.origin b { font-weight: 600; }
nav { margin: .8rem 0 0; font-size: .87rem; }
nav a { margin-right: .9rem; white-space: nowrap; }
.verdict { margin: 1rem 0; padding: .9rem 1.1rem; border-radius: .5rem; border-left: .4rem solid; }
.verdict strong { display: block; font-size: 1.15rem; }
.verdict.good { background: var(--good-back); border-color: var(--good); }
.verdict.warn { background: var(--warn-back); border-color: var(--warn); }
.verdict.bad { background: var(--bad-back); border-color: var(--bad); }
.verdict.open { background: var(--open-back); border-color: var(--open); }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); } .open { color: var(--open); }
.verdict, .verdict.good, .verdict.warn, .verdict.bad, .verdict.open { color: var(--ink); }
.card, details { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; }
.card, details > :not(summary) { padding: .1rem 1rem; }
details > :last-child { padding-bottom: .8rem; }
.card { padding: .8rem 1rem; }
details > ul { padding-left: 2.2rem; }
details details { margin: .5rem 1rem; }
summary { padding: .55rem 1rem; cursor: pointer; }
details[open] > summary { border-bottom: 1px solid var(--line); margin-bottom: .5rem; }
summary .code { font-weight: 650; }
.tag { display: inline-block; padding: 0 .45rem; border: 1px solid var(--line); border-radius: .8rem;
  font-size: .8rem; color: var(--soft); white-space: nowrap; }
.tag.name { white-space: normal; overflow-wrap: anywhere; }
.evidence { font-size: .9rem; color: var(--soft); }
.remedy { margin: .7rem 0 0; }
.remedy > .said { display: grid; grid-template-columns: 5.6rem minmax(0, 1fr); }
.flag { white-space: nowrap; }
.when { font-weight: 600; }
code, td.name, span.name, li.name {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .87em; }
pre { margin: .3rem 0; padding: .5rem .7rem; background: var(--code); border-radius: .35rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
pre code { font-size: .82rem; user-select: all; -webkit-user-select: all; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.apart { margin: .6rem 0; }
details .scroll { border-width: 1px 0 0; border-radius: 0; }
details > .scroll { padding: 0; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; }
th { text-align: left; font-weight: 600; color: var(--soft); white-space: nowrap; }
th, td { padding: .35rem .45rem; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child td { border-bottom: 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name, td.s { white-space: nowrap; }
td.good, td.warn, td.bad, td.open { white-space: nowrap; font-weight: 600; }
.gantt { display: grid; grid-template-columns: minmax(4rem, max-content) 1fr max-content; column-gap: .8rem;
  row-gap: .2rem; align-items: center; font-size: .85rem; }
.gantt svg { width: 100%; height: 1.05rem; display: block; overflow: visible; }
.gantt .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 22rem; }
h2 { scroll-margin-top: .5rem; }
.gantt .wave { grid-column: 1 / -1; font-weight: 600; margin-top: .4rem; }
.gantt .t { text-align: right; font-variant-numeric: tabular-nums; }
svg text { fill: var(--soft); font-size: 11px; }
svg line { stroke: var(--line); }
svg .bar { fill: var(--bar); } svg .rest { fill: var(--bar-soft); } svg .slow { fill: var(--bar-soft); opacity: .45; }
svg .lack { fill: var(--lack); } svg .spare { fill: var(--good); } svg .room { fill: var(--code); }
.steps svg { height: 1.4rem; } .steps svg svg { overflow: visible; }
svg polyline { fill: none; stroke: var(--bar); stroke-width: 1.5px; }
svg.headroom { width: 7rem; height: .6rem; display: block; margin: .15rem 0; }
.key { font-size: .83rem; color: var(--soft); margin: .5rem 0 0; }
.key svg { width: .8rem; height: .8rem; display: inline-block; vertical-align: -.1em; margin: 0 .25rem 0 .8rem; }
footer { margin-top: 2.5rem; font-size: .83rem; color: var(--soft); }
@media (max-width: 40rem) {
  body { padding: .8rem .7rem 2rem; font-size: 14px; }
  .minor { display: none; }
  .card, details > :not(summary) { padding-left: .7rem; padding-right: .7rem; }
  .card { padding: .7rem; } summary { padding: .55rem .7rem; }
  details > .scroll { padding: 0; }
  th, td { padding: .3rem .4rem; } th { white-space: normal; }
  .gantt { column-gap: .5rem; } .gantt .name { max-width: 7.5rem; }
  svg.headroom { width: 7rem; }
}
@media print {
  :root { --back: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #bbb; --code: #f1f3f5;
    --good: #0b7a4b; --warn: #8a5a00; --bad: #b4231f; --open: #6b3fa0;
    --good-back: #fff; --warn-back: #fff; --bad-back: #fff; --open-back: #fff;
    --bar: #2f6fbb; --bar-soft: #a9c7e8; --lack: #e58a86; }
  body { max-width: none; padding: 0; font-size: 10.5pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  nav { display: none; }
  .scroll { overflow: visible; } table { font-size: 8pt; }
  td:not(.n) { white-space: normal; overflow-wrap: anywhere; min-width: 4.5em; }
  details::details-content { content-visibility: visible; display: block; height: auto; }
  tr, pre, .remedy { break-inside: avoid; } h2, h3, summary { break-after: avoid; }
}
"""
