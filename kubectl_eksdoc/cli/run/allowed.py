"""Whether the user may do all that a command does: asked before anything is, for half a run is worse than none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.core.model.permissions import Permission
from kubectl_eksdoc.errors import Forbidden

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.connection import Connection


def check_allowed(
    command: str, connection: Connection, journal: str, evicts_in: Iterable[str], around: Surroundings
) -> None:
    """`journal`: the namespace of the runs' journal; `evicts_in`: those of the pods that are evicted.

    Raises:
        Forbidden: rights are missing; it names all of them.
    """
    needed = [right for right in rights.BY_COMMAND[command] if right.required]
    everywhere = {_of(right, journal if right.journal else ""): right for right in needed}
    missing = list(around.edges.denied(connection, tuple(everywhere)))
    elsewhere = [each for each in missing if each.subresource]  # it may be allowed where it is needed
    if elsewhere:
        missing = [each for each in missing if not each.subresource]
        missing += around.edges.denied(connection, tuple(_within(elsewhere, sorted(set(evicts_in)))))
    if missing:
        first = str(everywhere[missing[0]._replace(namespace="" if missing[0].subresource else missing[0].namespace)])
        said = "; ".join(each.said for each in missing)
        error = Forbidden(f"the cluster does not let you: {said}", "Nothing was done.", first)
        raise rights.explained(error, command)


def _of(right: Right, namespace: str) -> Permission:
    return Permission(right.verb, right.resource, right.subresource, namespace)


def _within(asked: Iterable[Permission], namespaces: Iterable[str]) -> Iterator[Permission]:
    for each in asked:
        yield from (each._replace(namespace=namespace) for namespace in namespaces)
