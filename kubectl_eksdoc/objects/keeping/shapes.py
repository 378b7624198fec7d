"""An allow-list of fields as a shape: what it names is kept, what it does not name is left out while it is decoded.

Sources of the names: the OpenAPI documents of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

MOST = 50_000
"""So many cleaned values of one field are remembered: replicas repeat theirs byte for byte."""

_RAW = msgspec.Raw | msgspec.UnsetType

Step = tuple[str, Callable[[Any], None], bool]
"""A field, what cleans the struct in it, and whether it is a list of such."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`whole`: fields that are kept as they are, by their JSON names; `cleaned`: those that a cleaner goes over, by its
    name; `below`: those with a shape of their own, a list of which is `Each`."""

    whole: str = ""
    cleaned: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, Shape | Each] = field(default_factory=dict)

    @property
    def to_clean(self) -> bool:
        """Whether a cleaner goes over anything in it: most of a pod is kept or left out while it is decoded."""
        inner = (each.of if isinstance(each, Each) else each for each in self.below.values())
        return bool(self.cleaned) or any(each.to_clean for each in inner)

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

    def __init__(
        self,
        name: str,
        shape: Shape,
        cleaners: Mapping[str, Callable[[Any], Any]],
        of_json: Mapping[str, Callable[[bytes], bytes]],
    ) -> None:
        """`of_json`: cleaners of what seldom repeats, which look at the JSON itself."""
        self._once = {each: _once(cleaner) for each, cleaner in cleaners.items()}
        self._once |= {each: _each_time(cleaner) for each, cleaner in of_json.items()}
        self.type, self._clean = self._made(name, shape)

    def cleaned(self, decoded: Any) -> Any:
        """The same struct, cleaned in place."""
        self._clean(decoded)
        return decoded

    def _made(self, name: str, shape: Shape) -> tuple[Any, Callable[[Any], None]]:
        fields: list[tuple[str, Any, Any]] = [
            (each, _RAW, msgspec.UNSET) for each in (*shape.whole.split(), *shape.cleaned)
        ]
        steps: list[Step] = []
        for each, inner in shape.below.items():
            of, many = (inner.of, True) if isinstance(inner, Each) else (inner, False)
            made, clean = self._made(f"{name}_{each}", of)
            fields.append((each, (list[made] if many else made) | None | msgspec.UnsetType, msgspec.UNSET))  # type: ignore[valid-type]
            if of.to_clean:
                steps.append((each, clean, many))
        struct = msgspec.defstruct(name, fields, gc=False)
        return struct, _clean([(each, self._once[cleaner]) for each, cleaner in shape.cleaned.items()], steps)


def _clean(
    cleaned: Sequence[tuple[str, Callable[[bytes], msgspec.Raw]]], steps: Sequence[Step]
) -> Callable[[Any], None]:
    def clean(value: Any) -> None:
        for name, once in cleaned:
            given = getattr(value, name)
            if given is not msgspec.UNSET:
                setattr(value, name, once(bytes(given)))
        for name, below, many in steps:
            given = getattr(value, name)
            if not given:
                continue
            for each in given if many else (given,):
                below(each)

    return clean


def _once(cleaner: Callable[[Any], Any]) -> Callable[[bytes], msgspec.Raw]:
    known: dict[bytes, msgspec.Raw] = {}

    def once(raw: bytes) -> msgspec.Raw:
        found = known.get(raw)
        if found is None:
            if len(known) >= MOST:
                known.clear()
            found = known[raw] = msgspec.Raw(msgspec.json.encode(cleaner(msgspec.json.decode(raw))))
        return found

    return once


def _each_time(cleaner: Callable[[bytes], bytes]) -> Callable[[bytes], msgspec.Raw]:
    return lambda raw: msgspec.Raw(cleaner(raw))
