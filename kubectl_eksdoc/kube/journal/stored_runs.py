"""The port `flows.ports.Runs`: all runs of a cluster, as whoever does not lead them sees them."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.journal import Entries, Phase, RunSummary
from kubectl_eksdoc.core.model.locks import Held
from kubectl_eksdoc.kube.journal.config_maps import ConfigMaps
from kubectl_eksdoc.kube.journal.runs import ask_run, list_runs, read_run, remove_run
from kubectl_eksdoc.kube.locking.lock import Lock


class StoredRuns:
    def __init__(self, maps: ConfigMaps, lock: Lock) -> None:
        self._maps = maps
        self._lock = lock

    def all(self) -> Sequence[RunSummary]:
        return list_runs(self._maps)

    def entries(self, run: str) -> Entries:
        return read_run(self._maps, run).entries

    def ask(self, run: str, wanted: Phase, who: str) -> None:
        ask_run(self._maps, run, wanted, who)

    def remove(self, run: str) -> None:
        remove_run(self._maps, run)

    def lock(self) -> Held:
        return self._lock.look()
