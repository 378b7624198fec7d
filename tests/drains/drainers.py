"""Drain a served cluster with processes: kubectl one node after another, kubectl all nodes at once, and this tool."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer
from kubectl_eksdoc.embedded.serving.requests import ADMIN, ServedUser, TokenUsers
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.control_plane import ControlPlane, ControlPlaneLags, workload_controllers
from tests import required_programs
from tests.drains.shapes import OLD, Shape
from tests.drains.watched import Counted, Watched
from tests.fakes import kubeconfigs
from tests.kube.live_backend.served_backends import serving_again

ROOT = Path(__file__).parents[2]
START = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)
TOKEN = "admin-token"
ADMINS: Mapping[str, ServedUser] = {TOKEN: ADMIN}
LAGS = ControlPlaneLags(disruptions_s=0.1)
"""The budgets' controller was up to a tenth of a second late in the recordings."""

LONGEST_S = 900.0


@dataclass(frozen=True, slots=True)
class Served:
    """A cluster that is drained once."""

    shape: Shape
    api: Api
    watched: Watched
    counted: Counted
    server: SimulatedApiServer
    home: Path

    @property
    def kubeconfig(self) -> str:
        return kubeconfigs.one(self.home / "config", self.server.url(TOKEN), name="lab")

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a machine that knows only this cluster."""
        return {
            "HOME": str(self.home),
            "KUBECONFIG": self.kubeconfig,
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(ROOT),
            **required_programs.BYTECODE,
        }


def plane_of(shape: Shape) -> ControlPlane:
    plane = load_documents(shape.docs(), START, seed=7).plane
    plane.start(shape, workload_controllers, LAGS)
    return plane


@contextlib.contextmanager
def served(shape: Shape, home: Path, speed: float = 1.0, users: Mapping[str, ServedUser] = ADMINS) -> Iterator[Served]:
    """`users`: by their tokens. At the end the test fails if the server had an internal error."""
    api = Api(plane_of(shape), ApiSetup(TokenUsers(users)), ScaledTime(time.monotonic, speed))
    watched, counted = api.run_locked(Watched), Counted(api)
    home.mkdir(exist_ok=True)
    with serving_again(counted, 0) as server:
        yield Served(shape, api, watched, counted, server, home)
    assert not api.internal_errors and not server.errors


class Drained(NamedTuple):
    """`wall_s`: from the first command's start to the last one's end; `gone_s`: to the end of the last evicted pod; the
    commands' exit codes, and their output."""

    wall_s: float
    gone_s: float
    codes: tuple[int, ...]
    out: str
    err: str


Drainer = Callable[[Served], Drained]


def one_after_another(kubectl: str, timeout_s: float = 0.0) -> Drainer:
    """``kubectl drain`` of all nodes; `timeout_s`: the time limit for each node."""
    return lambda world: _ran(world, [_drain(kubectl, world.shape.old_nodes, timeout_s)])


def all_at_once(kubectl: str, timeout_s: float = 0.0) -> Drainer:
    """A ``kubectl drain`` for each node, at the same time."""
    return lambda world: _ran(world, [_drain(kubectl, [node], timeout_s) for node in world.shape.old_nodes])


def ours(world: Served, expected: int | None = None, *more: str) -> Drained:
    return _ran(world, [our_words(world, expected, *more)])


def our_words(world: Served, expected: int | None = None, *more: str) -> list[str]:
    nodes = str(world.shape.old if expected is None else expected)
    words = ["drain", "run", "--nodegroup", OLD, "--yes", "--expect-nodes", nodes, *more]
    return [sys.executable, "-m", "kubectl_eksdoc", *words]


def told(drained: Drained) -> list[Doc]:
    """The documents that ``-o json`` printed."""
    return [json.loads(line) for line in drained.out.splitlines()]


def _drain(kubectl: str, nodes: Sequence[str], timeout_s: float) -> list[str]:
    words = [kubectl, "drain", *nodes, "--ignore-daemonsets", "--delete-emptydir-data"]
    return [*words, f"--timeout={timeout_s:g}s"] if timeout_s else words


def _ran(world: Served, commands: Sequence[Sequence[str]]) -> Drained:
    begun_s, before_s = time.monotonic(), world.api.run_locked(lambda plane: plane.virtual_time.seconds)
    files = [(world.home / f"out-{number}", world.home / f"err-{number}") for number in range(len(commands))]
    with contextlib.ExitStack() as stack:
        opened = [tuple(stack.enter_context(path.open("w")) for path in pair) for pair in files]
        going = [
            stack.enter_context(subprocess.Popen(words, stdout=out, stderr=err, env=world.environ))
            for words, (out, err) in zip(commands, opened, strict=True)
        ]
        try:
            codes = tuple(each.wait(LONGEST_S) for each in going)
        finally:
            for each in going:
                each.kill()
    wall_s = time.monotonic() - begun_s
    out, err = ("".join(path.read_text() for path in column) for column in zip(*files, strict=True))
    return Drained(wall_s, world.watched.gone_s - before_s, codes, out, err)
