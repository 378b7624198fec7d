"""The published JSON Schemas, one per kind of document.

Belongs here: `<Kind>.json`, and how to load one.
Never here: making a document, checking one (tests do that).
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

KINDS = (
    "AddonAftermath",
    "AddonDiff",
    "AddonUpdate",
    "CorednsLameduck",
    "CorefileReading",
    "DnsMeasure",
    "DnsChange",
    "DrainPlan",
    "DrainRehearsal",
    "DrainRun",
    "DrainRunEvent",
    "DrainRunStatus",
    "DrainWatch",
    "Fleet",
    "ImdsActiveProbe",
    "ImdsFix",
    "ImdsProbe",
    "Interruption",
    "PermissionCheck",
    "Snapshot",
    "UpgradeCheck",
)


def load(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of documents of `kind`.

    Raises:
        KeyError: there is no document of that kind.
    """
    if kind not in KINDS:
        raise KeyError(kind)
    text = resources.files(__name__).joinpath(f"{kind}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
