"""``coredns-lameduck --measure``: show the plan, confirm, run the measurement, and clean up."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.cli import answers, rights, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import CHANGES, check_writable, confirm
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.host import cache
from kubectl_eksdoc.in_cluster.roles import ManifestReport
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.coredns import LOAD_GENERATOR_LABELS, SYSTEM_NAMESPACE
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.command import (
    ContextClock,
    check_allowed,
    check_unchanged,
    note_missing_rights,
    run_as_change,
)

from ..measurement import (
    CorednsAccess,
    MeasurementEdges,
    dry_run_refusals,
    load_generator_plan,
    prepare_measurement,
    run_measurement,
)
from ..measurement_findings import DnsMeasurement, propagation
from ..measurement_plan import MeasurementPlan, owner_manifest
from ..report.measuring import MeasurementReport, dry_run
from .change_options import MeasurementRequest

COMMAND = "coredns-lameduck --measure"
_CLIENT_DRY_RUN_NOTE = (
    "a dry run on this side makes nothing: pod security, webhooks, room on the nodes and the image show when it is done"
)
_SERVER_DRY_RUN_NOTE = "the server was asked; room on the nodes and the image show when it is done"


@frozen
class _MeasurementInvocation:
    """One measurement request, its context, and its cluster."""

    request: MeasurementRequest
    context: CommandContext
    cluster: Cluster
    probe_namespace: ProbeNamespace
    dns: CorednsAccess
    program: bytes


def measure_dns(request: MeasurementRequest, context: CommandContext) -> CommandAnswer:
    """Measure DNS, or show what the measurement would do.

    Raises:
        EksdocError: the command line or the cluster is at fault; the error says which.
    """
    (ManifestReport if request.dry_run == "client" else MeasurementReport).check_format(context.options.output)
    if not context.source.live:
        raise UsageError(
            "--measure asks from pods of the live cluster: --demo and --snapshot have none",
            "To practise: kubectl eksdoc rehearse --serve --demo, and the kubeconfig that it writes.",
        )
    if not request.dry_run:
        check_writable(context.environ, COMMAND, "coredns-lameduck without --measure reads only")
    settings, edges = request.settings, context.edges
    with answers.explain_forbidden(COMMAND):
        with ProgressLine(context.stderr) as progress:
            cluster = context.reader(progress).read((kinds.NODES,))
        answers.note_session(answers.ObservedCluster(cluster), context)
        probe_namespace = edges.open_probe_namespace(context.connection, settings.namespace, LOAD_GENERATOR_LABELS)
        dns = edges.open_dns(context.connection)
        plan = prepare_measurement(cluster.nodes, probe_namespace, dns, edges.new_probe_id(), settings)
        note_missing_rights(plan.missing_rights, COMMAND, context)
        invocation = _MeasurementInvocation(request, context, cluster, probe_namespace, dns, edges.packed_dns_load())
        return _dry_run(invocation, plan) if request.dry_run else _measure(invocation, plan)


def _dry_run(invocation: _MeasurementInvocation, plan: MeasurementPlan) -> CommandAnswer:
    """The manifests for kubectl, or whether the server would accept them."""
    context, flags = invocation.context, invocation.request.flags
    if invocation.request.dry_run == "client":
        report = MeasurementReport(
            invocation.cluster, plan, options=flags, program=invocation.program, load_plan=load_generator_plan(plan)
        )
        answers.show_report(report, context)
        context.note(_CLIENT_DRY_RUN_NOTE)
        return answers.report_answer(dry_run(report), context)
    report = MeasurementReport(
        invocation.cluster,
        plan,
        options=flags,
        refused=dry_run_refusals(plan, invocation.program, invocation.probe_namespace, invocation.dns),
    )
    context.note(_SERVER_DRY_RUN_NOTE)
    return answers.report_answer(report, context, streams.FAILS if report.refused else streams.CLEAN)


def _measure(invocation: _MeasurementInvocation, plan: MeasurementPlan) -> CommandAnswer:

    command_context, flags = invocation.context, invocation.request.flags
    measurement = DnsMeasurement(())
    if plan.pods:
        needed_rights = [
            (each, plan.settings.namespace) for each in rights.BY_COMMAND[COMMAND] if each.required and each.probe
        ]
        change_rights = rights.MEASURED_WITH.get(plan.settings.happening.value, ())
        check_allowed(needed_rights + [(each, SYSTEM_NAMESPACE) for each in change_rights], command_context)
        answers.show_report(MeasurementReport(invocation.cluster, plan, options=flags), command_context)
        confirm(
            invocation.cluster.identity,
            plan.changes,
            "make or end",
            invocation.request.confirmation,
            command_context.prompt,
            item=CHANGES,
        )
        nodes = command_context.reader().read((kinds.NODES,)).nodes
        check_unchanged(
            _planned_objects(plan),
            _planned_objects(
                prepare_measurement(nodes, invocation.probe_namespace, invocation.dns, plan.ident, plan.settings)
            ),
        )

        def run(interrupts: Callable[[], int]) -> DnsMeasurement:
            edges = MeasurementEdges(
                invocation.probe_namespace,
                invocation.dns,
                ContextClock(command_context),
                interrupts,
                command_context.note,
            )
            return run_measurement(plan, invocation.program, edges)

        manifest, context = owner_manifest(plan, invocation.program), invocation.cluster.identity.context
        change_text = f"{COMMAND}={plan.settings.happening.value} with {CHANGES.count_text(len(plan.pods))}"
        measurement = run_as_change(manifest, LOAD_GENERATOR_LABELS, change_text, context, command_context, run)
    report = MeasurementReport(invocation.cluster, plan, measurement, options=flags)
    report_text = answers.render_report(report, command_context)
    # Kept for the shutdown budget of later checks, if the Deployment is known.
    propagation_result = propagation(plan, measurement, len(invocation.cluster.nodes))
    if propagation_result is not None and plan.workload is not None:
        cache.save_propagation(
            plan.workload.uid, invocation.cluster.identity.context, propagation_result, invocation.context.environ
        )
        invocation.context.note("this measurement is kept: coredns-lameduck and check judge lameduck by it")
    code = answers.exit_code_of_findings(report.findings, invocation.request.accepted)
    return CommandAnswer(report_text, streams.INTERRUPTED if measurement.interrupted else code)


def _planned_objects(plan: MeasurementPlan) -> object:
    """The pods to create and the pods that end; they must be the same as shown."""
    return plan.pods, [each.name for each in plan.affected], plan.workload and plan.workload.uid
