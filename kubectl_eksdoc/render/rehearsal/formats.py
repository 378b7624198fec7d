"""The formats of ``-o``, each a function from the view to text; a format's libraries load with its first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.rehearsal.view import RehearsalView

Format = Callable[[RehearsalView, Look], str]


def _table(view: RehearsalView, look: Look) -> str:
    from kubectl_eksdoc.render.rehearsal.table import table

    return table(view, look)


def _wide(view: RehearsalView, look: Look) -> str:
    from kubectl_eksdoc.render.rehearsal.table import wide

    return wide(view, look)


def _json(view: RehearsalView, look: Look) -> str:
    from kubectl_eksdoc.render.encode import to_json
    from kubectl_eksdoc.render.rehearsal.document import document

    return to_json(document(view), look.ascii)


def _yaml(view: RehearsalView, look: Look) -> str:
    from kubectl_eksdoc.render.encode import to_yaml
    from kubectl_eksdoc.render.rehearsal.document import document

    return to_yaml(document(view), look.ascii)


def _markdown(view: RehearsalView, look: Look) -> str:
    from kubectl_eksdoc.render.rehearsal.ticket import ticket

    return ticket(view, look)


FORMATS: Mapping[str, Format] = MappingProxyType(
    {"table": _table, "wide": _wide, "json": _json, "yaml": _yaml, "markdown": _markdown}
)


def render(view: RehearsalView, output: str, look: Look) -> str:
    """The rehearsal in the format `output`, ending with a line end.

    Raises:
        UsageError: there is no such format.
    """
    if output not in FORMATS:
        raise UsageError(f"there is no output format {output!r}", f"choose one of {', '.join(FORMATS)}")
    return FORMATS[output](view, look)
