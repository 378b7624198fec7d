"""The frame of a page: its name and where its facts are from, links to its sections, the sections, its foot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.render.html import BREAK, Html, el, lines, page, put
from kubectl_eksdoc.render.identity import UNKNOWN, named
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.times import rfc3339


class Section(NamedTuple):
    """`anchor` is its id, `short` its name in the list of sections; without `inside` it is left out."""

    anchor: str
    short: str
    title: str
    inside: Html


def called(cluster: Cluster) -> str:
    """What the cluster is called, or words."""
    who = cluster.identity
    return who.cluster or who.context or "an unknown cluster"


def origin(cluster: Cluster, *more: str) -> Html:
    """Which cluster, by what data of when, and `more`."""
    who = cluster.identity
    words = (*named(who), ("server", who.server_version))
    parts = [put(f"{word} ", el("b", value or UNKNOWN)) for word, value in words]
    data = f"{cluster.source.value} data of {rfc3339(cluster.observed_at)}"
    return el("p", put(*parts, data, *more, between=" · "), class_="origin")


def framed(name: str, style: str, head: Html, first: Html, sections: Iterable[Section], foot: str, look: Look) -> str:
    """The whole document: `head` below its name, `first` before the sections. With `look.ascii` what is not ASCII is a
    character reference."""
    kept = [each for each in sections if each.inside]
    links = put(*(el("a", each.short, href=f"#{each.anchor}") for each in kept), between=" ")
    body = lines(
        [
            el("header", el("h1", name), head, el("nav", links, aria_label="Sections")),
            el("main", BREAK, lines([first, *map(_section, kept)]), BREAK),
            el("footer", foot),
        ]
    )
    text = page(name, style, body)
    return text.encode("ascii", "xmlcharrefreplace").decode() if look.ascii else str(text)


def _section(of: Section) -> Html:
    return el("section", el("h2", of.title), BREAK, of.inside, id=of.anchor)
