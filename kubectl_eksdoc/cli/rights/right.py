"""One right of a command, and what its answer lacks without it."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model import codes, kinds
from kubectl_eksdoc.core.model.kinds import Resource


@dataclass(frozen=True, slots=True)
class Right:
    """One RBAC rule, over all namespaces or, if `journal`, in that of the runs' journal and of what ``--in-cluster``
    makes, or, if `probe`, in that of a probe's pods. `required`: without it the command cannot answer at all.

    `lost` says what the answer lacks without it where no finding code does.
    """

    verb: str
    resource: Resource
    required: bool = False
    lost: str = ""
    subresource: str = ""
    journal: bool = False
    probe: bool = False

    @property
    def unknown_without(self) -> tuple[str, ...]:
        """The finding codes whose answer is unknown without this right, sorted."""
        return tuple(sorted(code.name for code in codes.ALL if self.verb == "list" and self.resource in code.needs))

    def __str__(self) -> str:
        return f"{self.verb} {self.of}"

    @property
    def is_url(self) -> bool:
        """A path of the server itself, as ``/metrics``: in RBAC under nonResourceURLs, of a ClusterRole alone."""
        return self.resource.plural.startswith("/")

    @property
    def of(self) -> str:
        """As kubectl and RBAC name it: ``poddisruptionbudgets.policy``, ``pods/eviction``, ``/metrics``."""
        return f"{self.resource.full_name}/{self.subresource}" if self.subresource else self.resource.full_name


NOTHING_WITHOUT = (kinds.NODES, kinds.PODS)
"""Without these nothing can be said at all."""
