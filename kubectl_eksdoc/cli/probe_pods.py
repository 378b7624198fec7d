"""What every command does that makes short-lived pods: its clock, and its rights."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.model.permissions import Permission


class ClockAround:
    """Time as the command's surroundings have it."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def monotonic(self) -> float:
        return self._around.edges.clock.monotonic()

    def sleep(self, seconds: float) -> object:
        return self._around.sleep(seconds)


def check_allowed(needed: Iterable[tuple[Right, str]], options: GlobalOptions, around: Surroundings) -> None:
    """`needed`: rights, each in a namespace.

    Raises:
        Forbidden: rights are missing without which nothing can be measured, or not be deleted; it names all of them.
    """
    asked = {Permission(right.verb, right.resource, right.subresource, where): str(right) for right, where in needed}
    missing = around.edges.denied(options.connection, tuple(asked))
    if missing:
        said = "; ".join(each.said for each in missing)
        raise Forbidden(f"the cluster does not let you: {said}", "Nothing was done.", asked[missing[0]])


def tell_unread(unread: Iterable[str], command: str, around: Surroundings) -> None:
    """`unread`: rights without which something was not looked at before; the probe is made all the same."""
    lost = {str(right): right.lost for right in rights.BY_COMMAND[command]}
    for each in unread:
        around.note(f"missing right {each}: {lost.get(each) or 'what it tells is unknown'}")
