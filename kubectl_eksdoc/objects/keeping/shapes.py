"""An allow-list of fields as a shape: what it names is kept, what it does not name is left out while it is decoded.

Sources of the names: the OpenAPI documents of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

Cleaner = Callable[[bytes], bytes]
"""The JSON of a value → the JSON that is kept of it."""

MOST = 50_000
"""So many cleaned values of one field are remembered: replicas repeat theirs byte for byte."""

_RAW = msgspec.Raw | msgspec.UnsetType


@dataclass(frozen=True, slots=True)
class Shape:
    """`whole`: fields that are kept as they are, by their JSON names; `cleaned`: those that a cleaner goes over, by its
    name; `below`: those with a shape of their own, a list of which is `Each`."""

    whole: str = ""
    cleaned: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, Shape | Each] = field(default_factory=dict)

    def but(self, **below: Shape | Each) -> Shape:
        """With more below it, and what was whole of these names no more."""
        whole = " ".join(name for name in self.whole.split() if name not in below)
        return Shape(whole, self.cleaned, {**self.below, **below})


@dataclass(frozen=True, slots=True)
class Each:
    """A list of such."""

    of: Shape


class Form:
    """A shape made ready: decodes, cleans and encodes. Mutable: its cleaners remember."""

    def __init__(self, name: str, shape: Shape, cleaners: Mapping[str, Callable[[Any], Any]]) -> None:
        self._known: dict[str, dict[bytes, msgspec.Raw]] = {}
        self._cleaners = cleaners
        self.type, self._clean = self._made(name, shape)

    def cleaned(self, decoded: Any) -> Any:
        """The same struct, cleaned in place."""
        self._clean(decoded)
        return decoded

    def _made(self, name: str, shape: Shape) -> tuple[Any, Callable[[Any], None]]:
        fields: list[tuple[str, Any, Any]] = [
            (each, _RAW, msgspec.UNSET) for each in (*shape.whole.split(), *shape.cleaned)
        ]
        steps: list[tuple[str, Callable[[Any], None], bool]] = []
        for each, inner in shape.below.items():
            of = inner.of if isinstance(inner, Each) else inner
            made, clean = self._made(f"{name}_{each}", of)
            many = isinstance(inner, Each)
            fields.append((each, (list[made] if many else made) | None | msgspec.UnsetType, msgspec.UNSET))  # type: ignore[valid-type]
            if of.cleaned or of.below:
                steps.append((each, clean, many))
        struct = msgspec.defstruct(name, fields, gc=False)
        return struct, self._stepper(tuple(shape.cleaned.items()), tuple(steps))

    def _stepper(
        self, cleaned: tuple[tuple[str, str], ...], steps: tuple[tuple[str, Callable[[Any], None], bool], ...]
    ) -> Callable[[Any], None]:
        def clean(value: Any) -> None:
            for name, cleaner in cleaned:
                given = getattr(value, name)
                if given is not msgspec.UNSET:
                    setattr(value, name, self._once(cleaner, given))
            for name, below, many in steps:
                given = getattr(value, name)
                if not given:
                    continue
                for each in given if many else (given,):
                    below(each)

        return clean

    def _once(self, cleaner: str, given: msgspec.Raw) -> msgspec.Raw:
        known = self._known.setdefault(cleaner, {})
        raw = bytes(given)
        found = known.get(raw)
        if found is None:
            if len(known) >= MOST:
                known.clear()
            kept = self._cleaners[cleaner](msgspec.json.decode(raw))
            found = known[raw] = msgspec.Raw(msgspec.json.encode(kept))
        return found
