"""How one place of a document is merged: what its maps and lists are, and under which keys items are the same.

Two rules look here. Server-side apply asks whether a map or list is one value (atomic) or has parts that different
managers own (upstream's x-kubernetes-list-type, -list-map-keys and -map-type). A strategic merge patch asks for the
patch strategy and merge key, which differ for a few fields (ports merge by their number alone, but are owned by number
and protocol).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ListType = Literal["atomic", "set", "map"]
Strategy = Literal["merge", "replace", "retainKeys"]


@dataclass(frozen=True, slots=True, eq=False)
class SchemaPlace:
    """One place, whatever stands there: `atomic` speaks of a map, `list_type`, `keys` and `items` of a list.

    `named` are the fields of an object that differ from a plain one. `entries` is what stands under any other name:
    with `entries` the names are data (a map), without they are fields and plain; where the place is `untyped`, all
    names here and below are data. `defaults` are values of keys that an item leaves out. `strategy` and `merge_key` are
    for strategic merge patches only; without strategy, maps are merged and lists replaced.
    """

    atomic: bool = False
    list_type: ListType = "atomic"
    keys: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    named: Mapping[str, SchemaPlace] = field(default_factory=dict, repr=False)
    entries: SchemaPlace | None = None
    untyped: bool = False
    items: SchemaPlace | None = None
    strategy: tuple[Strategy, ...] = ()
    merge_key: str = ""

    def under(self, name: str) -> SchemaPlace:
        """The place under a field's name, or under a key of a map."""
        found = self.named.get(name) or self.entries
        return found or (self if self.untyped else PLAIN)

    def of_items(self) -> SchemaPlace:
        return self.items or PLAIN

    def is_field(self, name: str) -> bool:
        """Whether `name` is a declared field here; else it is a key that somebody chose."""
        return name in self.named or not (self.untyped or self.entries)


PLAIN = SchemaPlace()
"""Maps are granular with fields of fixed names, lists are atomic: what an object is unless something says otherwise."""

UNTYPED = SchemaPlace(untyped=True)
"""Nothing is known of what stands here."""
