"""What must be allowed for commands: as a table for people, and as objects for kubectl; and who has it.

Belongs here: columns, words, the order of sections, documents.
Never here: which rights a command has, what a role or a policy is made of (that is `permissions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.amazon.iam import Place
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.permissions import OptIn
from kubectl_eksdoc.permissions import Held, Subject, Wanted
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look

# What is shown of the rights of commands.


@dataclass(frozen=True, slots=True)
class PermissionsView:
    """`name` of the role. `given`: the commands as they were named, none for all that read; `each`: every command that
    there is, where none was named. `doubts`: what an action may need besides, in sentences. `more`: the words by which
    the same is printed again; `offered`: opt-ins that are not granted, and that the commands can use. `cautions`: what
    other rights allow besides, in sentences."""

    name: str
    wanted: Wanted
    given: tuple[str, ...]
    subjects: tuple[Subject, ...]
    place: Place
    each: tuple[Wanted, ...]
    tool_version: str
    doubts: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    offered: tuple[OptIn, ...] = ()
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckView:
    """`options` as they were given."""

    held: tuple[Held, ...]
    cluster: Cluster
    options: Mapping[str, object]
    tool_version: str


# What ``-o`` offers for the rights of commands, and for who has them.


def _table(view: PermissionsView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.table import table

    return table(view, look)


def _wide(view: PermissionsView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.table import wide

    return wide(view, look)


def _yaml(view: PermissionsView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.table import manifests
    from kubectl_eksdoc.render.roles import as_yaml

    return as_yaml(manifests(view), look.ascii)


def _json(view: PermissionsView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.table import manifests
    from kubectl_eksdoc.render.roles import as_json

    return as_json(manifests(view), look.ascii)


def _check_table(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.table import held_table as table

    return table(view, look)


def _check_wide(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.table import held_wide as wide

    return wide(view, look)


def _check_result(view: CheckView) -> object:
    from kubectl_eksdoc.render.permissions.result import PermissionResult

    return PermissionResult.of(view)


FORMATS: Formats[PermissionsView] = Formats(
    "what must be allowed", {"table": _table, "wide": _wide, "json": _json, "yaml": _yaml}
)
CHECK_FORMATS: Formats[CheckView] = Formats(
    "what you may", {"table": _check_table, "wide": _check_wide, **documents(_check_result)}
)
