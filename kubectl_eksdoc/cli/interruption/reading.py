"""What ``interruption`` reads: the cluster, and AWS's side of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening, reaching, saying
from kubectl_eksdoc.cli.interruption.request import Request
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.core.model import opt_ins

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.wiring.interruption import InterruptionWorld

NAME = "interruption"


def opened(request: Request, around: Surroundings) -> InterruptionWorld:
    """
    Raises:
        EksdocError: as `wiring.interruption.open_interruption`.
    """
    from kubectl_eksdoc.flows.interruption import KINDS

    world = opening.opened(around.open_interruption, request, around, KINDS)
    return replace(world, proxied=opt_ins.PROXY.name not in request.without)


def reached_by(request: Request, world: saying.WasRead) -> tuple[str, ...]:
    """The words that lead to the same cluster once more."""
    return reaching.with_aws(request.source, request.options, world.cluster.identity.context)
