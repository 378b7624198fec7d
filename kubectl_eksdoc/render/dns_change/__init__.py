"""A change of CoreDNS that is to be made, or was, in every format.

Belongs here: the Corefile and the values before and after, what is sent, the way back, and which pods have taken it up.
Never here: what the change should be (that is `coredns_lameduck.change`), whether it may be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.run.ended import Ended
from kubectl_eksdoc.addon_diff.run.guards import Guard
from kubectl_eksdoc.coredns_lameduck.change.change import Change
from kubectl_eksdoc.coredns_lameduck.run import Verified
from kubectl_eksdoc.model.api_objects import Conflict, Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look

# What is shown of a change of CoreDNS.


@dataclass(frozen=True, slots=True)
class DnsChangeView:
    """`change` None: it was begun before, and is looked at again. `plan`: what the update would do, None where EKS is
    not asked; `values` and `mode` are those of the call. `resets`: fields that it takes from people; `weighty`: what
    must be acknowledged; `changes`: how many values, or Corefiles, become others. `command` does the same without this
    tool; `back`: each a line for a shell. `ended`: what came of the update; `applied`: the ConfigMap was changed;
    `tried`: what a dry run was told. `verified`: which pods have taken it up, None where nobody looked."""

    cluster: Cluster
    options: Mapping[str, object]
    change: Change | None = None
    plan: AddonPlan | None = None
    mode: str = ""
    values: Doc | None = None
    config: Doc | None = None
    resets: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    weighty: tuple[Finding, ...] = ()
    changes: int = 0
    command: str = ""
    back: tuple[str, ...] = ()
    tried: str = ""
    applied: bool = False
    ended: Ended | None = None
    verified: Verified | None = None
    after: tuple[Finding, ...] = ()
    run: str = ""
    journal: str = ""
    recognised: str = ""
    tool_version: str = __version__

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of the change, of the update that makes it, and of what came of it."""
        own = self.change.findings if self.change is not None else ()
        return (*self.after, *own, *(self.plan.findings if self.plan is not None else ()))


# What ``-o`` offers for a change of CoreDNS.


def _table(view: DnsChangeView, look: Look) -> str:
    from kubectl_eksdoc.render.dns_change.table import table

    return table(view, look)


def _wide(view: DnsChangeView, look: Look) -> str:
    from kubectl_eksdoc.render.dns_change.table import wide

    return wide(view, look)


def _result(view: DnsChangeView) -> object:
    from kubectl_eksdoc.render.dns_change.result import DnsChangeResult

    return DnsChangeResult.of(view)


FORMATS: Formats[DnsChangeView] = Formats("a change of CoreDNS", {"table": _table, "wide": _wide, **documents(_result)})


render = FORMATS.render
