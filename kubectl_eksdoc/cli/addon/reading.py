"""What every face of ``addon-diff`` reads: the cluster, and AWS's side of each add-on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.addon.request import Request
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.model.aws.addons import AddonSide
    from kubectl_eksdoc.wiring.addons import AddonWorld, Reading

NAME = "addon-diff"


def opened(request: opening.Asked, around: Surroundings, reading: Reading) -> AddonWorld:
    """
    Raises:
        EksdocError: as `wiring.addons.open_addons`.
    """
    return opening.opened(around.open_addons, request, around, reading)


def sides(
    world: AddonWorld, names: Sequence[str], request: Request, note: Callable[[str], object]
) -> Iterator[AddonSide]:
    """Of one add-on, or of all: then what cannot be told of one is noted, and takes no other with it."""
    for name in names:
        try:
            yield world.side(name, request.to)
        except (AwsDenied, AwsMissing, UsageError) as error:
            if request.addon:
                raise
            note(f"note: {name} is left out: {error.message}")
