"""The port `flows.ports.Runs`: all runs of a cluster, as whoever does not lead them sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kubectl_eksdoc.core.model.journal import Entries, Phase, RunSummary
from kubectl_eksdoc.core.model.locks import Held
from kubectl_eksdoc.errors import JournalError, Unreachable
from kubectl_eksdoc.kube.journal.config_maps import ConfigMaps
from kubectl_eksdoc.kube.journal.runs import ask_run, list_runs, read_run, remove_run
from kubectl_eksdoc.kube.locking.lock import Lock
from kubectl_eksdoc.kube.tries import Tries

Told = TypeVar("Told")


PATIENCE = Tries(patience_s=6.0)
"""Somebody waits for the answer."""


class StoredRuns:
    def __init__(self, maps: ConfigMaps, lock: Lock) -> None:
        self._maps = maps
        self._lock = lock

    def all(self) -> Sequence[RunSummary]:
        return self._asked(lambda: list_runs(self._maps))

    def entries(self, run: str) -> Entries:
        return self._asked(lambda: read_run(self._maps, run).entries)

    def ask(self, run: str, wanted: Phase, who: str) -> None:
        self._asked(lambda: ask_run(self._maps, run, wanted, who))

    def remove(self, run: str) -> None:
        self._asked(lambda: remove_run(self._maps, run))

    def _asked(self, ask: Callable[[], Told]) -> Told:
        """To a run that is under way it matters that nothing can be kept; here it is a cluster that does not answer."""
        try:
            return ask()
        except JournalError as error:
            raise Unreachable(error.message, "Nothing was changed. Try again.") from error

    def lock(self) -> Held:
        return self._lock.look()
