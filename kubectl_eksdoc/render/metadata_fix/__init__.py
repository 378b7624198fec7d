"""Fixes of the metadata service, in every format: those to choose from, one that is to be carried out, what came of it.

Belongs here: what of a fix is shown, in which order and in which words.
Never here: which fixes exist (that is `imds_probe.fixes`), carrying one out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.imds_probe.fixes.fix import Fix
from kubectl_eksdoc.imds_probe.run import Done
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.metadata import Act
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look

# What is shown of a fix that is to be carried out, or was.


@dataclass(frozen=True, slots=True)
class FixView:
    """`fixes`: () where somebody looks at one later. `back`: the commands of the way back. `tried`: what a dry run
    said; `forbidden`: why it is not begun. `done` None: nothing was asked for. `journal`: where it is written down on
    this machine, "" if nowhere. `from_pod`: how it is tried from a pod, a command. `undoes`: the id of the fix that
    it reverts."""

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
    undoes: str = ""
    tool_version: str = __version__


# What ``-o`` offers for a fix that is carried out.


def _table(view: FixView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata_fix.table import table

    return table(view, look)


def _wide(view: FixView, look: Look) -> str:
    from kubectl_eksdoc.render.metadata_fix.table import wide

    return wide(view, look)


def _result(view: FixView) -> object:
    from kubectl_eksdoc.render.metadata_fix.result import FixResult

    return FixResult.of(view)


FORMATS: Formats[FixView] = Formats("a fix", {"table": _table, "wide": _wide, **documents(_result)})
