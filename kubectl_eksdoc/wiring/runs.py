"""A run on the live cluster: its lock, its journal in two places, and the field on which it acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from kubectl_eksdoc.flows.run.journal import RunJournal
    from kubectl_eksdoc.kube.locking.lock import Lock
    from kubectl_eksdoc.kube.sent import Clock, Sender

JOURNAL_NAMESPACE = "kube-system"


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where a run is written down and locked: a namespace of the cluster, and a folder by the environment and home of
    whoever runs it. `who` and `host` name them to others."""

    run: str
    who: str
    host: str
    environ: Mapping[str, str]
    home: str
    namespace: str = JOURNAL_NAMESPACE


def open_run_journal(sender: Sender, keeping: Keeping, clock: Clock | None = None) -> tuple[RunJournal, Lock]:
    """The journal of a run, to be begun or adopted when the lock is taken.

    Raises:
        JournalError: there is no folder for it.
    """
    import os
    import secrets

    from kubectl_eksdoc.flows.run.journal import RunJournal
    from kubectl_eksdoc.host.journal_file import JournalFile, runs_folder
    from kubectl_eksdoc.kube.journal.cluster_journal import ClusterJournal
    from kubectl_eksdoc.kube.journal.config_maps import ConfigMaps
    from kubectl_eksdoc.kube.locking.lock import Lock
    from kubectl_eksdoc.kube.sent import real_clock

    clock = clock or real_clock()
    writer = secrets.token_hex(3)  # in a container every process may be number 1 of the same host
    holder = f"{keeping.who}@{keeping.host}/{os.getpid()}/{keeping.run}/{writer}"
    lock = Lock(sender, keeping.namespace, holder, clock)
    folder = runs_folder(keeping.environ, keeping.home)
    there = ClusterJournal(ConfigMaps(sender, keeping.namespace, clock), writer, lock.must_be_held)
    return RunJournal(lambda run: JournalFile(folder, run), there, lock), lock


def new_run_id(now: datetime) -> str:
    """``20261120-193005-4f2a``: by its beginning in UTC, and unlike any other of that second."""
    import secrets

    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
