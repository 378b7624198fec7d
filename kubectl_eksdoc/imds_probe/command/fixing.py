"""``imds-probe --apply``: preview, typed confirmation, a second read, journal entry, the fix, and its verification.

Also continues or reverts a fix that was started before.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.aws.machines import MetadataChanges
from kubectl_eksdoc.changes import applying
from kubectl_eksdoc.changes.applying import Proposal, SavedChangeRequest
from kubectl_eksdoc.changes.engine import ChangeEnvironment, ChangeKind
from kubectl_eksdoc.cli import answers, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import ConfirmationFlags, check_writable, confirm, given_flags
from kubectl_eksdoc.errors import AwsError, ClusterError, LocalJournalError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.change_journal import METADATA_FIX, ChangePart, ChangeProgress, PartOutcome, SavedChange
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import Instance
from kubectl_eksdoc.model.metadata import InstancesFix, LaunchTemplateFix, MetadataFix, NodeClassFix
from kubectl_eksdoc.probes.command import ContextClock
from kubectl_eksdoc.session.session import ClusterSession
from kubectl_eksdoc.wiring.runs import node_class_writer

from ..apply import FixPorts, build_fix, dry_run, test_from_pods
from ..fix_choice import offered_fixes, reason_forbidden, select_fix
from ..read import NEEDS, plan_imds_access, vpc_id
from ..report.fix import FixReport, action_text, action_verb
from ..run import (
    FixDone,
    from_document,
    instance_part,
    node_group_part,
    revert_class,
    revert_instances,
    revert_template,
    to_document,
)
from ..sources import instance_id, nodes_of_class
from . import request as reading
from .probing import probe_settings
from .request import WATCH_FOR_S, ActiveProbeRequest, FixRequest, ImdsProbeRequest

COMMAND = f"{reading.NAME} --apply"
_CLIENT_DRY_RUN_NOTE = (
    "a dry run sends no request: whether AWS and the API server accept it is unknown (--dry-run=server asks them)"
)
_SERVER_DRY_RUN_NOTE = (
    "a dry run proves that EC2 or the API server would take the call, and not that pods reach the service then"
)
_DRIFTED_MESSAGE = "the nodes, or what makes them, are not as they were when the fix was shown"
_DEMO_HINT = "--demo --apply --fix NAME --dry-run shows what would be done on the built-in cluster."


@frozen
class _FixCommand:
    """One run of ``imds-probe --apply``. `active`: settings of the test pods, None without any."""

    request: ImdsProbeRequest
    fix: FixRequest
    active: ActiveProbeRequest | None
    context: CommandContext


def apply_fix(
    request: ImdsProbeRequest, fix: FixRequest, active: ActiveProbeRequest | None, context: CommandContext
) -> CommandAnswer:
    """Apply a fix, or resume or undo one.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    FixReport.check_format(context.options.output)
    applying.check_live(context, fix.dry_run == "client", _DEMO_HINT)
    if not fix.dry_run:
        check_writable(context.environ, COMMAND, "imds-probe without --apply reads only")
    command = _FixCommand(request, fix, active, context)
    with answers.explain_forbidden(COMMAND):
        session = answers.open_session(context, NEEDS)
        if session.login is not None:
            raise session.login
        answers.note_session(session, context)
        if fix.resume:
            return _resume(command, session)
        if fix.undo:
            return _undo(command, session)
        reading.note_unfinished_fixes(session, context)
        report = _preview(command, session)
        if command.fix.dry_run:
            return _dry_run(command, report, session)
        refusal = (f"nothing is done: {report.forbidden}", streams.FAILS) if report.forbidden else None
        confirmation = partial(_confirm, command, session, report.act)
        proposal = Proposal(report, (report.act, report.forbidden), confirmation, refusal)

        def fingerprint(new_session: ClusterSession) -> object:
            preview = _preview(command, new_session)
            return preview.act, preview.forbidden

        confirmed = applying.confirm_and_reread(proposal, fingerprint, session, _DRIFTED_MESSAGE, command.context)
        return confirmed if isinstance(confirmed, CommandAnswer) else _carry_out(command, confirmed, report)


