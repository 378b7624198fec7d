"""A fleet on the command line whose members are answered by the test, without a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kubectl_eksdoc.model.cluster import FleetMember, MemberOutcome
from tests.cli.running import Ran, Terminal, called
from tests.fakes import kubeconfigs
from tests.fleet.answers import an_answer

CONTEXTS = ("prod-eu", "prod-us", "staging")


@dataclass
class Answering:
    """The port `fleet.members.MemberRunner`, and the arguments with which it was opened. Mutable."""

    outcomes: Mapping[str, MemberOutcome] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kind: str = ""
    timeout_s: float = 0.0
    most: int = 0
    _begun: list[FleetMember] = field(default_factory=list)
    _words: Callable[[FleetMember], Sequence[str]] = lambda member: ()

    def open(
        self, words: Callable[[FleetMember], Sequence[str]], kind: str, environ: Mapping[str, str], timeout_s: float
    ) -> Answering:
        self._words, self.kind, self.timeout_s = words, kind, timeout_s
        return self

    def start(self, member: FleetMember) -> None:
        self.words[member.name] = tuple(self._words(member))
        self._begun.append(member)
        self.most = max(self.most, len(self._begun))

    def finished(self, wait_s: float) -> Sequence[tuple[FleetMember, MemberOutcome]]:
        found = [(member, self.outcomes.get(member.name, an_answer())) for member in self._begun]
        self._begun.clear()
        return found

    def close(self) -> None:
        """Nothing to close."""


def kubeconfig(folder: Path, *contexts: str) -> str:
    server = {"server": "http://127.0.0.1:1"}
    return kubeconfigs.many(
        folder / "config", {"c": server}, {"u": {}}, dict.fromkeys(contexts or CONTEXTS, ("c", "u"))
    )


def ask(asking: Answering, *argv: str, terminal: bool = False) -> Ran:
    return called(*argv, err=Terminal() if terminal else None, open_members=asking.open)
