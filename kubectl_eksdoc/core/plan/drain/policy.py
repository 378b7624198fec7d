"""What the user asks for: which nodes, and what a drain may do to their pods."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.budgets import Amount
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.model.selectors import Selector
from kubectl_eksdoc.core.model.versions import Version


@dataclass(frozen=True, slots=True)
class Targeting:
    """Nodes by name, or by filters that must all hold; `nodegroups` match if any of them does."""

    names: tuple[str, ...] = ()
    selector: Selector | None = None
    nodegroups: tuple[str, ...] = ()
    older_than: Version | None = None

    @property
    def empty(self) -> bool:
        return not (self.names or self.selector or self.nodegroups or self.older_than)


@dataclass(frozen=True, slots=True)
class DrainPolicy:
    """kubectl drain's flags with their meaning, and ours.

    `grace_seconds` None means each pod's own; `skip_deleting_after` seconds past a deletion deadline a pod
    is no longer waited for (0: always waited for), as ``--skip-wait-for-delete-timeout``. `max_unavailable` is
    how many targets may be under way at once (None: all of them), `evictions_per_second` 0 means no limit.
    """

    ignore_daemonsets: bool = True
    delete_emptydir_data: bool = False
    force: bool = False
    grace_seconds: int | None = None
    pod_selector: Selector | None = None
    skip_deleting_after: int = 0
    partial: bool = False
    evict_protected: bool = False
    max_unavailable: Amount | None = None
    evictions_per_second: float = 0.0
    accept_unknown: frozenset[str] = frozenset()
    assume_budgets: tuple[tuple[str, int], ...] = ()  # what-if: ns/name → how many may be away
    assume_fixed: frozenset[str] = frozenset()  # what-if: finding codes that stop nothing

    def grace_of(self, pod: Pod) -> int:
        """Seconds `pod` gets to stop: as the user says, else its own."""
        return pod.grace_seconds if self.grace_seconds is None else self.grace_seconds
