"""What every face of ``imds-probe`` reads: the cluster, what of it is asked about, and AWS's side of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening, reaching, saying
from kubectl_eksdoc.cli.metadata.request import Request
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.core.model.kinds import Resource

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.flows.metadata import Scope
    from kubectl_eksdoc.wiring.metadata import MetadataWorld

NAME = "imds-probe"


def opened(request: Request, around: Surroundings, kinds: Sequence[Resource] = ()) -> MetadataWorld:
    """`kinds`: what is read of the cluster, () for all that is judged by.

    Raises:
        EksdocError: as `wiring.metadata.open_metadata`.
    """
    from kubectl_eksdoc.flows.metadata import KINDS

    return opening.opened(around.open_metadata, request, around, kinds or KINDS)


def scope(request: Request) -> Scope:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.flows.metadata import Scope
    from kubectl_eksdoc.wiring.metadata import namespace_of

    options = request.options
    named = bool(request.pod or request.workload)
    there = options.namespace or (namespace_of(request.source, options.connection) if named else "")
    return Scope(request.pod, there, request.nodes, request.groups, request.workload)


def reached_by(request: Request, world: saying.WasRead) -> tuple[str, ...]:
    """The words that lead to the same cluster once more."""
    return reaching.with_aws(request.source, request.options, world.cluster.identity.context)
