"""A user at a served cluster and at the AWS stand-in, who uses the real command line."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from kubectl_eksdoc.cli.context import DrainRunEdges
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import Reply, ServedUser, TokenUsers
from kubectl_eksdoc.kube.exchanges import RetryPolicy
from kubectl_eksdoc.kube.live_backend import LiveRunBackend, RestartableBackend
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.ports import RunBackend
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.cli.running import Ran, called
from tests.fakes import kubeconfigs
from tests.permissions.command.granted_users import Held, Watched

if TYPE_CHECKING:
    from tests.aws.world.server import World

NAME, REGION = "prod", "ap-northeast-2"


def _metrics(pod: Doc, port: str, path: str) -> Reply | None:
    """The metrics of a Karpenter that has received messages."""
    text = "karpenter_interruption_received_messages_total 3\n"
    return Reply(200, text.encode(), "text/plain") if path.strip("/") == "metrics" else None


def _told_after(seconds: float) -> Callable[[], AbstractContextManager[Callable[[], int]]]:
    """End a command that would run for ever after that time."""

    @contextmanager
    def told() -> Iterator[Callable[[], int]]:
        ends_s = time.monotonic() + seconds
        yield lambda: int(time.monotonic() > ends_s)

    return told


@contextmanager
def _soon_sure(connection: Connection) -> Iterator[RunBackend]:
    """As `wiring.runs.open_watch`, but a refusal counts at once, and not after half a minute."""
    hasty = RetryPolicy(refusal_patience=0.2, first_pause=0.05, max_pause=0.1)
    with closing(RestartableBackend(lambda: LiveRunBackend(connection, "", retry_policy=hasty))) as watched:
        yield watched


class Site:
    """A served cluster for users with their own rights. Mutable: `users`, by their tokens."""

    def __init__(self, plane: ControlPlane) -> None:
        self.users: dict[str, ServedUser] = {}
        self.api = Api(plane, ApiSetup(TokenUsers(self.users), ports=_metrics), ManualTime())
        self._count = itertools.count()
        self.server: SimulatedApiServer | None = None

    @contextmanager
    def served(self) -> Iterator[Site]:
        with serving(self.api) as self.server:
            yield self
        assert list(self.api.internal_errors) == []

    def comes(self, held: Iterable[Held]) -> tuple[str, Watched]:
        """Add a user; returns the token and the user."""
        token = f"token-{next(self._count)}"
        self.users[token] = user = Watched(token, held)
        return token, user

    def url(self, token: str) -> str:
        assert self.server is not None
        return self.server.url(token)


@dataclass
class Desk:
    """A kubeconfig, and the keys of the account in the environment of the process."""

    site: Site
    aws: World
    folder: Path
    reaching: tuple[str, ...]

    def run(self, command: str, held: Iterable[Held], longest_s: float = 1.0) -> tuple[Ran, Watched]:
        """The output, and the user: with these rights and no others. `longest_s`: the time limit of a command that
        would not end."""
        token, user = self.site.comes(held)
        config = kubeconfigs.one(self.folder / "config", self.site.url(token), name="lab")
        words = command.replace("FILE", str(self.folder / "file.eksdoc")).split()
        edges = DrainRunEdges(stop_requests=_told_after(longest_s), open_watch=_soon_sure)
        environ = {"HOME": str(self.folder), "COLUMNS": "200"}
        return called(*words, "--kubeconfig", config, *self.reaching, environ=environ, run_edges=edges), user


def reaching(aws: World) -> tuple[str, ...]:
    """EKS returns another address than that of the served cluster: the tool recognises it by its expected TLS name."""
    said = aws.client("eks").describe_cluster(name=NAME)["cluster"]["endpoint"]
    aws.forget_calls()
    return ("--cluster-name", NAME, "--region", REGION, "--tls-server-name", urlsplit(said).hostname or "")


def desk(site: Site, aws: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    environ: Mapping[str, str] = aws.environ()
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(folder))
    return Desk(site, aws, folder, reaching(aws))
