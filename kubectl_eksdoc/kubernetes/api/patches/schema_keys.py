"""What a schema says of the lists in a strategic merge patch: the keys by which their items are merged."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.patches.strategic import Path
from kubectl_eksdoc.kubernetes.api.places import Place


class SchemaKeys:
    """The merge keys of a schema, as strategic merge patches ask for them."""

    def __init__(self, root: Place) -> None:
        self._root = root

    def merge_key(self, path: Path) -> str | None:
        place = self._at(path)
        return place.merge_key or None if "merge" in place.strategy else None

    def merges_scalars(self, path: Path) -> bool:
        place = self._at(path)
        return "merge" in place.strategy and not place.merge_key

    def _at(self, path: Path) -> Place:
        place = self._root
        for step in path:
            if place.items is not None:
                place = place.items
            place = place.under(step)
        return place
