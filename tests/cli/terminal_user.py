"""A user with a kubeconfig and the AWS account's keys: one who only reads, and one who makes changes at a terminal."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.aws.asking import VerifiedCluster, verify_cluster
from kubectl_eksdoc.aws.refusals import LiveAws
from kubectl_eksdoc.cli.context import DrainRunEdges
from kubectl_eksdoc.model.eks import AwsAccess
from kubectl_eksdoc.snapshot.command import take
from tests.aws.test_live import access
from tests.cli.running import Fast, Ran, Typist, called, document
from tests.sessions import with_aws

if TYPE_CHECKING:
    from tests.aws.world.server import World


@cache
def _asking(whose: AwsAccess, endpoint: str) -> LiveAws:
    """AWS clients, created once for all tests because their models are large."""
    return LiveAws(whose, endpoint, 1)


@dataclass
class Somebody:
    """A user. `command`: the first words of each command line."""

    config: str
    aws: World
    command: str = ""
    access: AwsAccess = field(init=False)

    def __post_init__(self) -> None:
        self.access = access(self.aws)

    def run(self, *argv: str, **environ: str) -> Ran:
        return self.calls(*self.command.split(), *argv, **environ)

    def calls(self, *argv: str, **environ: str) -> Ran:
        return called(*argv, "--kubeconfig", self.config, environ=environ, **self.around())

    def document(self, kind: str, *argv: str) -> dict[str, Any]:
        ran = self.run(*argv, "-o", "json")
        assert ran.out, ran.err
        return document(ran.out, kind)

    def around(self) -> dict[str, Any]:
        """The context of the command."""
        return {"open_session": with_aws(self._believed), "take_snapshot": self._take}

    def _believed(self) -> VerifiedCluster:
        return verify_cluster(self._live(), self.access)

    def _live(self, *_: object) -> LiveAws:
        return _asking(self.access, self.aws.endpoint)

    def _take(self, *asked: Any) -> Any:
        return take(*asked, self._live)


@dataclass
class Desk(Somebody):
    """A user at a terminal, with their own home. `types`: the typed answer ("": no user is there); `happens`: a
    callback before the answer; `told`: the number of interrupts so far. Mutable."""

    home: Path = field(kw_only=True)
    speed: float = field(kw_only=True)
    types: str = ""
    happens: Callable[[], object] = lambda: None
    told: Callable[[], int] = lambda: 0
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def journals(self) -> list[Path]:
        return sorted((self.home / ".local/state/eksdoc/changes").glob("*.jsonl"))

    def changes(self, *argv: str) -> Ran:
        return self.calls("changes", *argv)

    def calls(self, *argv: str, **environ: str) -> Ran:
        return super().calls(*argv, HOME=str(self.home), USER="ann", **self.environ, **environ)

    def around(self) -> dict[str, Any]:
        return {
            **super().around(),
            "stdin": Typist(self.types, self.happens) if self.types else io.StringIO(),
            "run_edges": DrainRunEdges(stop_requests=self.hears, clock=Fast(self.speed)),
            "sleep": lambda seconds: time.sleep(seconds / self.speed),
        }

    @contextmanager
    def hears(self) -> Iterator[Callable[[], int]]:
        yield lambda: self.told()
