"""The sentences that are said of rights."""

from __future__ import annotations

from kubectl_eksdoc.core.plan.permissions.wanted import Wanted
from kubectl_eksdoc.render.permissions.view import PermissionsView
from kubectl_eksdoc.render.text import joined

NO_SECRETS = (
    "It may read Secrets, for the releases of Helm are in them: without that rule they are unknown, and all else is as "
    "before."
)


def about(view: PermissionsView) -> str:
    """What it is for, and whether something can be changed with it."""
    if not view.given:
        return "what all commands need that only read. It changes nothing."
    whole = joined([f"'{each}'" for each in view.given])
    return f"what {whole} {'need' if len(view.given) > 1 else 'needs'}. {_changes(view.wanted)}"


def _changes(wanted: Wanted) -> str:
    return "Something can be changed with it." if wanted.changes else "It changes nothing."


def reads_secrets(wanted: Wanted) -> bool:
    return any(each.permission.resource.plural == "secrets" for each in wanted.needed)
