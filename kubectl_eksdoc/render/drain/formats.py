"""The formats of ``-o``, each a function from the view to text; a format's libraries load with its first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look

Format = Callable[[DrainView, Look], str]


def _table(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.table import table

    return table(view, look)


def _wide(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.table import wide

    return wide(view, look)


def _json(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.document import document
    from kubectl_eksdoc.render.encode import to_json

    return to_json(document(view), look.ascii)


def _yaml(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.document import document
    from kubectl_eksdoc.render.encode import to_yaml

    return to_yaml(document(view), look.ascii)


def _markdown(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.ticket import ticket

    return ticket(view, look)


def _html(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.page.page import page

    return page(view, look)


def _name(view: DrainView, look: Look) -> str:
    """The nodes that can be drained, in order, as kubectl takes them; nothing when there is none."""
    return "".join(f"node/{target.node.name}\n" for target in view.targets if target.order)


FORMATS: Mapping[str, Format] = MappingProxyType(
    {"table": _table, "wide": _wide, "json": _json, "yaml": _yaml, "markdown": _markdown, "html": _html, "name": _name}
)


def render(view: DrainView, fmt: str, look: Look) -> str:
    """The plan in `fmt`, ending with a line end; "" where there is nothing to say.

    Raises:
        UsageError: there is no such format.
    """
    if fmt not in FORMATS:
        raise UsageError(f"there is no output format {fmt!r}", f"choose one of {', '.join(FORMATS)}")
    return FORMATS[fmt](view, look)
