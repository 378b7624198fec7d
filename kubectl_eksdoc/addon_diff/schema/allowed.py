"""What a configuration schema allows at one path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubectl_eksdoc.model.aws.configuration import ANY_KEY, ITEMS, Path, shown

Limit = tuple[str, Any]
"""A keyword with its number: ``("minimum", 2)``."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may stand at `path`.

    `types` are JSON Schema's names, sorted; () for any. `enum`: the values that may be given, as JSON spells them, None
    for any. `limits` are sorted. `required`: by the object that holds it. `closed`: no keys but those that have paths.
    `either`: one of these has to fit (``anyOf``, ``oneOf``), each in words; `alternative`: the path is there in some of
    them only. `default` is None where the schema names none: `has_default` tells.

    `again`: the schema goes on here as at the definition named, for ever. `unchecked`: keys that stand where no
    validator reads them, beside ``properties`` instead of in it: EKS's own schema does not check them. `unclear`: what
    of the schema is not understood here, so that more or less may be allowed.
    """

    path: Path
    types: tuple[str, ...] = ()
    enum: tuple[str, ...] | None = None
    patterns: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    required: bool = False
    closed: bool = False
    either: tuple[str, ...] = ()
    alternative: bool = False
    has_default: bool = False
    default: Any = None
    description: str = ""
    again: str = ""
    unchecked: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """In one line: ``string of format boolean, required``."""
        parts = [" or ".join(self.types) or "anything"]
        parts += [f"of format {' '.join(each.split())}" for each in self.formats]
        parts += [f"matching {' '.join(each.split())}" for each in self.patterns]
        parts += [f"one of {', '.join(self.enum)}"] if self.enum is not None else []
        parts += [f"{name} {value}" for name, value in self.limits]
        parts += [f"either {' or '.join(self.either)}"] if self.either else []
        parts += ["required"] if self.required else []
        parts += ["no other keys"] if self.closed else []
        return ", ".join(parts)

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.words}"


@dataclass(frozen=True, slots=True)
class SchemaPaths:
    """All paths of a schema by their keys, sorted; the whole document is ``()``."""

    at: Mapping[Path, Allowed] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Allowed]:
        return iter(self.at.values())

    def __contains__(self, path: Path) -> bool:
        return path in self.at

    def get(self, path: Path) -> Allowed | None:
        return self.at.get(path)

    def of(self, path: Path) -> Allowed | None:
        """What may stand at a path of values, where lists have numbers and maps any key; None where nothing is said."""
        found = self._down(path)
        return self.at.get(found) if len(found) == len(path) else None

    def refuses(self, path: Path) -> bool:
        """Whether a value at a path of values is surely refused, as an object on the way takes no key of that name."""
        found = self._down(path)
        last = self.at.get(found)
        return len(found) < len(path) and last is not None and last.closed and not last.unclear and not last.either

    def _down(self, path: Path) -> Path:
        """The path of the schema as far as it says something."""
        here: Path = ()
        for step in path:
            tried = ((*here, step), (*here, ITEMS if step.startswith("[") else ANY_KEY))
            below = next((each for each in tried if each in self.at), None)
            if below is None:
                break
            here = below
        return here

    @property
    def unclear(self) -> tuple[tuple[Path, str], ...]:
        """What is not understood, by where it stands."""
        return tuple((each.path, text) for each in self for text in each.unclear)


_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def spelled(value: Any, deepest: int = 50) -> str:
    """A value as JSON writes it, keys sorted, on one line."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPED)}"'
    if deepest and isinstance(value, list):
        return f"[{', '.join(spelled(each, deepest - 1) for each in value)}]"
    if deepest and isinstance(value, dict):
        return "{" + ", ".join(f"{spelled(key)}: {spelled(value[key], deepest - 1)}" for key in sorted(value)) + "}"
    return "…" if isinstance(value, (list, dict)) else str(value)
