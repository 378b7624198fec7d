"""What ``-o`` offers for a plan."""

from __future__ import annotations

from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look


def _table(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.screen import page

    return page(view, look)


def _wide(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.wide import wide

    return wide(view, look)


def preview(view: DrainView, look: Look, full: bool = False) -> str:
    """What is read before it is done: the page without the command that one would type next."""
    from kubectl_eksdoc.render.drain.screen import page
    from kubectl_eksdoc.render.drain.wide import wide

    return wide(view, look, steps=False) if full else page(view, look, next_command=False)


def _result(view: DrainView) -> object:
    from kubectl_eksdoc.render.drain.result import PlanResult

    return PlanResult.of(view)


def _markdown(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.ticket import ticket

    return ticket(view, look)


def _html(view: DrainView, look: Look) -> str:
    from kubectl_eksdoc.render.drain.page.page import page

    return page(view, look)


def _name(view: DrainView, look: Look) -> str:
    """The nodes that can be drained, in order, as kubectl takes them; nothing when there is none."""
    return "".join(f"node/{target.node.name}\n" for target in view.targets if target.order)


FORMATS: Formats[DrainView] = Formats(
    "a plan",
    {"table": _table, "wide": _wide, **documents(_result), "markdown": _markdown, "html": _html, "name": _name},
)
