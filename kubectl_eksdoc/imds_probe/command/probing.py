"""``imds-probe --active``: preview and typed confirmation of the test pods, their creation, results, and deletion."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.cli import answers, rights, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import NODES, check_writable, confirm
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster.roles import ManifestReport
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.metadata import PROBE_POD_LABELS
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.command import (
    ContextClock,
    check_allowed,
    check_unchanged,
    note_missing_rights,
    run_as_change,
)
from kubectl_eksdoc.session.session import AwsRequirement

from ..probe import dry_run, prepare_probe, run_probe
from ..probe_result import (
    IMAGE,
    NAMESPACE,
    ProbeRun,
    ProbeSettings,
    manifests,
    owner_manifest,
    plan_probe,
)
from ..read import NEEDS
from ..report.probe import ActiveReport
from . import request as reading
from .request import ActiveProbeRequest, ImdsProbeRequest

COMMAND = "imds-probe --active"
_CLIENT_DRY_RUN_NOTE = (
    "a client-side dry run sends no request: pod security, webhooks, room on the nodes and the "
    "image are tested only by the real run"
)
_SERVER_DRY_RUN_NOTE = "the server was asked; room on the nodes and the image show when it is done"


@frozen
class _ProbeCommand:
    """One run of ``imds-probe --active``."""

    request: ImdsProbeRequest
    active: ActiveProbeRequest
    context: CommandContext

    @property
    def options(self) -> dict[str, object]:
        return {name: value for name, value in self.request.options.items() if name != "hops"} | self.active.flags


def run_active_probe(request: ImdsProbeRequest, active: ActiveProbeRequest, context: CommandContext) -> CommandAnswer:
    """Run the active probe, or its dry run.

    Raises:
        EksdocError: the command line or the cluster is at fault; the error says which.
    """
    (ManifestReport if active.dry_run == "client" else ActiveReport).check_format(context.options.output)
    if not context.source.live and active.dry_run != "client":
        raise UsageError(
            "--active asks from pods of the live cluster: --demo and --snapshot have none",
            "--active --dry-run shows what would be made there. To practise: kubectl eksdoc rehearse --serve --demo.",
        )
    if not active.dry_run:
        check_writable(context.environ, COMMAND, "imds-probe without --active reads only")
    command = _ProbeCommand(request, active, context)
    with answers.explain_forbidden(COMMAND):
        session = answers.open_session(context, replace(NEEDS, kinds=_kinds(request), aws=AwsRequirement.LEFT_OUT))
        answers.note_session(session, context)
        cluster = reading.scope_of(request, context).restrict(session.cluster)
        if active.dry_run == "client":
            return _client_dry_run(command, cluster)
        probe_namespace = context.edges.open_probe_namespace(context.connection, _settings(command).namespace)
        return _run(command, cluster, probe_namespace)


def _kinds(request: ImdsProbeRequest) -> tuple[Resource, ...]:
    return (kinds.NODES, kinds.PODS) if request.pod else (kinds.NODES,)


def _settings(command: _ProbeCommand) -> ProbeSettings:
    return probe_settings(command.request, command.active, command.context)


def probe_settings(request: ImdsProbeRequest, active: ActiveProbeRequest, context: CommandContext) -> ProbeSettings:
    """The settings of the test pods.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    pod_namespace = reading.scope_of(request, context).namespace if request.pod else ""
    return ProbeSettings(active.image or IMAGE, active.namespace or pod_namespace or NAMESPACE, active.wait_s)


def _is_every_node(command: _ProbeCommand) -> bool:
    return command.active.is_every_node or bool(command.request.nodes)


def _client_dry_run(command: _ProbeCommand, cluster: Cluster) -> CommandAnswer:
    """The objects to create, as manifests for kubectl; no request is made."""
    context, not_read = command.context, Unknown("the cluster was not asked")
    plan = plan_probe(
        cluster.nodes,
        not_read,
        not_read,
        context.edges.new_probe_id(),
        _settings(command),
        is_every_node=_is_every_node(command),
    )
    answers.show_report(ActiveReport(cluster, plan, options=command.options), context)
    context.note(_CLIENT_DRY_RUN_NOTE)
    documents = tuple(manifests(plan.probe, plan.pods, plan.settings))
    return answers.report_answer(ManifestReport((), (), documents), context)


def _run(command: _ProbeCommand, cluster: Cluster, probe_namespace: ProbeNamespace) -> CommandAnswer:

    context = command.context
    probe_id = context.edges.new_probe_id()
    plan = prepare_probe(
        cluster.nodes, probe_namespace, probe_id, _settings(command), is_every_node=_is_every_node(command)
    )
    note_missing_rights(plan.missing_rights, COMMAND, context)
    if command.active.dry_run:
        report = ActiveReport(cluster, plan, options=command.options, refused=dry_run(plan, probe_namespace))
        context.note(_SERVER_DRY_RUN_NOTE)
        return answers.report_answer(report, context, streams.FAILS if report.refused else streams.CLEAN)
    if plan.pods:
        required_rights = [right for right in rights.BY_COMMAND[COMMAND] if right.required and right.probe]
        namespace = plan.settings.namespace
        check_allowed([(right, namespace) for right in required_rights], context)
        answers.show_report(ActiveReport(cluster, plan, options=command.options), context)
        confirm(cluster.identity, len(plan.nodes), "probe", command.active.confirmation, context.prompt)
        current = context.reader().read(_kinds(command.request))
        nodes = reading.scope_of(command.request, context).restrict(current).nodes
        new_plan = prepare_probe(nodes, probe_namespace, probe_id, plan.settings, is_every_node=_is_every_node(command))
        check_unchanged((plan.pods, plan.no_host), (new_plan.pods, new_plan.no_host))
        clock = ContextClock(context)
        probe_run = run_as_change(
            owner_manifest(probe_id, plan.settings),
            PROBE_POD_LABELS,
            f"{COMMAND} on {NODES.count_text(len(plan.nodes))}",
            cluster.identity.context,
            context,
            lambda told: run_probe(plan, probe_namespace, clock, told, context.note),
        )
    else:
        probe_run = ProbeRun((), "")
    report = ActiveReport(cluster, plan, probe_run, options=command.options)
    code = (
        streams.INTERRUPTED
        if probe_run.interrupted
        else answers.exit_code_of_findings(report.findings, command.request.accepted)
    )
    return answers.report_answer(report, context, code)
