"""Whether the user may do all that a command does: asked before anything is, for half a run is worse than none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.permissions import Permission

if TYPE_CHECKING:
    from kubectl_eksdoc.drain.result import DrainPlan


def check_allowed(
    command: str,
    journal: str,
    around: CommandContext,
    plan: DrainPlan | None = None,
) -> None:
    """`journal`: the namespace of the runs' journal; `plan`: what is about to be done.

    Raises:
        Forbidden: rights are missing; it names all of them.
    """
    where: dict[str, list[str]] = {}  # the namespaces in which pods are asked to go, by the flag they would not without
    if plan is not None:
        by_flag = {"": plan.evictions, "--surge-singles": plan.restarts, "--delete-past-budget": plan.past_budgets}
        where = {flag: sorted({each.pod.namespace for each in some}) for flag, some in by_flag.items()}
    needed = [right for right in rights.BY_COMMAND[command] if right.required or (right.flag and where.get(right.flag))]
    everywhere = {each.at(journal if each.journal else ""): each for each in needed}
    missing: dict[Permission, Right] = {}
    for each in around.edges.denied(around.connection, tuple(everywhere)):
        right = everywhere[each]
        if right.subresource or right.flag:  # it may be allowed where it is needed
            within = tuple(each._replace(namespace=namespace) for namespace in where.get(right.flag, ()))
            missing |= dict.fromkeys(around.edges.denied(around.connection, within), right)
        else:
            missing[each] = right
    if missing:
        said = "; ".join(each.said for each in missing)
        hints = dict.fromkeys(permissions.how_to(str(right), command) for right in missing.values())
        first = min(missing.values(), key=lambda right: right.opt_in is not None)
        hint = "\n".join(("Nothing was done.", *filter(None, hints)))
        raise rights.explained(Forbidden(f"the cluster does not let you: {said}", hint, str(first)), command)
