"""What every face of ``imds-probe`` reads: the cluster, AWS's side of it, how that is told, and what it exits with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from kubectl_eksdoc.cli import exits, reaching
from kubectl_eksdoc.cli.metadata.request import Request
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.surroundings import Surroundings

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.model.findings import Finding
    from kubectl_eksdoc.flows.metadata import Scope
    from kubectl_eksdoc.wiring.metadata import MetadataWorld

NAME = "imds-probe"


class WasRead(Protocol):
    """A cluster, and what AWS was asked, "" where nothing was."""

    @property
    def cluster(self) -> Cluster: ...

    @property
    def calls(self) -> str: ...


def opened(request: Request, around: Surroundings) -> MetadataWorld:
    """
    Raises:
        EksdocError: as `wiring.metadata.open_metadata`.
    """
    from kubectl_eksdoc.flows.metadata import KINDS
    from kubectl_eksdoc.kube.aws_access import AwsWanted

    options = request.options
    wanted = AwsWanted(options.cluster_name, options.region, options.profile)
    with ProgressLine(around.stderr) as progress:
        return around.open_metadata(request.source, options.connection, wanted, progress, KINDS)


def scope(request: Request) -> Scope:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.flows.metadata import Scope
    from kubectl_eksdoc.wiring.metadata import namespace_of

    options = request.options
    there = options.namespace or (namespace_of(request.source, options.connection) if request.pod else "")
    return Scope(request.pod, there, request.nodes, request.groups)


def told(world: WasRead, options: GlobalOptions, around: Surroundings) -> None:
    """On stderr: which cluster it was, and what AWS was asked if somebody looks for a fault."""
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.render.identity import identity_line

    around.note(identity_line(world.cluster, around.now(), looks.decide(options, around.stderr, around.environ)))
    if options.debug and world.calls:
        around.note(f"debug: {world.calls}")


def code(findings: Sequence[Finding], accepted: Sequence[str]) -> int:
    """What is known to fail matters more than what is not known."""
    from kubectl_eksdoc.core.model.findings import Status

    found = {each.status for each in findings if each.status is not Status.UNKNOWN or each.code.name not in accepted}
    if Status.FAIL in found:
        return exits.FAILS
    return exits.UNKNOWN if Status.UNKNOWN in found else exits.CLEAN


def reached_by(request: Request, world: WasRead) -> tuple[str, ...]:
    """The words that lead to the same cluster once more."""
    options = request.options
    words = reaching.words(request.source, options, world.cluster.identity.context)
    aws = {"--cluster-name": options.cluster_name, "--region": options.region, "--profile": options.profile}
    return (*words, *(word for flag, value in aws.items() if value for word in (flag, value)))
