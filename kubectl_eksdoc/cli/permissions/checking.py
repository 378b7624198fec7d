"""``permissions --check``: which of the rights somebody has, by what the cluster says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import exits
from kubectl_eksdoc.cli.permissions.request import PermissionsRequest
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext

if TYPE_CHECKING:
    from kubectl_eksdoc.permissions import WantedPermissions


def checked(request: PermissionsRequest, wanted: WantedPermissions, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        ClusterError: the cluster cannot be asked; the error says why.
        UsageError: there is no such output format.
    """
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.model.cluster import Cluster, Source
    from kubectl_eksdoc.permissions import held
    from kubectl_eksdoc.render.identity import identity_line
    from kubectl_eksdoc.render.permissions.report import HeldReport

    options = request.options
    HeldReport.check(options.output)
    edges = around.edges
    who = edges.identity_of(options.connection, AwsRequest(options.cluster_name, options.region, options.profile))
    found = held(wanted, edges.reviewed(options.connection, wanted.permissions))
    cluster = Cluster(identity=who, source=Source.LIVE, observed_at=around.now())
    around.note(identity_line(cluster, around.now(), looks.decide(options, around.stderr, around.environ)))
    if wanted.asked:
        around.note("of AWS nothing was asked: whether IAM allows the actions shows when they are needed")
    text = looks.answered(HeldReport(found, cluster, request.given, __version__), options, around)
    if any(each.held is False for each in found):
        return CommandAnswer(text, exits.FAILS)
    return CommandAnswer(text, exits.UNKNOWN if any(each.held is None for each in found) else exits.CLEAN)
