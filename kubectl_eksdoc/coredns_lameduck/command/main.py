"""``kubectl eksdoc coredns-lameduck``: its flags, and its answer."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from kubectl_eksdoc.cli import opening, options, rights, streams, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import CHANGES, add_command, add_source, check_writable, confirm
from kubectl_eksdoc.cli.parser import Commands
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.host import cache
from kubectl_eksdoc.in_cluster.roles import RoleManifests
from kubectl_eksdoc.model import kinds, permissions
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.coredns import MARKS, SYSTEM
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.command import ClockAround, check_allowed, check_same, owned, tell_unread

from ..measurement import Dns, MeasurementEdges, asked, measured, prepared, tried
from ..measurement_findings import DnsMeasurement, propagation
from ..measurement_plan import MeasurePlan, owner_manifest
from ..report.measuring import MeasureReport, dry_run
from . import change_options, file
from .change_options import LameduckRequest, Measurement

# ``coredns-lameduck --measure``: what would be made and done is shown and typed back, done, heard, and deleted.


COMMAND = "coredns-lameduck --measure"
_PROVES_LITTLE = (
    "a dry run on this side makes nothing: pod security, webhooks, room on the nodes and the image show when it is done"
)
_PROVES_SOME = "the server was asked; room on the nodes and the image show when it is done"


@frozen
class _Asking:
    """Who asks for what, in which surroundings, of which cluster."""

    measure: Measurement
    around: CommandContext
    cluster: Cluster
    ground: ProbeNamespace
    dns: Dns
    program: bytes


def measuring(measure: Measurement, around: CommandContext) -> CommandAnswer:
    """
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
    """What would be made, for kubectl; or whether the server would take it."""
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
    # For the shutdown budget of later checks, where the Deployment is known.
    of = propagation(plan, found, len(asking.cluster.nodes))
    if of is not None and plan.workload is not None:
        cache.keep(plan.workload.uid, asking.cluster.identity.context, of, asking.around.environ)
        asking.around.note("this measurement is kept: coredns-lameduck and check judge lameduck by it")
    code = opening.code(view.findings, asking.measure.accepted)
    return CommandAnswer(text, streams.INTERRUPTED if found.interrupted else code)


def _made(plan: MeasurePlan) -> object:
    """What is made and what goes, which must not be another than was shown."""
    return plan.pods, [each.name for each in plan.affected], plan.workload and plan.workload.uid


NAME = change_options.NAME

_ABOUT = """\
Check whether DNS lookups survive the loss of a CoreDNS pod or its node: how long CoreDNS keeps serving after SIGTERM,
how long it has to and how long it can, where its pods run, whether lookups fail now, and the fixes in order.
Reads the cluster and AWS, and changes nothing. --set, --place and --autoscale show a change; --apply makes it
after a typed confirmation, so that add-on updates keep it. --measure sends DNS queries from pods that it creates and
deletes, while CoreDNS pods end.

Examples:
  %(prog)s
  %(prog)s -o wide
  %(prog)s --set lameduck=20s
  %(prog)s --set lameduck=20s --apply
  %(prog)s --place on-demand --autoscale 3:10 --apply --dry-run
  %(prog)s --measure=rollout
  %(prog)s -f Corefile --coredns-version 1.13.1
  %(prog)s --demo
"""

_EXIT_CODES = """\
Exit codes: 0 lookups survive, 1 findings that fail, 5 something is unknown; 2 usage, 3 cluster, 4 AWS.
With --apply: 0 applied, and every pod has loaded it; 1 refused, or the result differs, 5 something is unknown, 6 it
failed, is still running, or a pod has not loaded it yet, 7 the state changed after the preview.
With --measure: 0 all queries were answered, 1 answers were lost or late, 5 something is unknown; 130 interrupted.
"""


def add_to(commands: Commands) -> None:
    """Add ``coredns-lameduck``."""
    parser = add_command(
        commands,
        NAME,
        "check and fix CoreDNS graceful shutdown and placement",
        "[flags]",
        _ABOUT,
        _EXIT_CODES,
        run,
        own=(file.FILE,),
    )
    add_source(parser)
    group = parser.add_argument_group("Scope")
    options.add_accepted(group, values.codes_of("dns", "dns_change", "dns_measure", "addon"), "CoreDNS")
    options.add_without(group, permissions.PROXY.name)
    file.add_to(parser)
    change_options.add_to(parser)
    change_options.add_measuring(parser)
    change_options.add_confirming_to(parser)


def run(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    request = LameduckRequest.from_args(args)
    given, dry = options.given_from(args, CHANGES), options.dry_from(args)
    measure = change_options.measure_from(args, given, dry, request.accepted)
    wishes, apply = change_options.wishes_from(args), change_options.apply_from(args, given, dry, bool(measure))
    if file.asked(args):
        if measure is not None or wishes is not None or apply is not None:
            raise UsageError("-f reads a file alone: nothing is measured or changed with it")
        return file.run(args, request.accepted, around)
    if measure is not None:
        return measuring(measure, around)
    if wishes is not None or apply is not None:
        from .changing import changing

        return changing(request, wishes, apply, around)
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from ..plan import plan_dns
    from ..read import NEEDS, notices, whole_facts
    from ..report.plan import LameduckReport

    LameduckReport.check(around.options.output)
    with opening.explaining(NAME):
        session = opening.opened(around, NEEDS)
        reach, proxied = opening.reach(around, session), permissions.PROXY.name not in request.without
        facts = whole_facts(session, lambda: notices(session, reach.ours, proxied), change_options.measured_on(around))
        plan = plan_dns(facts, reach)
    opening.told(session, around)
    report = LameduckReport(plan, options=request.given, recognised=session.recognised)
    return opening.answer(report, around, opening.code(plan.findings, request.accepted))
