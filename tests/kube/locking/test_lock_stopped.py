"""A process that is stopped past the end of its lock (SIGSTOP), and goes on: it sends nothing more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.kube.lock import Lock
from kubectl_eksdoc.kube.sent import real_clock
from tests.fakes.sender import HttpSender
from tests.kube.field.fields import Kept
from tests.kube.spaces import an_api

ROOT = Path(__file__).parents[3]
ACTS = 5

SCRIPT = """
import sys, time
from kubectl_eksdoc.errors import LockLost
from kubectl_eksdoc.kube.sent import real_clock
from kubectl_eksdoc.kube.lock import Lock
from tests.fakes.sender import HttpSender
from tests.kube.field.fields import Kept

sender = HttpSender(sys.argv[1])
lock = Lock(sender, "kube-system", "stopped", real_clock(), duration_s=2)
lock.take()
renewed = time.monotonic()
try:
    while True:
        if time.monotonic() - renewed > 0.6:
            lock.renew()
            renewed = time.monotonic()
        lock.must_be_held()
        sender.send("GET", "/api/v1/nodes/act", {}, None)
        time.sleep(0.05)
except LockLost as error:
    print("lost:", error.message)
"""


@pytest.mark.long
def test_who_was_stopped_sends_nothing_more() -> None:
    acts = threading.Semaphore(0)
    listening = Kept(an_api(), lambda request: request.path.endswith("/act"), lambda _: acts.release())
    with serving(listening) as server:
        url = server.url("admin")
        command = [sys.executable, "-c", SCRIPT, url]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(ACTS):
                assert acts.acquire(timeout=20)
            os.kill(process.pid, signal.SIGSTOP)
            other = Lock(HttpSender(url), "kube-system", "other", real_clock(), duration_s=2)
            other.take(wait_s=20)
            assert other.held()
            before = len(listening.requests)
            os.kill(process.pid, signal.SIGCONT)
            said, _ = process.communicate(timeout=20)
        assert said.startswith("lost: the lock kube-system/eksdoc-drain")
        assert len(listening.requests) <= before + 1, "at most one that was on its way when it was stopped"
        assert other.renew()
