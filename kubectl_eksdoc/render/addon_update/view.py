"""What is shown of an update that is to be carried out, or was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.run.ended import Ended
from kubectl_eksdoc.addon_diff.run.guards import Guard
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding


@dataclass(frozen=True, slots=True)
class Sent:
    """What UpdateAddon says. `values` None: it gives none, and EKS keeps what it has. `keeps`: the fields for whose
    sake there are values that nobody gave, in words."""

    addon: str
    before: str
    target: str
    mode: str
    values: Doc | None
    keeps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WayBackText:
    """`commands`: each a whole line for a shell; `caveats` are clauses, `by_hand` fields in words."""

    commands: tuple[str, ...]
    caveats: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UpdateView:
    """`plan` is of what is sent, None where somebody looks at it later; `changes`: so many fields are foretold to
    become other than they are. `guards`: why it is not sent; `weighty`: what must be acknowledged. `back`: a text is
    why there is no way back. `ended` None: nothing was sent. `journal`: where it is written down on this machine, "" if
    nowhere."""

    sent: Sent
    cluster: Cluster
    options: Mapping[str, object]
    plan: AddonPlan | None = None
    changes: int = 0
    guards: tuple[Guard, ...] = ()
    weighty: tuple[Finding, ...] = ()
    back: WayBackText | str = ""
    ended: Ended | None = None
    run: str = ""
    journal: str = ""
    recognised: str = ""
    tool_version: str = __version__
