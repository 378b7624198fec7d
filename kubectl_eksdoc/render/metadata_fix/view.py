"""What is shown of a fix that is to be carried out, or was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.metadata_acts import Act
from kubectl_eksdoc.core.plan.metadata.fixes.fix import Fix
from kubectl_eksdoc.core.run.metadata.became import Done


@dataclass(frozen=True, slots=True)
class FixView:
    """`fixes`: () where somebody looks at one later. `back`: the commands of the way back. `tried`: what a dry run
    said; `forbidden`: why it is not begun. `done` None: nothing was asked for. `journal`: where it is written down on
    this machine, "" if nowhere. `from_pod`: how it is tried from a pod, a command."""

    name: str
    act: Act
    cluster: Cluster
    options: Mapping[str, object]
    fixes: tuple[Fix, ...] = ()
    back: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    forbidden: str = ""
    done: Done | None = None
    run: str = ""
    journal: str = ""
    recognised: str = ""
    from_pod: str = ""
    tool_version: str = __version__