def again(change: SavedChangeRequest, context: CommandContext) -> CommandAnswer:
    """Resume or undo a saved change. Raises as `apply_fix`."""
    ids = {"undo" if change.undo else "resume": change.id}
    fix = FixRequest("", "none", ConfirmationFlags(), WATCH_FOR_S, **ids)
    return apply_fix(ImdsProbeRequest(), fix, None, context)


# A new fix.


def _preview(command: _FixCommand, session: ClusterSession) -> FixReport:
    """Plan the fix for its preview.

    Raises:
        UsageError: there is no such fix, or several.
    """
    request, context = command.request, command.context
    cluster, intent = reading.scope_of(request, context).restrict(session.cluster), request.intent
    plan = plan_imds_access(session, request.hops, cluster, intent=intent)
    are_named = bool(request.groups or request.nodes)
    kubectl = answers.kubectl_flags(context, session)
    selected = select_fix(
        offered_fixes(plan, session.cluster, vpc_id(session), session.profile, are_named, kubectl), command.fix.name
    )
    flags = {"apply": True, "fix": command.fix.name, "dry-run": command.fix.dry_run}
    return FixReport(
        command.fix.name,
        selected.action,
        session.cluster,
        selected.fixes,
        tuple(line for each in selected.fixes for line in each.rollback),
        options=request.options | given_flags(flags),
        forbidden=reason_forbidden(selected.action, plan.facts),
        recognised=session.recognised,
    )


def _confirm(command: _FixCommand, session: ClusterSession, fix_action: MetadataFix, suffix: str = "") -> None:
    command.context.note(f"{action_text(fix_action)}{suffix}:")
    confirm(
        session.cluster.identity,
        len(fix_action.nodes),
        action_verb(fix_action),
        command.fix.confirmation,
        command.context.prompt,
    )


def _dry_run(command: _FixCommand, report: FixReport, session: ClusterSession) -> CommandAnswer:
    is_client_only = command.fix.dry_run == "client"
    is_accepted, lines = True, ()  # type: bool, tuple[str, ...]
    if not is_client_only:
        with closing(node_class_writer(command.context.connection)) as classes:
            is_accepted, lines = dry_run(report.act, "eksdoc-dry-run", MetadataChanges(session.verified_aws), classes)
    command.context.note(_CLIENT_DRY_RUN_NOTE if is_client_only else _SERVER_DRY_RUN_NOTE)
    code = streams.FAILS if report.forbidden or not is_accepted else streams.CLEAN
    return answers.report_answer(replace(report, tried=lines), command.context, code)


# The fix is applied.


def _carry_out(command: _FixCommand, session: ClusterSession, report: FixReport) -> CommandAnswer:
    journal, fix_action = applying.new_journal(command.context), report.act
    token = f"eksdoc-{journal.id}"  # lets EC2 and EKS recognize a repeated request
    first_entry = applying.start_entry(
        METADATA_FIX,
        action_text(fix_action),
        journal.id,
        session,
        command.context,
        fix=report.name,
        wayBack=list(report.back),
        token=token,
        act=to_document(fix_action),
    )
    report = replace(report, run=journal.id, journal=str(journal.path))
    with _open_change(command, session, fix_action, token, journal.id) as (kind, world):
        try:
            result = applying.run_change(kind, first_entry, world, journal, command.context, report.undoes)
        except (AwsError, ClusterError):
            _note_resume_command(command, session, journal.id)
            raise
    return _build_answer(command, session, replace(report, done=result), result)


