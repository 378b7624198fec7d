"""``coredns-lameduck --measure``: show the plan, confirm, run the measurement, and clean up."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.cli import opening, rights, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import CHANGES, check_writable, confirm
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.host import cache
from kubectl_eksdoc.in_cluster.roles import RoleManifests
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.coredns import MARKS, SYSTEM
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.command import (
    ClockAround,
    check_allowed,
    check_same,
    owned,
    tell_unread,
)

from ..measurement import (
    Dns,
    MeasurementEdges,
    asked,
    measured,
    prepared,
    tried,
)
from ..measurement_findings import DnsMeasurement, propagation
from ..measurement_plan import MeasurePlan, owner_manifest
from ..report.measuring import MeasureReport, dry_run
from .change_options import Measurement

COMMAND = "coredns-lameduck --measure"
_PROVES_LITTLE = (
    "a dry run on this side makes nothing: pod security, webhooks, room on the nodes and the image show when it is done"
)
_PROVES_SOME = "the server was asked; room on the nodes and the image show when it is done"


@frozen
class _Asking:
    """One measurement request, its context, and its cluster."""

    measure: Measurement
    around: CommandContext
    cluster: Cluster
    ground: ProbeNamespace
    dns: Dns
    program: bytes


def measuring(measure: Measurement, around: CommandContext) -> CommandAnswer:
    """Measure DNS, or show what the measurement would do.

    Raises:
        EksdocError: the command line or the cluster is at fault; the error says which.
    """
    (RoleManifests if measure.dry == "client" else MeasureReport).check(around.options.output)
    if not around.source.live:
        raise UsageError(
            "--measure asks from pods of the live cluster: --demo and --snapshot have none",
            "To practise: kubectl eksdoc rehearse --serve --demo, and the kubeconfig that it writes.",
        )
    if not measure.dry:
        check_writable(around.environ, COMMAND, "coredns-lameduck without --measure reads only")
    manner, edges = measure.manner, around.edges
    with opening.explaining(COMMAND):
        with ProgressLine(around.stderr) as progress:
            cluster = around.reader(progress).read((kinds.NODES,))
        opening.told(opening.WasRead(cluster), around)
        ground = edges.open_ground(around.connection, manner.namespace, MARKS)
        dns = edges.open_dns(around.connection)
        plan = prepared(cluster.nodes, ground, dns, edges.new_probe_id(), manner)
        tell_unread(plan.unread, COMMAND, around)
        asking = _Asking(measure, around, cluster, ground, dns, edges.packed_dns_load())
        return _dry(asking, plan) if measure.dry else _measured(asking, plan)


def _dry(asking: _Asking, plan: MeasurePlan) -> CommandAnswer:
    """The manifests for kubectl, or whether the server would accept them."""
    around, given = asking.around, asking.measure.flags
    if asking.measure.dry == "client":
        view = MeasureReport(asking.cluster, plan, options=given, program=asking.program, asked=asked(plan))
        opening.show(view, around)
        around.note(_PROVES_LITTLE)
        return opening.answer(dry_run(view), around)
    view = MeasureReport(
        asking.cluster, plan, options=given, refused=tried(plan, asking.program, asking.ground, asking.dns)
    )
    around.note(_PROVES_SOME)
    return opening.answer(view, around, streams.FAILS if view.refused else streams.CLEAN)


def _measured(asking: _Asking, plan: MeasurePlan) -> CommandAnswer:

    around, given = asking.around, asking.measure.flags
    found = DnsMeasurement(())
    if plan.pods:
        wanted = [(each, plan.manner.namespace) for each in rights.BY_COMMAND[COMMAND] if each.required and each.probe]
        happening = rights.MEASURED_WITH.get(plan.manner.happening.value, ())
        check_allowed(wanted + [(each, SYSTEM) for each in happening], around)
        opening.show(MeasureReport(asking.cluster, plan, options=given), around)
        confirm(asking.cluster.identity, plan.changes, "make or end", asking.measure.given, around.ask, of=CHANGES)
        nodes = around.reader().read((kinds.NODES,)).nodes
        check_same(_made(plan), _made(prepared(nodes, asking.ground, asking.dns, plan.ident, plan.manner)))

        def run(told: Callable[[], int]) -> DnsMeasurement:
            edges = MeasurementEdges(asking.ground, asking.dns, ClockAround(around), told, around.note)
            return measured(plan, asking.program, edges)

        manifest, context = owner_manifest(plan, asking.program), asking.cluster.identity.context
        what = f"{COMMAND}={plan.manner.happening.value} with {CHANGES.said(len(plan.pods))}"
        found = owned(manifest, MARKS, what, context, around, run)
    view = MeasureReport(asking.cluster, plan, found, options=given)
    text = opening.answered(view, around)
    # Kept for the shutdown budget of later checks, if the Deployment is known.
    of = propagation(plan, found, len(asking.cluster.nodes))
    if of is not None and plan.workload is not None:
        cache.keep(plan.workload.uid, asking.cluster.identity.context, of, asking.around.environ)
        asking.around.note("this measurement is kept: coredns-lameduck and check judge lameduck by it")
    code = opening.code(view.findings, asking.measure.accepted)
    return CommandAnswer(text, streams.INTERRUPTED if found.interrupted else code)


def _made(plan: MeasurePlan) -> object:
    """The pods to create and the pods that end; they must be the same as shown."""
    return plan.pods, [each.name for each in plan.affected], plan.workload and plan.workload.uid
