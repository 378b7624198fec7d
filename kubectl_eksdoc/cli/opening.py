"""How every command opens the cluster that it reads together with the AWS side of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.wiring.sources import Progress, SourceChoice

if TYPE_CHECKING:  # help must not pay for what only an answer needs
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.kube.aws_access import AwsWanted

What = TypeVar("What")
World = TypeVar("World")


class Asked(Protocol):
    """What every such command is asked with: whose cluster."""

    @property
    def options(self) -> GlobalOptions: ...

    @property
    def source(self) -> SourceChoice: ...


def opened(
    open_world: Callable[[SourceChoice, Connection, AwsWanted, Progress | None, What], World],
    request: Asked,
    around: Surroundings,
    what: What,
) -> World:
    """`what` is read, with a line on stderr that says how far it is.

    Raises:
        EksdocError: as `open_world`.
    """
    from kubectl_eksdoc.kube.aws_access import AwsWanted

    options = request.options
    wanted = AwsWanted(options.cluster_name, options.region, options.profile)
    with ProgressLine(around.stderr) as progress:
        return open_world(request.source, options.connection, wanted, progress, what)
