"""What ``check`` reads: the lists that the chosen checks judge by, single objects, and AWS's side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.check.request import Request
from kubectl_eksdoc.cli.surroundings import Surroundings

if TYPE_CHECKING:  # help must not pay for facts and plans
    from collections.abc import Sequence

    from kubectl_eksdoc.check.checking import Check
    from kubectl_eksdoc.model.commands import Reach
    from kubectl_eksdoc.wiring.checks import CheckWorld

NAME = "check"


def opened(request: Request, around: Surroundings, checks: Sequence[Check]) -> CheckWorld:
    """
    Raises:
        EksdocError: as `wiring.checks.open_check`.
    """
    from kubectl_eksdoc.addon_diff.rendering import every_object
    from kubectl_eksdoc.coredns_lameduck.deployed import OBJECTS
    from kubectl_eksdoc.flows.check.looking import kinds_for
    from kubectl_eksdoc.wiring.checks import CheckReading

    names = tuple(dict.fromkeys((*every_object(), *OBJECTS)))
    what = CheckReading(kinds_for(checks), names, request.files, request.since is not None, not request.no_aws)
    return opening.opened(around.open_check, request, around, what)


def reach(request: Request, world: CheckWorld) -> Reach:
    """By which words a command that is proposed leads to the same cluster; one of awscli, to the account that was
    asked."""
    found = opening.reach(request.source, request.options, world.cluster.identity.context)
    return replace(found, aws=("--profile", world.profile)) if world.profile else found
