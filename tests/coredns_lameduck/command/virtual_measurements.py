"""``coredns-lameduck --measure`` in virtual time, on a simulated cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from kubectl_eksdoc.cli.context import DrainRunEdges
from kubectl_eksdoc.model.permissions import Permission
from tests.builders import a_cluster
from tests.cli.running import FakeSource, Ran, Typist, called
from tests.cli.running import document as valid
from tests.coredns_lameduck.worlds import NODES, Ground, World
from tests.drain.command.served import Said

COMMAND = "coredns-lameduck"


@dataclass
class Desk:
    """A user at a terminal who `types`; `happens`: an action before that. Mutable: so is the cluster."""

    world: World = field(default_factory=World)
    types: str = ""
    lacks: Callable[[Sequence[Permission]], tuple[Permission, ...]] = lambda asked: ()
    told: Callable[[], int] = lambda: 0
    nodes: Sequence[Any] = NODES
    happens: Callable[[], object] = lambda: None
    home: Any = field(default_factory=TemporaryDirectory)

    def run(self, *argv: str, **environ: str) -> Ran:
        source = FakeSource(a_cluster(nodes=list(self.nodes)))
        world = self.world

        @contextmanager
        def told() -> Iterator[Callable[[], int]]:
            yield lambda: self.told()

        edges = DrainRunEdges(
            clock=SimpleNamespace(monotonic=world.monotonic, now=lambda: world.at(world.now)),
            stop_requests=told,
            denied_permissions=lambda connection, asked: self.lacks(asked),
            open_probe_namespace=lambda connection, namespace, marks=None: Ground(world),  # type: ignore[arg-type]
            open_dns=lambda connection: world,
            new_probe_id=lambda: "cafe",
            packed_dns_load=lambda: b"program",
        )
        return called(
            COMMAND,
            *argv,
            environ={"HOME": self.home.name, **environ},
            out=Said(),
            err=Said(),
            open_reader=source.open,
            stdin=Typist(self.types, self.happens) if self.types else None,
            run_edges=edges,
            sleep=world.sleep,
        )


def document(text: str) -> dict[str, Any]:
    return valid(text, "DnsMeasure")
