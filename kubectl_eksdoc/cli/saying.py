"""What every command that reads a cluster and AWS says of them, and what it exits with."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Protocol

from kubectl_eksdoc.cli import exits
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.surroundings import Surroundings

if TYPE_CHECKING:  # help must not pay for facts
    from kubectl_eksdoc.core.model.cluster import Cluster, Identity
    from kubectl_eksdoc.core.model.findings import Finding


class WasRead(Protocol):
    """A cluster, what AWS was asked, "" where nothing was, and the actions of IAM that it refused."""

    @property
    def cluster(self) -> Cluster: ...

    @property
    def calls(self) -> str: ...

    @property
    def denied(self) -> tuple[str, ...]: ...


def told(world: WasRead, options: GlobalOptions, around: Surroundings) -> None:
    """On stderr: which cluster it was, what AWS refused, and what it was asked if somebody looks for a fault."""
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.render.identity import identity_line

    around.note(identity_line(world.cluster, around.now(), looks.decide(options, around.stderr, around.environ)))
    for note in contradicted(world.cluster.identity, options):
        around.note(f"note: {note}")
    if world.denied:
        around.note(f"AWS does not let you {', '.join(world.denied)}: what only these tell is unknown")
    if options.debug and world.calls:
        around.note(f"debug: {world.calls}")


def contradicted(identity: Identity, options: GlobalOptions) -> list[str]:
    """Notes on names of the command line that are not those of the cluster that was read."""
    pairs = (
        ("--region", options.region, identity.region),
        ("--cluster-name", options.cluster_name, identity.cluster),
    )
    return [
        f"{flag} {given} is not used: what was read says {known}"
        for flag, given, known in pairs
        if given and given != known
    ]


def code(findings: Iterable[Finding], accepted: Collection[str] = ()) -> int:
    """What is known to fail matters more than what is not known. `accepted`: codes that may be unknown."""
    from kubectl_eksdoc.core.model.findings import Status

    found = {each.status for each in findings if each.status is not Status.UNKNOWN or each.code.name not in accepted}
    if Status.FAIL in found:
        return exits.FAILS
    return exits.UNKNOWN if Status.UNKNOWN in found else exits.CLEAN
