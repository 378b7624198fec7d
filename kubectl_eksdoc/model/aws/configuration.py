"""Where something stands in an add-on's configuration, and what is wrong there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc

Path = tuple[str, ...]
"""The keys down to a value: ``("init", "env", "DISABLE_TCP_EARLY_DEMUX")``. In a schema the items of a list are the
step ``[]`` and keys that are not named ``*``; in values the items are ``[0]``, ``[1]`` and so on."""

ITEMS = "[]"
ANY_KEY = "*"

_PLAIN = re.compile(r"[^\s.\[\]\"]+\Z")
_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_ITEM = re.compile(r"\[\d*\]\Z")


def item(index: int) -> str:
    """The step to an item of a list."""
    return f"[{index}]"


def shown(path: Path) -> str:
    """As people write it: ``init.env.X``, ``tolerations[0].key``, ``nodeSelector["kubernetes.io/os"]``."""
    text = ""
    for step in path:
        if _ITEM.match(step):
            text += step
        elif _PLAIN.match(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step.translate(_ESCAPED)}"]'
    return text or "(the whole configuration)"


def referred(schema: Doc, ref: Any) -> Any:
    """What a ``$ref`` within the schema names (``#/definitions/Env``), None for any other."""
    if not isinstance(ref, str) or "%" in ref or not (ref == "#" or ref.startswith("#/")):
        return None
    found: Any = schema
    for step in ref[2:].split("/") if ref != "#" else ():
        if not isinstance(found, dict):
            return None
        found = found.get(step.replace("~1", "/").replace("~0", "~"))
    return found


@dataclass(frozen=True, slots=True)
class SchemaViolation:
    """One thing in configuration values that their schema does not allow.

    `what` in words; `rule` as JSON Schema names it (``type``, ``additionalProperties``, ``required``). `wanted`: what
    the rule asks for (types, values, a pattern, a number), and `found` the JSON type that stands there. `doubtful`: the
    schema says it, but whoever checks it may not: JSON Schema lets a checker skip a ``format``, and EKS's ``boolean``
    and ``integer`` are none of the standard's.
    """

    path: Path
    what: str
    rule: str
    wanted: tuple[str, ...] = ()
    found: str = ""
    doubtful: bool = False

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.what}"
