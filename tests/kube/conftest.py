"""Fixtures: a TLS API server, a kubeconfig for it, and a reader whose waits take no time."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import trustme

from kubectl_eksdoc.kube.config import open_access
from kubectl_eksdoc.kube.exchanges import RetryPolicy, Timing
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kube.target import CredentialContext
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.connection import Connection
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer
from tests.kube import spaces

NOW = datetime(2026, 11, 20, 9, 30, 5, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Authority:
    ca: trustme.CA

    @property
    def pem(self) -> bytes:
        return self.ca.cert_pem.bytes()

    def server_context(self, *names: str, clients: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert(*(names or ("localhost", "127.0.0.1"))).configure_cert(context)
        if clients:
            self.ca.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@dataclass
class Slept:
    """Records pauses instead of sleeping."""

    pauses: list[float] = field(default_factory=list)

    def timing(self) -> Timing:
        return Timing(sleep=self.pauses.append, chance=lambda: 1.0)


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority(trustme.CA())


@pytest.fixture
def server(authority: Authority) -> Iterator[ApiServer]:
    with ApiServer(authority.server_context()) as running:
        yield running


@pytest.fixture
def slept() -> Slept:
    return Slept()


@pytest.fixture
def around(tmp_path: Path) -> CredentialContext:
    return CredentialContext(environ={"PATH": "/usr/bin:/bin"}, home=str(tmp_path / "home"), now=lambda: NOW)


@pytest.fixture
def config(server: ApiServer, authority: Authority, tmp_path: Path) -> str:
    """Path of a kubeconfig whose user has the token "good"."""
    return kubeconfigs.one(tmp_path / "config", server.url, authority.pem, {"token": "good"})


@pytest.fixture
def transport(around: CredentialContext, slept: Slept) -> Callable[..., Transport]:
    def make(connection: Connection, patience: RetryPolicy | None = None, **surroundings: Any) -> Transport:
        chosen = replace(around, **surroundings)
        return Transport(open_access(connection, chosen), patience, slept.timing())

    return make


@pytest.fixture
def signed_in(
    server: ApiServer, authority: Authority, transport: Callable[..., Transport], tmp_path: Path
) -> Callable[..., Transport]:
    """A transport to the server with this user in its kubeconfig; `cluster` are fields of the kubeconfig's cluster,
    `flags` are command line flags."""

    def make(user: dict[str, Any] | None = None, cluster: Any = None, flags: Any = None, **more: Any) -> Transport:
        fields = {"certificate-authority-data": kubeconfigs.b64(authority.pem)} if cluster is None else cluster
        path = kubeconfigs.one(tmp_path / "config", server.url, user=user, **fields)
        return transport(Connection(kubeconfig=path, **(flags or {})), **more)

    return make


@pytest.fixture
def reader(around: CredentialContext, slept: Slept) -> Callable[..., LiveReader]:
    def make(connection: Connection, progress: Any = None, **surroundings: Any) -> LiveReader:
        chosen = replace(around, **surroundings)
        return LiveReader(connection, progress, credential_context=chosen, timing=slept.timing())

    return make


@pytest.fixture
def space() -> Iterator[spaces.World]:
    with spaces.served() as made:
        yield made
