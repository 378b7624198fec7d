"""Clusters for a fleet's processes: some embedded servers, with contexts that reach them in different ways."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.faults import Delayed, Dropped, Effect, Fault, FaultyHandler
from kubectl_eksdoc.embedded.serving.handler import ManualTime, serving
from kubectl_eksdoc.embedded.serving.requests import VIEWER, TokenUsers, restricted
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

ROOT = Path(__file__).parents[3]
LONGEST_S = 240.0
ALLOWED, NOBODY = "viewer-token", "nobody-token"
SLOW_S = 1.0


@dataclass
class Places:
    """A kubeconfig, and the home folder of the user. Mutable."""

    folder: Path
    urls: Mapping[str, str]
    contexts: dict[str, tuple[str, str]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, name: str, server: str, user: Mapping[str, Any] | None = None) -> None:
        """Add a context; `server`: fine, slow, silent or closed."""
        self.users[name] = dict(user or {"token": ALLOWED})
        self.contexts[name] = (server, name)

    @property
    def config(self) -> str:
        clusters = {name: {"server": url} for name, url in self.urls.items()}
        return kubeconfigs.many(self.folder / "config", clusters, self.users, self.contexts)

    def environ(self, **more: str) -> dict[str, str]:
        """The environment, with no variables of AWS except those that a test gives."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        nothing = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null"}
        return {**plain, **nothing, "PYTHONPATH": str(ROOT), "HOME": str(self.folder), "NO_PROXY": "127.0.0.1", **more}

    def begun(self, *argv: str, **environ: str) -> subprocess.Popen[str]:
        """Start the command line, as a user types it."""
        command = [sys.executable, "-m", "kubectl_eksdoc", *argv, "--kubeconfig", self.config]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environ(**environ),
        )

    def run(self, *argv: str, **environ: str) -> tuple[int, str, str]:
        with self.begun(*argv, **environ) as process:
            try:
                out, err = process.communicate(timeout=LONGEST_S)
            finally:
                process.kill()
        return process.returncode, out, err


@contextlib.contextmanager
def places(folder: Path) -> Iterator[Places]:
    """Plain HTTP carries no token, so the URL names the user."""
    users = {ALLOWED: VIEWER, NOBODY: restricted("nobody", ())}
    api = Api(worlds.plane_of("small-traps", None), ApiSetup(TokenUsers(users)), ManualTime())

    def faulty(effect: Effect, times: int) -> FaultyHandler:
        return FaultyHandler(api, [Fault(effect, "/pods$", times=times)], time.sleep)

    with (
        serving(api) as fine,
        serving(faulty(Delayed(SLOW_S), 0)) as slow,
        serving(faulty(Dropped(), 0)) as silent,
    ):
        servers = {"fine": fine, "slow": slow, "silent": silent}
        urls = {name: server.url(ALLOWED) for name, server in servers.items()}
        yield Places(folder, urls | {"forbidden": fine.url(NOBODY), "closed": f"http://127.0.0.1:{closed_port()}"})
    assert list(api.internal_errors) == []


def closed_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
