"""The finding codes of ``check``; with the others they are the one registry of the tool.

Belongs here: codes, by theme.
Never here: how anything is judged.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.check_codes import (
    apis,
    capacity,
    control_plane,
    extensions,
    groups,
    insights,
    nodes,
    parts,
    programs,
    runtime,
    support,
    workloads,
)
from kubectl_eksdoc.core.model.codes import Code

_OF_AWS = (control_plane, insights, groups, capacity)
_THEMES = (support, *_OF_AWS, apis, extensions, nodes, programs, runtime, workloads, parts)

ALL: tuple[Code, ...] = tuple(
    value for theme in _THEMES for value in list(vars(theme).values()) if isinstance(value, Code)
)
