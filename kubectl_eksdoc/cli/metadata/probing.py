"""``imds-probe --active``: what would be made is shown and typed back, made, listened to, and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from kubectl_eksdoc.cli import exits, opening, rights
from kubectl_eksdoc.cli.confirming import NODES, check_writable, confirm
from kubectl_eksdoc.cli.metadata import request as reading
from kubectl_eksdoc.cli.metadata.fix_options import Active
from kubectl_eksdoc.cli.metadata.request import ImdsProbeRequest
from kubectl_eksdoc.cli.probe_pods import ClockAround, check_allowed, check_same, owned, tell_unread
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import AwsError, UsageError
from kubectl_eksdoc.flows.metadata_probe import prepared, probed, tried
from kubectl_eksdoc.flows.ports import ProbeNamespace
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.imds_probe.probing.result import (
    IMAGE,
    NAMESPACE,
    Probed,
    ProbeSettings,
    manifests,
    owner_manifest,
    plan_probe,
)
from kubectl_eksdoc.imds_probe.read import NEEDS, facts_of_today
from kubectl_eksdoc.imds_probe.sources import service_now
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.metadata import MARKS
from kubectl_eksdoc.render.metadata_probe import ActiveReport
from kubectl_eksdoc.render.roles import RoleManifests
from kubectl_eksdoc.session.session import AwsUse

COMMAND = "imds-probe --active"
_PROVES_LITTLE = (
    "a client-side dry run sends no request: pod security, webhooks, room on the nodes and the "
    "image are tested only by the real run"
)
_PROVES_SOME = "the server was asked; room on the nodes and the image show when it is done"


@frozen
class _Read(opening.WasRead):
    """The cluster, narrowed down to what is asked about; of AWS what is known of its nodes, or in `unasked` why not."""

    options: Mapping[str, MetadataOptions] = field(default_factory=dict)
    unasked: str = ""


@frozen
class _Asking:
    """Who asks for what, in which surroundings."""

    request: ImdsProbeRequest
    active: Active
    around: CommandContext

    @property
    def given(self) -> dict[str, object]:
        return {name: value for name, value in self.request.given.items() if name != "hops"} | self.active.flags


def probing(request: ImdsProbeRequest, active: Active, around: CommandContext) -> CommandAnswer:
    """
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
        read = _read(asking)
        opening.told(read, around)
        if read.unasked:
            around.note(f"what EC2 says is not known, and not needed: {read.unasked}")
        if active.dry == "client":
            return _dry(asking, read)
        ground = around.edges.open_ground(around.connection, _manner(asking).namespace)
        return _active(asking, read, ground)


def _read(asking: _Asking) -> _Read:
    """AWS is asked of the nodes' instances where it can be, and of nothing else; nothing that is measured rests on
    it."""
    request, around = asking.request, asking.around
    needs = replace(NEEDS, kinds=_kinds(request))
    try:
        session = opening.opened(around, needs)
    except (AwsError, UsageError) as error:
        session = opening.opened(around, replace(needs, aws=AwsUse.LEFT_OUT))
        return _Read(reading.scope(request, around).of(session.cluster), unasked=error.message)
    cluster = reading.scope(request, around).of(session.cluster)
    if isinstance(session.aws, Unknown):
        return _Read(cluster, unasked=session.aws.why)
    try:
        facts = facts_of_today(session, cluster)
    except AwsError as error:
        return _Read(cluster, calls=session.calls, unasked=error.message)
    services = {node.name: service_now(node, facts).options for node in cluster.nodes}
    known = {name: options for name, options in services.items() if isinstance(options, MetadataOptions)}
    denied = [each for each in services.values() if isinstance(each, Unknown) and each.missing]
    return _Read(cluster, session.calls, options=known, unasked=denied[0].why if denied else "")


def _kinds(request: ImdsProbeRequest) -> tuple[Resource, ...]:
    return (kinds.NODES, kinds.PODS) if request.pod else (kinds.NODES,)


def _manner(asking: _Asking) -> ProbeSettings:
    return manner_of(asking.request, asking.active, asking.around)


def manner_of(request: ImdsProbeRequest, active: Active, around: CommandContext) -> ProbeSettings:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    of_pod = reading.scope(request, around).namespace if request.pod else ""
    return ProbeSettings(active.image or IMAGE, active.namespace or of_pod or NAMESPACE, active.wait_s)


def _every(asking: _Asking) -> bool:
    return asking.active.every or bool(asking.request.nodes)


def _dry(asking: _Asking, read: _Read) -> CommandAnswer:
    """What would be made, for kubectl; nobody is asked."""
    around, unasked = asking.around, Unknown("the cluster was not asked")
    plan = plan_probe(
        read.cluster.nodes, unasked, unasked, around.edges.new_probe_id(), _manner(asking), every=_every(asking)
    )
    opening.show(ActiveReport(read.cluster, plan, options=asking.given), around)
    around.note(_PROVES_LITTLE)
    docs = tuple(manifests(plan.probe, plan.pods, plan.manner))
    return opening.answer(RoleManifests((), (), docs), around)


def _active(asking: _Asking, read: _Read, ground: ProbeNamespace) -> CommandAnswer:

    around, cluster = asking.around, read.cluster
    probe = around.edges.new_probe_id()
    plan = prepared(cluster.nodes, ground, probe, _manner(asking), every=_every(asking))
    tell_unread(plan.unread, COMMAND, around)
    if asking.active.dry:
        report = ActiveReport(cluster, plan, options=asking.given, refused=tried(plan, ground))
        around.note(_PROVES_SOME)
        return opening.answer(report, around, exits.FAILS if report.refused else exits.CLEAN)
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
            lambda told: probed(plan, ground, clock, told, around.note, read.options),
        )
    else:
        found = Probed((), "")
    report = ActiveReport(cluster, plan, found, options=asking.given)
    code = exits.INTERRUPTED if found.interrupted else opening.code(report.findings, asking.request.accepted)
    return opening.answer(report, around, code)
