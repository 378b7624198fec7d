"""Short-lived pods of ours, as a change that cleans up: they belong to one ConfigMap, which is deleted at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from kubectl_eksdoc.changes.engine import Kind, Sent, Step
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import Became, Part


class Cleaned(Protocol):
    """`left`: names of pods that were still there at the end; `not_removed`: why they could not be removed."""

    @property
    def left(self) -> tuple[str, ...]: ...

    @property
    def not_removed(self) -> str: ...


F = TypeVar("F", bound=Cleaned)


@frozen
class PodsDone(Generic[F]):
    found: F

    @property
    def left(self) -> str:
        """Why something is still there, a clause."""
        return self.found.not_removed or (f"{len(self.found.left)} pods are still there" if self.found.left else "")

    @property
    def whole(self) -> bool:
        return not self.left


class OwnedPods(Kind[PodsDone[F]]):
    """`run` makes the ConfigMap `owner` and its pods, and removes them whatever happens; or
    only removes them."""

    def __init__(self, owner: str, run: Callable[[], F]) -> None:
        self._what, self._run = f"ConfigMap {owner}", run
        self._found: F | None = None

    def steps(self, sent: Sent) -> Iterator[Step]:
        yield Step(self._what, lambda: Part(self._what, Became.AS_BEFORE), self._send)

    def _send(self) -> Doc:
        self._found = self._run()
        return {}

    def result(self, sent: Sent) -> PodsDone[F]:
        assert self._found is not None, "it was run"
        return PodsDone(self._found)

    def kept(self, result: PodsDone[F]) -> Doc:
        return {"pods": list(result.found.left)}
