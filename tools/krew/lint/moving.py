"""How krew moves unpacked files to the folder of a plugin (internal/installation/move.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.krew.lint import codes, globs
from tools.krew.lint.complaints import Complaint, quoted
from tools.krew.lint.model import FileMove
from tools.krew.lint.paths import below, clean, folders_of, inside
from tools.krew.lint.trees import Tree

ALL_OF_IT = (FileMove("*", "."),)
"""The moves for a manifest without files."""


def moved(staged: Tree, moves: tuple[FileMove, ...], at: str) -> tuple[Tree, Complaint | None]:
    """The folder of the plugin after all `moves`, and why it ended early, None where it did not. `at`: the place of the
    list in the manifest."""
    installed = Tree()
    for i, move in enumerate(moves):
        step = _Step(staged, installed)
        why = step.take(move)
        staged, installed = step.trees()
        if why:
            remedy = (
                "from is a path or pattern of Go in the archive, to a clean path as . or bin; each file moves once."
            )
            return installed, Complaint(codes.MOVE, f"{at}[{i}]", why, remedy)
    return installed, None


class _Step:
    """One of the moves, in progress."""

    def __init__(self, staged: Tree, installed: Tree) -> None:
        self._staged = dict(staged.nodes)
        self._installed = dict(installed.nodes)

    def trees(self) -> tuple[Tree, Tree]:
        return Tree(self._staged), Tree(self._installed)

    def take(self, move: FileMove) -> str:
        """Why it cannot be done, "" where it was."""
        if move.to != clean(move.to):
            return f"to is {quoted(move.to)}, and krew wants it clean: {quoted(clean(move.to))}"
        origin, target = below(move.origin), below(move.to)
        if not inside(origin):
            return f"from leads out of the archive: {quoted(move.origin)}"
        if not inside(target):
            return f"to leads out of the plugin's folder: {quoted(move.to)}"
        if not origin:
            return self._everything(target)
        if origin in self._staged:
            return self._one(origin, target or origin.rpartition("/")[2], self._held([origin])[origin])
        return self._matching(move, origin, target)

    def _everything(self, target: str) -> str:
        """The folder of the archive itself; moved to ``.`` it keeps its own name."""
        if not target:
            return "from is the folder of the archive itself, which keeps the name that krew has made up for it"
        above = Tree(self._installed).in_the_way(target)
        if above or Tree(self._installed).file(target) is not None:
            return f"{quoted(target)} is to be a folder, and {quoted(above or target)} is a file"
        for name in Tree(self._installed).under(target):
            del self._installed[name]
        self._installed.update((each, None) for each in (*folders_of(target), target))
        self._installed.update((f"{target}/{name}", node) for name, node in self._staged.items())
        self._staged.clear()
        return ""

    def _matching(self, move: FileMove, pattern: str, folder: str) -> str:
        try:
            names = globs.found(pattern, self._staged)
        except globs.BadPattern:
            return f"from is {quoted(move.origin)}, which is no pattern of Go"
        if not names:
            return f"nothing in the archive matches {quoted(move.origin)}, or it was moved before"
        held = self._held(names)
        for name in names:
            last = name.rpartition("/")[2]
            why = self._one(name, f"{folder}/{last}" if folder else last, held[name])
            if why:
                return why
        return ""

    def _held(self, names: Sequence[str]) -> Mapping[str, list[str]]:
        """The files to move for each of `names`, none of which is below another: itself, and all below it."""
        held: dict[str, list[str]] = {name: [] for name in names}
        for path in self._staged:
            above = next((each for each in (*folders_of(path), path) if each in held), None)
            if above is not None:
                held[above].append(path)
        return held

    def _one(self, origin: str, target: str, held: Sequence[str]) -> str:
        """A file, or a folder with its content; an existing folder is removed before."""
        installed = Tree(self._installed)
        above = installed.in_the_way(target)
        if above:
            return f"{quoted(target)} is below {quoted(above)}, which is a file"
        folder = self._staged[origin] is None
        if folder and installed.file(target) is not None:
            return f"{quoted(target)} is a file already, and a folder is to take its place"
        for name in installed.under(target):
            del self._installed[name]
        self._installed.update((each, None) for each in folders_of(target))
        for name in held:
            self._installed[f"{target}{name[len(origin) :]}"] = self._staged.pop(name)
        return ""
