"""The rights each command may use, as data: the error for a missing one, the README and the tests read this.

No command writes yet, and none calls AWS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model import codes, kinds
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.errors import Forbidden


@dataclass(frozen=True, slots=True)
class Right:
    """One RBAC rule over all namespaces. `required`: without it the command cannot answer at all.

    `lost` says what the answer lacks without it where no finding code does.
    """

    verb: str
    resource: Resource
    required: bool = False
    lost: str = ""

    @property
    def unknown_without(self) -> tuple[str, ...]:
        """The finding codes whose answer is unknown without this right, sorted."""
        return tuple(sorted(code.name for code in codes.ALL if self.resource in code.needs))

    def __str__(self) -> str:
        return f"{self.verb} {self.resource.full_name}"


_NOTHING_WITHOUT = (kinds.NODES, kinds.PODS)

_LOST: Mapping[Resource, str] = {
    kinds.PRIORITY_CLASSES: "findings about preemption say priorities as numbers, without their classes",
    kinds.LEASES: "the holder of a leader election is not known, so it may go before its standbys",
    kinds.AUTOSCALERS: "advice to scale a workload says that it is not known whether an autoscaler would undo it",
    kinds.NODE_POOLS: "`--nodegroup` does not know a Karpenter NodePool that has no nodes at the moment",
    kinds.NAMESPACES: "`metadata.cluster.uid` is null",
}

DRAIN_PLAN = tuple(Right("list", r, r in _NOTHING_WITHOUT, _LOST.get(r, "")) for r in kinds.ALL)

BY_COMMAND: Mapping[str, tuple[Right, ...]] = {"drain plan": DRAIN_PLAN, "rehearse": DRAIN_PLAN}


def explained(error: Forbidden, command: str) -> Forbidden:
    """`error` with all that `command` needs, and how to allow it, where a right of the command is what is missing."""
    rights = BY_COMMAND[command]
    if error.missing not in map(str, rights):
        return error
    served = ",".join(right.resource.full_name for right in rights if not right.resource.custom)
    custom = " and ".join(right.resource.full_name for right in rights if right.resource.custom)
    role = f"eksdoc-{command.replace(' ', '-')}"
    hint = (
        f"Without {' and '.join(str(r) for r in rights if r.required)} in all namespaces nothing can be said. "
        "An administrator can allow all that this command reads, and bind it with kubectl create clusterrolebinding:\n"
        f"    kubectl create clusterrole {role} --verb=list --resource={served}\n"
        f"Where the cluster has them, also {custom}."
    )
    return Forbidden(error.message, "\n".join(filter(None, (error.hint, hint))), error.missing)
