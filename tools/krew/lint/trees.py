"""Files in a folder as krew unpacks and moves them; a tree is immutable, each step makes another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.krew.lint.model import Entry
from tools.krew.lint.paths import folders_of


@dataclass(frozen=True, slots=True)
class Tree:
    """By path below the folder: a file with its entry, None for a folder."""

    nodes: Mapping[str, Entry | None] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return not path or path in self.nodes

    def file(self, path: str) -> Entry | None:
        return self.nodes.get(path)

    def is_folder(self, path: str) -> bool:
        return not path or (path in self.nodes and self.nodes[path] is None)

    def under(self, path: str) -> dict[str, Entry | None]:
        """`path` itself and all below it; everything for ""."""
        if not path:
            return dict(self.nodes)
        if not self.is_folder(path):
            return {path: self.nodes[path]} if path in self.nodes else {}
        return {name: node for name, node in self.nodes.items() if name == path or name.startswith(f"{path}/")}

    def in_the_way(self, path: str) -> str:
        """A file in the place of a folder above `path`, "" where there is none."""
        return next((each for each in folders_of(path) if self.file(each) is not None), "")

    def files(self) -> dict[str, Entry]:
        return {path: node for path, node in self.nodes.items() if node is not None}
