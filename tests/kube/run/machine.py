"""One machine that drains a served cluster, as a process of its own: what a test may kill, stop and start elsewhere.

Called with: begin, go-on or roll-back, the id of the run, a kubeconfig, a home; prints a line for every moment. Its
clock goes as fast as the cluster's, but for the lock, whose time is real.
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
from kubectl_eksdoc.drain.run.events import RunMoment
from kubectl_eksdoc.drain.run.journals import RunJournal
from kubectl_eksdoc.drain.run.runner import (
    ResumedIntent,
    RunEnvironment,
    RunHeader,
    go_on,
    roll_back,
    run_plan,
)
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.host.journals import JournalFile, runs_folder
from kubectl_eksdoc.kube.cluster_journal import ClusterJournal
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.exchanges import Exchanges, RetryPolicy, real_timing
from kubectl_eksdoc.kube.live_field import LiveRunField, RenewableField
from kubectl_eksdoc.kube.lock import Lock, LockKeeper
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kube.requests import ApiWriter, real_clock
from kubectl_eksdoc.kube.runs import ConfigMaps
from kubectl_eksdoc.kube.target import of_this_process
from kubectl_eksdoc.model.connection import Connection

SPEED = 30.0
LOCK_S = 6
NAMESPACE = "kube-system"


class Fast:
    """The cluster's pace."""

    def monotonic(self) -> float:
        return time.monotonic() * SPEED

    def now(self) -> datetime:
        return datetime.now(timezone.utc)


def tell(moments: Sequence[RunMoment]) -> None:
    for moment in moments:
        print(moment.what.value, moment.subject, moment.node, moment.why, sep="\t", flush=True)


def drain(what: str, run: str, kubeconfig: str, home: str) -> str:
    connection = Connection(kubeconfig=kubeconfig)
    patience = RetryPolicy(silence=1.0, connect=1.0)
    sender = ApiWriter(Exchanges(connect(connection, of_this_process()), patience, real_timing()))
    clock = real_clock()
    lock = Lock(sender, NAMESPACE, f"{home}/{os.getpid()}", clock, duration_s=LOCK_S)
    there = ClusterJournal(
        ConfigMaps(sender, NAMESPACE, clock, fence=lock.must_be_held), f"w{os.getpid()}", lock.must_be_held
    )
    folder = runs_folder({}, home)
    journal = RunJournal(lambda name: JournalFile(folder, name), there, lock)
    renewed = partial(LiveRunField, connection, run, fence=lock.must_be_held, confirm=lock.confirm)
    reader = LiveReader(connection)
    with (
        LockKeeper(lock, wait_s=20.0),
        contextlib.closing(RenewableField(renewed)) as field,
    ):
        running = RunEnvironment(field, journal, lock, Fast(), tell)
        if what == "roll-back":
            return str(roll_back(run, running, reader))
        if what == "go-on":
            return go_on(run, reader, ResumedIntent(DrainPolicy()), running)[1].said
        cluster, plan = plan_drain(reader, Targeting(nodegroups=("blue",)), DrainPolicy())
        told = RunHeader(run, "digest", "0", "test", socket.gethostname(), ("--nodegroup", "blue"))
        return run_plan(cluster, plan, told, running).said


if __name__ == "__main__":
    try:
        print("over", drain(*sys.argv[1:]), sep="\t", flush=True)
    except EksdocError as error:
        print("error", type(error).__name__, error.message, sep="\t", flush=True)
        sys.exit(error.exit_code)
