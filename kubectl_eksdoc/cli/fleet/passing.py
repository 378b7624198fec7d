"""What each cluster of a fleet is asked: the words of the same command for one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import reaching
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.core.model.fleet import Member


@dataclass(frozen=True, slots=True)
class Passed:
    """`given`: to the command, by the names of its flags. `named`: those of them that are words without a flag;
    `joined`: flags that take several values with commas between them."""

    command: str
    kind: str
    given: Mapping[str, object]
    named: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()

    def words(self, options: GlobalOptions, member: Member) -> tuple[str, ...]:
        """The command line for `member`. What it says of itself comes before `options`."""
        return (self.command, *self._given(), *_reach(options, member), "-o", "json")

    def _given(self) -> Iterator[str]:
        for name, value in self.given.items():
            if name in self.named:
                yield str(value)
            elif value is True:
                yield f"--{name}"
            elif isinstance(value, (list, tuple)) and name in self.joined:
                yield f"--{name}={','.join(map(str, value))}"
            else:
                several = value if isinstance(value, (list, tuple)) else (value,)
                yield from (f"--{name}={each}" for each in several)


def connection_of(options: GlobalOptions, member: Member) -> Connection:
    """How one of them is reached."""
    usual = options.connection
    return replace(usual, context=member.context, kubeconfig=member.kubeconfig or usual.kubeconfig)


def _reach(options: GlobalOptions, member: Member) -> tuple[str, ...]:
    if member.snapshot:
        return reaching.words(SourceChoice(snapshot=member.snapshot), options, "")
    own = replace(
        options,
        connection=connection_of(options, member),
        cluster_name=member.cluster,
        region=member.region or options.region,
        profile=member.profile or options.profile,
    )
    return reaching.with_aws(SourceChoice(), own, member.context)