@contextmanager
def _open_change(
    command: _FixCommand, session: ClusterSession, fix_action: MetadataFix, token: str, run_id: str
) -> Iterator[tuple[ChangeKind[FixDone], ChangeEnvironment]]:
    context, active, journal = command.context, command.active, applying.saved_journal(run_id, command.context)
    with (
        applying.open_environment(journal, command.fix.watch_s, context) as world,
        closing(node_class_writer(context.connection)) as classes,
    ):
        ports = FixPorts(
            MetadataChanges(session.verified_aws),
            classes,
            partial(_read_members, command, session),
            None if active is None else lambda nodes: _test_from_pods(command, nodes, active, world),
        )
        yield build_fix(fix_action, token, ports, world), world


def _test_from_pods(
    command: _FixCommand, names: Sequence[str], active: ActiveProbeRequest, world: ChangeEnvironment
) -> tuple[ChangePart, ...]:
    context, settings = command.context, probe_settings(command.request, active, command.context)
    probe_namespace = context.edges.open_probe_namespace(context.connection, settings.namespace)
    cluster = context.reader().read((kinds.NODES,))
    nodes = [node for node in cluster.nodes if node.name in names]
    return test_from_pods(
        nodes,
        probe_namespace,
        context.edges.new_probe_id(),
        settings,
        active.is_every_node,
        ContextClock(context),
        world,
    )


def _read_members(
    command: _FixCommand, session: ClusterSession, group: str
) -> Mapping[str, Instance | Absent | Unknown] | Unknown:
    """The current nodes of a group, each with its instance."""
    try:
        cluster = command.context.reader().read((kinds.NODES,))
    except ClusterError as error:
        return Unknown(error.message)
    ids = {node.name: instance_id(node) for node in cluster.nodes if node.group == group}
    instances = MetadataChanges(session.verified_aws).instances([ident for ident in ids.values() if ident])
    without_instance = Unknown("its providerID names no instance")
    return {name: instances.get(ident, without_instance) for name, ident in ids.items()}


def _build_answer(command: _FixCommand, session: ClusterSession, report: FixReport, result: FixDone) -> CommandAnswer:
    if not result.whole and report.run:
        _note_resume_command(command, session, report.run)
    # The rollback does not revert later changes of other clients.
    rollback = report.back if result.changed or not result.whole else ()
    if isinstance(result.action, InstancesFix):
        other_instances = {change.instance for change in result.action.each} - {*result.changed}
        rollback = tuple(line for line in report.back if other_instances.isdisjoint(line.split()))
    if result.number:  # in manual commands, an earlier line sets the variable
        rollback = tuple(line.replace('"$VERSION"', str(result.number)) for line in rollback)
    report = replace(report, back=rollback)
    if not result.proofs:
        nodes = [f"node/{name}" for name in result.action.nodes[:1]] if not result.nodes else []
        probe_words = [
            "kubectl",
            "eksdoc",
            "imds-probe",
            *nodes,
            "--active",
            *answers.session_flags(command.context, session),
        ]
        report = replace(report, from_pod=shlex.join(probe_words))
    return answers.report_answer(report, command.context, applying.exit_code(result))


def _note_resume_command(command: _FixCommand, session: ClusterSession, run_id: str) -> None:
    command.context.note("continue it:")
    target_flags = answers.session_flags(command.context, session)
    command.context.note(
        f"  {shlex.join(['kubectl', 'eksdoc', 'imds-probe', '--apply', '--resume', run_id, *target_flags])}"
    )


# A fix that was started before is continued or reverted.


def _read_saved_fix(command: _FixCommand, run_id: str, session: ClusterSession) -> tuple[SavedChange, MetadataFix, str]:
    """The saved change, its action, and the token by which AWS knows it.

    Raises:
        LocalJournalError: this machine has no journal of it, or it cannot be decoded.
        Drifted: it is of another cluster.
    """
    saved_change = applying.load_change(run_id, (METADATA_FIX,), session, command.context)
    try:
        return saved_change, from_document(saved_change.first_entry["act"]), str(saved_change.first_entry["token"])
    except (KeyError, TypeError, ValueError) as error:
        raise LocalJournalError(f"the journal of fix {run_id} cannot be understood: {error!r}") from error


