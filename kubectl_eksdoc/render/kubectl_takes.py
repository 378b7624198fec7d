"""Objects that a dry run would make, as kubectl takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.render.encode import Json, plain_value, to_json, to_yaml
from kubectl_eksdoc.render.formats import Formats
from kubectl_eksdoc.render.look import Look

V = TypeVar("V")


def manifest_formats(objects: Callable[[V], Iterable[Doc]]) -> Formats[V]:
    """Of a view: the objects and nothing else, whatever table was asked for."""

    def made(view: V) -> list[Json]:
        return [plain_value(doc) for doc in objects(view)]

    def yaml(view: V, look: Look) -> str:
        return "---\n".join(to_yaml(doc, look.ascii, blocks=True) for doc in made(view))

    def json(view: V, look: Look) -> str:
        return to_json({"apiVersion": "v1", "kind": "List", "items": made(view)}, look.ascii)

    return Formats("a dry run", {"table": yaml, "wide": yaml, "yaml": yaml, "json": json})
