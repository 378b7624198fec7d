"""Ctrl-C while a server does not answer: out at once, and without threads that keep the process alive."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from tests.fakes.apiserver import ApiServer

PROGRAM = """
import signal, sys
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.kube.reader import LiveReader
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
try:
    LiveReader(Connection(kubeconfig=sys.argv[1])).read(kinds.ALL)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.long
def test_interrupt(server: ApiServer, config: str) -> None:
    server.open.clear()
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, config], stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 20
        while len(server.requests) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(server.requests) == 5  # the version, then four lists that hang
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        _, complaint = process.communicate(timeout=10)
        assert (process.returncode, complaint) == (130, "")
        assert time.monotonic() - started < 5
    finally:
        server.open.set()
        process.kill()
