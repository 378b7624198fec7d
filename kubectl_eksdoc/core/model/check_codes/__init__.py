"""The finding codes of ``check``; with the others they are the one registry of the tool.

Belongs here: codes, by theme.
Never here: how anything is judged.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.check_codes import (
    capacity,
    control_plane,
    groups,
    insights,
    nodes,
    parts,
    programs,
    support,
)
from kubectl_eksdoc.core.model.codes import Code

_THEMES = (support, control_plane, insights, nodes, groups, capacity, programs, parts)

ALL: tuple[Code, ...] = tuple(
    value for theme in _THEMES for value in list(vars(theme).values()) if isinstance(value, Code)
)
