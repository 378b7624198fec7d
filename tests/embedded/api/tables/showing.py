"""What a table shows of one object: its cells by the names of their columns."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.api.tables.table import table

Doc = dict[str, Any]

NOW = datetime(2026, 11, 20, 9, 0, 0, tzinfo=timezone.utc)
CREATED = "2026-11-20T08:54:40Z"
"""When the objects of these tests were made: 5m20s before `NOW`."""

_BUILT_IN = Catalogue()


def an_object(name: str = "one", *, meta: Doc | None = None, **parts: Any) -> Doc:
    return {"metadata": {"name": name, "creationTimestamp": CREATED, **(meta or {})}, **parts}


def shown(resource: str, document: Doc) -> dict[str, Any]:
    """The cells of `document` under its columns' names; `resource` as ``deployments.v1.apps``, ``pods.v1``."""
    plural, version, group = [*resource.split(".", 2), ""][:3]
    served = _BUILT_IN.find(group, version, plural)
    assert served is not None, resource
    said = table(served, [document], NOW)
    [row] = said["rows"]
    names = [column["name"] for column in said["columnDefinitions"]]
    assert len(names) == len(set(names)), "columns have different names"
    return dict(zip(names, row["cells"], strict=True))
