"""One right of a command, and what its answer lacks without it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.permissions import OptIn, Permission


@dataclass(frozen=True, slots=True)
class Right:
    """One RBAC rule. It is needed in `namespace`, "" for everywhere, or, if `journal`, in that of the runs' journal and
    of what ``--in-cluster`` makes, or, if `probe`, in that of a probe's pods, or, if `karpenter`, in Karpenter's.
    `required`: without it the command cannot answer at all.

    `lost` says what the answer lacks without it where no finding code does. `flag`: only with this flag of the command
    it is needed, ``--surge-singles``, ``--measure=rollout``, or with such a name, ``pod/NAME``. `opt_in`: it is granted
    only by that name, or by its `flag`.
    """

    verb: str
    resource: Resource
    required: bool = False
    lost: str = ""
    subresource: str = ""
    journal: bool = False
    probe: bool = False
    namespace: str = ""
    karpenter: bool = False
    flag: str = ""
    opt_in: OptIn | None = None

    @property
    def unknown_without(self) -> tuple[str, ...]:
        """The finding codes whose answer is unknown without this right, sorted."""
        return tuple(
            sorted(code.name for code in Code.of_area("drain") if self.verb == "list" and self.resource in code.needs)
        )

    def __str__(self) -> str:
        return f"{self.verb} {self.of}"

    @property
    def what(self) -> tuple[str, bool, bool, str, bool]:
        """The same of rights that allow the same in the same place, whatever is lost without them."""
        return str(self), self.journal, self.probe, self.namespace, self.karpenter

    @property
    def is_url(self) -> bool:
        """A path of the server itself, as ``/metrics``: in RBAC under nonResourceURLs, of a ClusterRole alone."""
        return self.resource.plural.startswith("/")

    @property
    def of(self) -> str:
        """As kubectl and RBAC name it: ``poddisruptionbudgets.policy``, ``pods/eviction``, ``/metrics``."""
        return f"{self.resource.full_name}/{self.subresource}" if self.subresource else self.resource.full_name


@dataclass(frozen=True, slots=True)
class Places:
    """Namespaces: `journal` of runs, and of what is made by ``--in-cluster``; `probe` of a probe's pods; `karpenter`
    of Karpenter."""

    journal: str = ""
    probe: str = ""
    karpenter: str = ""

    def of(self, right: Right) -> str:
        """That in which it is needed, "" for everywhere."""
        if right.journal:
            return self.journal
        if right.probe:
            return self.probe
        return self.karpenter if right.karpenter else right.namespace

    def permission(self, right: Right) -> Permission:
        return Permission(right.verb, right.resource, right.subresource, self.of(right))


def needed_with(rights: Iterable[Right], flags: Collection[str], opted: Collection[str]) -> tuple[Right, ...]:
    """Those that a command with these `flags` needs, and those of the opt-ins that are named."""
    return tuple(each for each in rights if _is_needed(each, flags) or (each.opt_in and each.opt_in.name in opted))


def _is_needed(right: Right, flags: Collection[str]) -> bool:
    return right.flag in flags if right.flag else right.opt_in is None


NOTHING_WITHOUT = (kinds.NODES, kinds.PODS)
"""Without these nothing can be checked."""
