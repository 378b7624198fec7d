"""The sentences that are said of rights."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.plan.permissions.wanted import Wanted
from kubectl_eksdoc.render.permissions.view import PermissionsView
from kubectl_eksdoc.render.text import joined


def about(view: PermissionsView) -> str:
    """What it is for, and whether something can be changed with it."""
    if not view.given:
        return "what all commands need that only read. It changes nothing."
    whole = joined([f"'{each}'" for each in view.given])
    return f"what {whole} {'need' if len(view.given) > 1 else 'needs'}. {_changes(view.wanted)}"


def _changes(wanted: Wanted) -> str:
    return "Something can be changed with it." if wanted.changes else "It changes nothing."


def risks(wanted: Wanted) -> Iterator[str]:
    """What its opt-ins allow, each in a sentence."""
    return (f"Opt-in {each.said}." for each in wanted.opt_ins)


def not_granted(view: PermissionsView) -> Iterator[str]:
    """Opt-ins that the commands can use, each in a sentence."""
    return (f"Not granted: opt-in {each.said}. To grant it: --with {each.name}." for each in view.offered)
