"""One machine that drains a served cluster, as a separate process that a test can kill, stop and start elsewhere.

Arguments: begin, go-on or roll-back, the id of the run, a kubeconfig, a home. It prints a line for every event. Its
clock is as fast as the cluster's, except for the lock, which uses real time.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial

from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.run.events import DrainEvent
from kubectl_eksdoc.drain.run.journals import RunJournal
from kubectl_eksdoc.drain.run.runner import (
    ResumedIntent,
    RunEnvironment,
    RunHeader,
    resume,
    roll_back,
    run_plan,
)
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.host.journals import JournalFile, runs_folder
from kubectl_eksdoc.kube.cluster_journal import ClusterJournal
from kubectl_eksdoc.kube.config import open_access
from kubectl_eksdoc.kube.exchanges import Exchanges, RetryPolicy, real_timing
from kubectl_eksdoc.kube.live_backend import LiveRunBackend, RestartableBackend
from kubectl_eksdoc.kube.lock import LeaseLock, LockRenewer
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kube.requests import ApiWriter, real_clock
from kubectl_eksdoc.kube.runs import ConfigMaps
from kubectl_eksdoc.kube.target import process_credential_context
from kubectl_eksdoc.model.connection import Connection

SPEED = 30.0
LOCK_S = 6
NAMESPACE = "kube-system"


class Fast:
    """A clock with the cluster's pace."""

    def monotonic(self) -> float:
        return time.monotonic() * SPEED

    def now(self) -> datetime:
        return datetime.now(timezone.utc)


def tell(moments: Sequence[DrainEvent]) -> None:
    for moment in moments:
        print(moment.what.value, moment.subject, moment.node, moment.why, sep="\t", flush=True)


def drain(what: str, run: str, kubeconfig: str, home: str) -> str:
    connection = Connection(kubeconfig=kubeconfig)
    patience = RetryPolicy(silence_timeout=1.0, connect_timeout=1.0)
    sender = ApiWriter(Exchanges(open_access(connection, process_credential_context()), patience, real_timing()))
    clock = real_clock()
    lock = LeaseLock(sender, NAMESPACE, f"{home}/{os.getpid()}", clock, duration_s=LOCK_S)
    there = ClusterJournal(
        ConfigMaps(sender, NAMESPACE, clock, fence=lock.must_be_held), f"w{os.getpid()}", lock.must_be_held
    )
    folder = runs_folder({}, home)
    journal = RunJournal(lambda name: JournalFile(folder, name), there, lock)
    renewed = partial(LiveRunBackend, connection, run, fence=lock.must_be_held, confirm=lock.confirm)
    reader = LiveReader(connection)
    with (
        LockRenewer(lock, wait_s=20.0),
        contextlib.closing(RestartableBackend(renewed)) as field,
    ):
        running = RunEnvironment(field, journal, lock, Fast(), tell)
        if what == "roll-back":
            return str(roll_back(run, running, reader))
        if what == "go-on":
            return resume(run, reader, ResumedIntent(DrainPolicy()), running)[1].message
        cluster, plan = plan_drain(reader, Targeting(nodegroups=("blue",)), DrainPolicy())
        told = RunHeader(run, "digest", "0", "test", socket.gethostname(), ("--nodegroup", "blue"))
        return run_plan(cluster, plan, told, running).message


if __name__ == "__main__":
    try:
        print("over", drain(*sys.argv[1:]), sep="\t", flush=True)
    except EksdocError as error:
        print("error", type(error).__name__, error.message, sep="\t", flush=True)
        sys.exit(error.exit_code)
