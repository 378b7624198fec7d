"""The formats of ``-o`` that one kind of answer has, each a function from its view to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.render.encode import to_json, to_yaml
from kubectl_eksdoc.render.text import Look

View = TypeVar("View")

Format = Callable[[View, Look], str]


@dataclass(frozen=True, slots=True)
class Formats(Generic[View]):
    """`of` what, as in ``a plan``. A format's function loads what it needs when it is called: a table needs no YAML."""

    of: str
    formats: Mapping[str, Format[View]]

    def check(self, output: str) -> None:
        """
        Raises:
            UsageError: there is no such format.
        """
        if output not in self.formats:
            raise UsageError(f"{self.of} has no output format {output!r}", f"choose one of {', '.join(self.formats)}")

    def render(self, view: View, output: str, look: Look) -> str:
        """`view` in that format, ending with a line end; "" where there is nothing to say. Raises: as `check`."""
        self.check(output)
        return self.formats[output](view, look)


def documents(result: Callable[[View], object]) -> Mapping[str, Format[View]]:
    """The same result, a `Printed` structure, as JSON and as YAML."""

    def document(view: View) -> Any:
        from kubectl_eksdoc.render.result import plain

        return plain(result(view))

    return MappingProxyType(
        {
            "json": lambda view, look: to_json(document(view), look.ascii),
            "yaml": lambda view, look: to_yaml(document(view), look.ascii),
        }
    )
