"""``imds-probe --active``: preview and typed confirmation of the test pods, their creation, results, and deletion."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.cli import opening, rights, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import NODES, check_writable, confirm
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster.roles import RoleManifests
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.metadata import MARKS
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.command import (
    ClockAround,
    check_allowed,
    check_same,
    owned,
    tell_unread,
)
from kubectl_eksdoc.session.session import AwsUse

from ..probe import prepared, probed, tried
from ..probe_result import (
    IMAGE,
    NAMESPACE,
    Probed,
    ProbeSettings,
    manifests,
    owner_manifest,
    plan_probe,
)
from ..read import NEEDS
from ..report.probe import ActiveReport
from . import request as reading
from .request import Active, ImdsProbeRequest

COMMAND = "imds-probe --active"
_PROVES_LITTLE = (
    "a client-side dry run sends no request: pod security, webhooks, room on the nodes and the "
    "image are tested only by the real run"
)
_PROVES_SOME = "the server was asked; room on the nodes and the image show when it is done"


@frozen
class _Asking:
    """One run of ``imds-probe --active``."""

    request: ImdsProbeRequest
    active: Active
    around: CommandContext

    @property
    def given(self) -> dict[str, object]:
        return {name: value for name, value in self.request.given.items() if name != "hops"} | self.active.flags


def probing(request: ImdsProbeRequest, active: Active, around: CommandContext) -> CommandAnswer:
    """Run the active probe, or its dry run.

    Raises:
        EksdocError: the command line or the cluster is at fault; the error says which.
    """
    (RoleManifests if active.dry == "client" else ActiveReport).check(around.options.output)
    if not around.source.live and active.dry != "client":
        raise UsageError(
            "--active asks from pods of the live cluster: --demo and --snapshot have none",
            "--active --dry-run shows what would be made there. To practise: kubectl eksdoc rehearse --serve --demo.",
        )
    if not active.dry:
        check_writable(around.environ, COMMAND, "imds-probe without --active reads only")
    asking = _Asking(request, active, around)
    with opening.explaining(COMMAND):
        session = opening.opened(around, replace(NEEDS, kinds=_kinds(request), aws=AwsUse.LEFT_OUT))
        opening.told(session, around)
        cluster = reading.scope(request, around).of(session.cluster)
        if active.dry == "client":
            return _dry(asking, cluster)
        ground = around.edges.open_ground(around.connection, _manner(asking).namespace)
        return _active(asking, cluster, ground)


def _kinds(request: ImdsProbeRequest) -> tuple[Resource, ...]:
    return (kinds.NODES, kinds.PODS) if request.pod else (kinds.NODES,)


def _manner(asking: _Asking) -> ProbeSettings:
    return manner_of(asking.request, asking.active, asking.around)


def manner_of(request: ImdsProbeRequest, active: Active, around: CommandContext) -> ProbeSettings:
    """The settings of the test pods.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    of_pod = reading.scope(request, around).namespace if request.pod else ""
    return ProbeSettings(active.image or IMAGE, active.namespace or of_pod or NAMESPACE, active.wait_s)


def _every(asking: _Asking) -> bool:
    return asking.active.every or bool(asking.request.nodes)


def _dry(asking: _Asking, cluster: Cluster) -> CommandAnswer:
    """The objects to create, as manifests for kubectl; no request is made."""
    around, unasked = asking.around, Unknown("the cluster was not asked")
    plan = plan_probe(
        cluster.nodes, unasked, unasked, around.edges.new_probe_id(), _manner(asking), every=_every(asking)
    )
    opening.show(ActiveReport(cluster, plan, options=asking.given), around)
    around.note(_PROVES_LITTLE)
    docs = tuple(manifests(plan.probe, plan.pods, plan.manner))
    return opening.answer(RoleManifests((), (), docs), around)


def _active(asking: _Asking, cluster: Cluster, ground: ProbeNamespace) -> CommandAnswer:

    around = asking.around
    probe = around.edges.new_probe_id()
    plan = prepared(cluster.nodes, ground, probe, _manner(asking), every=_every(asking))
    tell_unread(plan.unread, COMMAND, around)
    if asking.active.dry:
        report = ActiveReport(cluster, plan, options=asking.given, refused=tried(plan, ground))
        around.note(_PROVES_SOME)
        return opening.answer(report, around, streams.FAILS if report.refused else streams.CLEAN)
    if plan.pods:
        needed = [right for right in rights.BY_COMMAND[COMMAND] if right.required and right.probe]
        namespace = plan.manner.namespace
        check_allowed([(right, namespace) for right in needed], around)
        opening.show(ActiveReport(cluster, plan, options=asking.given), around)
        confirm(cluster.identity, len(plan.nodes), "probe", asking.active.given, around.ask)
        now = around.reader().read(_kinds(asking.request))
        nodes = reading.scope(asking.request, around).of(now).nodes
        again = prepared(nodes, ground, probe, plan.manner, every=_every(asking))
        check_same((plan.pods, plan.no_host), (again.pods, again.no_host))
        clock = ClockAround(around)
        found = owned(
            owner_manifest(probe, plan.manner),
            MARKS,
            f"{COMMAND} on {NODES.said(len(plan.nodes))}",
            cluster.identity.context,
            around,
            lambda told: probed(plan, ground, clock, told, around.note),
        )
    else:
        found = Probed((), "")
    report = ActiveReport(cluster, plan, found, options=asking.given)
    code = streams.INTERRUPTED if found.interrupted else opening.code(report.findings, asking.request.accepted)
    return opening.answer(report, around, code)
