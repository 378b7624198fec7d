"""What ``-o`` offers for the rights of commands, and for who has them."""

from __future__ import annotations

from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.permissions.view import CheckView, PermissionsView


def _table(view: PermissionsView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.table import table

    return table(view, look)


def _wide(view: PermissionsView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.table import wide

    return wide(view, look)


def _yaml(view: PermissionsView, look: Look) -> str:
    from kubectl_eksdoc.render.in_cluster import as_yaml
    from kubectl_eksdoc.render.permissions.manifests import manifests

    return as_yaml(manifests(view), look.ascii)


def _json(view: PermissionsView, look: Look) -> str:
    from kubectl_eksdoc.render.in_cluster import as_json
    from kubectl_eksdoc.render.permissions.manifests import manifests

    return as_json(manifests(view), look.ascii)


def _check_table(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.held import table

    return table(view, look)


def _check_wide(view: CheckView, look: Look) -> str:
    from kubectl_eksdoc.render.permissions.held import wide

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
