"""Published JSON Schemas: one for each kind of result, and `common.json` with their shared definitions. `make docs`
writes them.

Belongs here: `<Kind>.json`, and a function to load one.
Never here: generating a schema (tools.schemas) or a result; validation (tests do that).
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

_SCHEMA_FILES = resources.files(__name__)
_COMMON = "common"
KINDS = frozenset(path.name[: -len(".json")] for path in _SCHEMA_FILES.iterdir() if path.name.endswith(".json")) - {
    _COMMON
}


def load_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of results of `kind`, with the definitions of common.json in its $defs: it needs no
    other file.

    Raises:
        KeyError: there is no result of that kind.
    """
    if kind not in KINDS:
        raise KeyError(kind)
    schema = _read_schema(kind)
    schema["$defs"] = {**_read_schema(_COMMON)["$defs"], **schema.get("$defs", {})}
    return schema


def _read_schema(name: str) -> dict[str, Any]:
    text = _SCHEMA_FILES.joinpath(f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text.replace(f'"{_COMMON}.json#/', '"#/'))
    return schema
