"""What ``drain status`` shows: the runs of a cluster, and what nodes say of runs that have no journal there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.core.model.journal import RunSummary
from kubectl_eksdoc.core.model.locks import Held
from kubectl_eksdoc.core.run.journal import Journaled
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.run.history import Past
from kubectl_eksdoc.render.text import counted, listing

_MOST_NAMES = 6


@dataclass(frozen=True, slots=True)
class WithoutJournal:
    """A run that is known by what `nodes` say of it alone. `gone`: its journal is not in `namespace` any more; else it
    may be there, in another namespace than was asked for. `command` takes it back, or shows it."""

    run: str
    nodes: tuple[str, ...]
    namespace: str
    gone: bool
    command: str

    @property
    def said(self) -> str:
        carry = f"{counted(len(self.nodes), 'node')} {'carry' if len(self.nodes) > 1 else 'carries'} its notes"
        what = "its journal is gone" if self.gone else f"its journal is in namespace {self.namespace}"
        return f"run {self.run}: {what}; {carry} ({listing(self.nodes, _MOST_NAMES, Look())})"


@dataclass(frozen=True, slots=True)
class StatusView:
    """`run` is one of `runs` in full, None where only the list is asked for; `held` is the lock, None where it must
    not be read. `without`: runs that are known by nodes alone; `notes`: what could not be checked; `history`: the
    runs against their plans, None where that was not asked for."""

    namespace: str
    now: datetime
    runs: Sequence[RunSummary]
    held: Held | None
    run: RunSummary | None = None
    journaled: Journaled | None = None
    without: tuple[WithoutJournal, ...] = ()
    notes: tuple[str, ...] = ()
    history: tuple[Past, ...] | None = None

    @property
    def led(self) -> bool:
        return self.held is None or self.held.led