def _resume(command: _FixCommand, session: ClusterSession) -> CommandAnswer:
    """Parts with the intended state are left alone. Raises as `_read_saved_fix`."""
    run_id, context = command.fix.resume, command.context
    saved_change, fix_action, token = _read_saved_fix(command, run_id, session)
    rollback = tuple(map(str, saved_change.first_entry.get("wayBack", ())))
    options = command.request.options | {"apply": True, "resume": run_id}
    context.note(
        f"{action_text(fix_action)}, begun at {saved_change.text('at') or 'a time that was not written down'}:"
    )
    confirm(
        session.cluster.identity,
        len(fix_action.nodes),
        f"go on to {action_verb(fix_action)}",
        command.fix.confirmation,
        context.prompt,
    )
    with _open_change(command, session, fix_action, token, run_id) as (kind, world):
        result = applying.resume_change(kind, saved_change, world, context)
    report = FixReport(
        saved_change.text("fix"),
        fix_action,
        session.cluster,
        options=options,
        back=rollback,
        run=run_id,
        done=result,
        journal=str(applying.saved_journal(run_id, context).path),
        recognised=session.recognised,
    )
    return _build_answer(command, session, report, result)


def _undo(command: _FixCommand, session: ClusterSession) -> CommandAnswer:
    """Later changes of other clients are not reverted. Raises as `_read_saved_fix`."""
    run_id, context = command.fix.undo, command.context
    saved_change, original, _ = _read_saved_fix(command, run_id, session)
    fix_action = _revert_action(original, saved_change.progress, session, context)
    if not fix_action.nodes:
        context.note(f"nothing that fix {run_id} has changed is left to set back")
        return CommandAnswer("", streams.FAILS)
    options = command.request.options | {"apply": True, "undo": run_id}
    report = FixReport(
        saved_change.text("fix"),
        fix_action,
        session.cluster,
        options=options,
        undoes=run_id,
        recognised=session.recognised,
    )
    if command.fix.dry_run:
        return _dry_run(command, report, session)
    answers.show_report(report, context)
    if isinstance(fix_action, NodeClassFix):
        context.note(f"every node of EC2NodeClass {fix_action.name} drifts with it, and Karpenter replaces it")
    if isinstance(fix_action, LaunchTemplateFix):
        context.note(f"EKS replaces every node of {fix_action.group} again, and evicts their pods by their budgets")
    _confirm(command, session, fix_action, f", which reverts fix {run_id}")
    return _carry_out(replace(command, active=None), session, report)


def _revert_action(
    original: MetadataFix, progress: ChangeProgress, session: ClusterSession, context: CommandContext
) -> MetadataFix:
    if isinstance(original, LaunchTemplateFix):
        number = int(str(progress.answer("version", "number") or 0))
        part = node_group_part(original, number, MetadataChanges(session.verified_aws).group(original.group))
        if part.became is not PartOutcome.DONE or "update" not in progress.attempted:
            context.note(f"{part.what}: {part.why or part.became.value}: it is left as it is")
            return revert_template(original, number, ())
        # The nodes of the group at the version that the fix created.
        nodes = tuple(node.name for node in session.cluster.nodes if node.group == original.group)
        return revert_template(original, number, nodes)
    if isinstance(original, NodeClassFix):
        class_nodes = (
            nodes_of_class(original.name, session.cluster)
            if f"EC2NodeClass {original.name}" in progress.attempted
            else ()
        )
        return revert_class(original, tuple(node.name for node in class_nodes))
    instances = MetadataChanges(session.verified_aws).instances([change.instance for change in original.each])
    fix_action = revert_instances(original, progress.attempted, instances)
    unchanged = {change.instance for change in original.each} - {change.instance for change in fix_action.each}
    for change in original.each:
        if change.instance in unchanged and change.instance in progress.attempted:
            part = instance_part(change, instances[change.instance])
            context.note(f"{part.what}: {part.why or part.became.value}: it is left as it is")
    return fix_action
