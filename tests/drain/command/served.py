"""Run the command line against a served cluster as several machines, each with its own home, in this process."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from kubectl_eksdoc.cli.context import CommandContext, DrainRunEdges
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.drain.run.apply import RunEdges, open_run
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.kube.lease import micro_time
from kubectl_eksdoc.kube.requests import real_clock
from kubectl_eksdoc.kube.runs import ConfigMaps, RunRequestListener
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.kubernetes.updates import RunUpdate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.ports import RunBackend
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.wiring.runs import Hooks, JournalLocation, api_writer
from tests.cli.running import Fast, Ran, Typist
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

EVICTED = "Z  evicted"
"""How the line of an event begins, behind its time."""


class Hasty:
    """A live backend whose waits for updates are shortened, as the cluster's time passes faster."""

    def __init__(self, field: RunBackend) -> None:
        self._field = field
        self.do, self.restart_watches, self.close = field.do, field.restart_watches, field.close

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        return self._field.updates(wait_s / worlds.SPEED)


@contextmanager
def opened_fast(connection: Connection, keeping: JournalLocation, wait_s: float, hooks: Hooks) -> Iterator[RunEdges]:
    maps = ConfigMaps(api_writer(connection), keeping.namespace, real_clock())
    with (
        open_run(connection, keeping, wait_s, hooks) as world,
        RunRequestListener(maps, keeping.run, poll_interval_s=0.05) as asked,
    ):
        yield replace(
            world, clock=Fast(worlds.SPEED), backend=Hasty(world.backend), requested_phase=lambda: asked.requested
        )


class Said(io.StringIO):
    """Collected output that other threads can wait for."""

    def until(self, text: str, longest_s: float = 30.0) -> None:
        ends_s = time.monotonic() + longest_s
        while text not in self.getvalue():
            assert time.monotonic() < ends_s, f"{text!r} was never said: {self.getvalue()}"
            time.sleep(0.01)


@dataclass
class Machine:
    """One user's machine. `types`: the answer to a prompt ("": no user is at the terminal); `before_typing`: a callback
    that runs before the answer."""

    home: Path
    config: str
    types: str = ""
    before_typing: Callable[[], object] = lambda: None
    times_told: Callable[[], int] = lambda: 0
    opens_run: Callable[[Connection, JournalLocation, float, Hooks], AbstractContextManager[RunEdges]] = opened_fast
    opens_out: Callable[[], Said] = Said
    opens_err: Callable[[], Said] = Said
    out: Said = field(default_factory=Said)
    err: Said = field(default_factory=Said)
    code: int = -1

    def run(self, *argv: str, **environ: str) -> Ran:
        """Return the exit code and the output of this command alone."""
        self.out, self.err = self.opens_out(), self.opens_err()
        self.code = run([*argv, "--kubeconfig", self.config], self.out, self.err, context=self._around(environ))
        return Ran(self.code, self.out.getvalue(), self.err.getvalue())

    def goes_on(self, *argv: str, longest_s: float = 30.0, **environ: str) -> Ran:
        """Run ``drain resume`` again while it requests that: the results of a stopped run may still be settling."""
        ends_s = time.monotonic() + longest_s
        while True:
            ran = self.run("drain", "resume", *argv, **environ)
            if ran.code != 7 or "Resume it again" not in ran.err or time.monotonic() > ends_s:
                return ran

    @contextmanager
    def running(self, *argv: str) -> Iterator[threading.Thread]:
        """Run the command in a thread until the block ends or the command ends."""
        thread = threading.Thread(target=self.run, args=argv)
        thread.start()
        time.sleep(0.05)
        yield thread
        thread.join(60)
        assert not thread.is_alive(), self.err.getvalue()

    def _around(self, environ: dict[str, str]) -> CommandContext:
        stdin = Typist(self.types, self.before_typing) if self.types else io.StringIO()

        @contextmanager
        def told() -> Iterator[Callable[[], int]]:
            yield lambda: self.times_told()

        return CommandContext(
            self.out,
            self.err,
            {"HOME": str(self.home), "USER": self.home.name, **environ},
            stdin=stdin,
            run_edges=DrainRunEdges(open_run=self.opens_run, stop_requests=told),
            sleep=lambda seconds: time.sleep(seconds / 20),
        )


def machine(server: SimulatedApiServer, home: Path, token: str = worlds.ADMIN_TOKEN) -> Machine:
    home.mkdir()
    return Machine(home, kubeconfigs.one(home / "config", server.url(token), name="lab"))


def cordoned(api: Api) -> set[str]:
    def names(plane: ControlPlane) -> set[str]:
        nodes = plane.store.list("nodes")
        return {item.key[1] for item in nodes if item.doc["spec"].get("unschedulable")}

    return api.run_locked(names)


def aged(api: Api, seconds: float = 52.0) -> None:
    """Age the lock as if its holder was killed that long ago, so that little of its one-minute lease is left."""

    def older(plane: ControlPlane) -> None:
        item = plane.store.get(kinds.LEASES.full_name, ("kube-system", "eksdoc-drain"))
        assert item is not None
        renewed = parse_time(item.doc["spec"]["renewTime"])
        assert renewed is not None
        then = micro_time(renewed - timedelta(seconds=seconds))
        plane.registry.update(item, with_value(item.doc, ("spec", "renewTime"), then))

    api.run_locked(older)


def docs(text: str) -> list[Doc]:
    return [json.loads(line) for line in text.splitlines()]
