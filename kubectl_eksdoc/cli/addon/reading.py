"""What every face of ``addon-diff`` reads: the cluster, and AWS's side of each add-on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from kubectl_eksdoc.cli.addon.request import Request
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.model.aws.addons import AddonSide
    from kubectl_eksdoc.wiring.addons import AddonWorld, Reading

NAME = "addon-diff"


class Asking(Protocol):
    """What every face is asked with: whose cluster."""

    @property
    def options(self) -> GlobalOptions: ...

    @property
    def source(self) -> SourceChoice: ...


def opened(request: Asking, around: Surroundings, reading: Reading) -> AddonWorld:
    """
    Raises:
        EksdocError: as `wiring.addons.open_addons`.
    """
    from kubectl_eksdoc.kube.aws_access import AwsWanted

    options = request.options
    wanted = AwsWanted(options.cluster_name, options.region, options.profile)
    with ProgressLine(around.stderr) as progress:
        return around.open_addons(request.source, options.connection, wanted, progress, reading)


def sides(world: AddonWorld, names: Sequence[str], request: Request, around: Surroundings) -> Iterator[AddonSide]:
    """Of one add-on, or of all: then what cannot be told of one is said, and takes no other with it."""
    for name in names:
        try:
            yield world.side(name, request.to)
        except (AwsDenied, AwsMissing, UsageError) as error:
            if request.addon:
                raise
            around.note(f"note: {name} is left out: {error.message}")
