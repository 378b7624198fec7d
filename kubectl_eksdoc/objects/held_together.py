"""Several that keep objects of one dump, each its own, filled while a reader goes through it once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.objects.raw_objects import RawObjects


class _One(Protocol):
    def one(self, of: Named) -> Doc | Absent | Unknown: ...


class HeldTogether(RawObjects):
    """A `flows.ports.Objects` over others: the first that knows an object tells it. Mutable."""

    def __init__(self, keepers: Sequence[RawObjects], tellers: Sequence[_One]) -> None:
        super().__init__()
        self._keepers = keepers
        self._tellers = tellers

    def add_page(self, resource: Resource, body: bytes) -> None:
        for each in self._keepers:
            each.add_page(resource, body)

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        for each in self._keepers:
            each.add_item(resource, raw)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        for each in self._keepers:
            each.add_other(kind, api_version, raw)

    def forget(self, resource: Resource) -> None:
        for each in self._keepers:
            each.forget(resource)

    def one(self, of: Named) -> Doc | Absent | Unknown:
        """As `flows.ports.Objects.one`. That one of them has none is an answer only where nobody has it."""
        answers = [each.one(of) for each in self._tellers]
        found = [each for each in answers if not isinstance(each, (Absent, Unknown))]
        absent = [each for each in answers if isinstance(each, Absent)]
        return (found or absent or answers)[0]
