"""``addon-diff --apply``: preview, typed confirmation, a second read, journal entry, request, and following."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kubectl_eksdoc.aws.eks import AddonUpdates, target_group, updates_of_addon
from kubectl_eksdoc.changes import applying as shared
from kubectl_eksdoc.changes.applying import Proposal, SavedChangeRequest, target_arguments
from kubectl_eksdoc.changes.engine import ChangeEnvironment
from kubectl_eksdoc.cli import answers, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext, read_values
from kubectl_eksdoc.cli.options import (
    ConfirmationFlags,
    CountedItem,
    Prompt,
    check_expected,
    check_writable,
    given_flags,
    require_typed,
    with_hint,
)
from kubectl_eksdoc.errors import Drifted, LocalJournalError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.host.journals import ChangeJournalFile
from kubectl_eksdoc.kubernetes.redaction import redact_value
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateCall, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import ADDON_UPDATE, DNS_CHANGE, SavedChange
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import from_json, to_json
from kubectl_eksdoc.session.session import ClusterSession
from kubectl_eksdoc.wiring.runs import pods_now

from ..apply import UPDATE_STEP, AddonUpdate, AddonUpdatePorts, FollowedUpdate
from ..guards import acknowledgement_text, changing_fields, findings_to_acknowledge, is_without_effect
from ..judging import field_name
from ..outcome import (
    AddonUpdateResult,
    ExpectedUpdate,
    ServiceHealth,
    affected_target_groups,
    expected_update,
    find_requested_update,
    from_document,
    to_document,
)
from ..prediction import AddonFacts, AddonUpdateRequest, Mode
from ..read import NEEDS, PreparedAddonUpdate, prepare_update, read_addon
from ..report.outcome import (
    RollbackText,
    SentUpdate,
    UpdateReport,
    follow_commands,
    rollback_text,
    update_text,
)
from ..report.update import as_json
from .forecast import exit_code
from .request import AddonDiffRequest, ApplyRequest

# Typed confirmations before the request to EKS: the cluster and the number of changed fields; and severe findings. As
# with drain runs, `--yes` replaces the first only together with the expected number. Critical findings and dropped
# values are confirmed by add-on and version in spite of `--yes`; unknown findings, unless `--accept-unknown` names
# them.


DRY_RUN_NOTE = (
    "a dry run sends nothing to EKS: whether EKS accepts the values, and which fields conflict, is predicted only"
)
SCRIPT_HINT = (
    "In a script: --yes --expect-changes N, with the number of fields that change by the plan that you have read, and "
    "--accept-unknown CODE,… for what may be unknown."
)


CHANGED_FIELDS = CountedItem("field", "fields", "--expect-changes", "changes")


def confirm(
    cluster: str,
    acknowledgement: str,
    changes: int,
    findings: Sequence[Finding],
    accepted: Sequence[str],
    flags: ConfirmationFlags,
    ask: Prompt,
) -> None:
    """Ask for the typed confirmations. `acknowledgement`: the add-on and its target, as they are typed. `accepted`:
    codes of findings that may be unknown.

    Raises:
        Drifted: the expected number is wrong; nothing was sent.
        UsageError: another text was typed, or there is no terminal to ask.
    """
    check_expected(flags, changes, "change", CHANGED_FIELDS)
    ask_with_hint = with_hint(ask, SCRIPT_HINT)
    unaccepted = not_accepted(findings, accepted)
    if unaccepted:
        count = "1 finding" if len(unaccepted) == 1 else f"{len(unaccepted)} findings"
        require_typed(acknowledgement, f"to acknowledge {count} that must not be passed over", ask_with_hint)
    if not flags.yes:
        purpose = (
            f"to update {acknowledgement.split()[0]} of {cluster}, which changes {CHANGED_FIELDS.count_text(changes)}"
        )
        require_typed(f"{cluster} {changes}", purpose, ask_with_hint)


def not_accepted(findings: Sequence[Finding], accepted: Sequence[str]) -> list[Finding]:
    """The findings that are not accepted beforehand; only unknown ones can be."""
    return [each for each in findings if each.status is not Status.UNKNOWN or each.code.name not in accepted]


COMMAND = "addon-diff --apply"
_DRIFTED_MESSAGE = "the add-on is not as it was when the plan was shown"
_DEMO_HINT = "--demo --apply --dry-run shows what would be sent for the built-in cluster."


@frozen
class _ApplyCommand:
    """One run of ``addon-diff --apply``."""

    request: AddonDiffRequest
    apply: ApplyRequest
    context: CommandContext

    def command_target(self, session: ClusterSession) -> CommandTarget:
        return replace(answers.command_target(self.context, session), eksdoc=target_arguments(self.context, session))


def apply_update(request: AddonDiffRequest, apply: ApplyRequest, context: CommandContext) -> CommandAnswer:
    """Apply an update, or resume one.

    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    UpdateReport.check_format(context.options.output)
    shared.check_live(context, apply.is_dry_run, _DEMO_HINT)
    if not (apply.is_dry_run or apply.resume):
        check_writable(context.environ, COMMAND, "addon-diff without --apply reads only")
    command = _ApplyCommand(request, apply, context)
    with answers.explain_forbidden(COMMAND):
        session = answers.open_session(context, NEEDS)
        answers.note_session(session, context)
        return _resume(command, session) if apply.resume else _apply(command, session)


def again(change: SavedChangeRequest, context: CommandContext) -> CommandAnswer:
    """Resume or undo a saved change. Raises as `apply_update`."""
    saved_change = change.saved
    if not change.undo:
        request = AddonDiffRequest(saved_change.text("sent", "addon"), "", "NONE", None)
        return apply_update(request, ApplyRequest(resume=saved_change.id), context)
    addon, version, values = undo_request(saved_change, context)
    return apply_update(AddonDiffRequest(addon, version, "NONE", values), ApplyRequest(undo=saved_change.id), context)


def _apply(command: _ApplyCommand, session: ClusterSession) -> CommandAnswer:
    context = command.context
    journal, prepared_update = shared.new_journal(context), _prepare(command, session)
    if command.apply.undo:
        saved_change = shared.load_change(command.apply.undo, (ADDON_UPDATE, DNS_CHANGE), session, context)
        check_not_updated(saved_change, prepared_update.plan.facts)
    report = _build_report(command, session, prepared_update, journal)
    if command.apply.is_dry_run:
        context.note(DRY_RUN_NOTE)
        dry_run_code = (
            streams.FAILS if prepared_update.guards else exit_code((prepared_update.plan,), command.apply.accepted)
        )
        return answers.report_answer(report, context, dry_run_code)
    refused = None
    if is_without_effect(prepared_update.plan):
        refused = "nothing is sent: neither version nor values are others, and nothing would change", streams.CLEAN
    elif prepared_update.guards:
        refused = f"nothing is sent: {'; '.join(guard.why for guard in prepared_update.guards)}", streams.FAILS
    confirmation = partial(
        confirm,
        session.verified_aws.cluster.name,
        acknowledgement_text(prepared_update.plan),
        report.changes,
        findings_to_acknowledge(prepared_update.plan),
        command.apply.accepted,
        command.apply.confirmation,
        command.context.prompt,
    )
    proposal = Proposal(report, prepared_update.fingerprint, confirmation, refused)
    confirmed = shared.confirm_and_reread(
        proposal, lambda now: _prepare(command, now).fingerprint, session, _DRIFTED_MESSAGE, context
    )
    return (
        confirmed
        if isinstance(confirmed, CommandAnswer)
        else _carry_out(command, confirmed, prepared_update, report, journal)
    )


def _prepare(command: _ApplyCommand, session: ClusterSession) -> PreparedAddonUpdate:
    request = command.request
    values = None if request.values is None else read_values(request.values)
    addon_side = read_addon(session, request.addon, request.to)
    return prepare_update(
        session, addon_side, AddonUpdateRequest(Mode(request.mode), values), command.apply.is_as_asked
    )


def _build_report(
    command: _ApplyCommand, session: ClusterSession, prepared_update: PreparedAddonUpdate, journal: ChangeJournalFile
) -> UpdateReport:
    facts, to_send, apply, cluster = (
        prepared_update.plan.facts,
        prepared_update.update_to_send,
        command.apply,
        session.verified_aws.cluster,
    )
    path = "" if apply.is_dry_run else str(values_path(journal))
    sent = SentUpdate(
        facts.addon.name,
        facts.addon.version,
        facts.target.version,
        to_send.request.mode.value,
        to_send.request.values,
        tuple(field_name(change.field) for change in to_send.keeps),
    )
    flags = {
        "apply": True,
        "dry-run": apply.is_dry_run,
        "as-asked": apply.is_as_asked,
        "accept-unknown": list(apply.accepted),
        "undo": apply.undo,
    }
    return UpdateReport(
        sent,
        session.cluster,
        prepared_update.plan,
        len(changing_fields(prepared_update.plan)),
        prepared_update.guards,
        tuple(not_accepted(findings_to_acknowledge(prepared_update.plan), apply.accepted)),
        rollback_text(prepared_update.rollback, cluster.name, cluster.region, path, command.command_target(session)),
        options=command.request.options | given_flags(flags),
        run="" if apply.is_dry_run else journal.id,
        recognised=session.recognised,
    )


def _carry_out(
    command: _ApplyCommand,
    session: ClusterSession,
    prepared_update: PreparedAddonUpdate,
    report: UpdateReport,
    journal: ChangeJournalFile,
) -> CommandAnswer:
    """Send the update and follow it.

    Raises:
        JournalError: the journal cannot be written; nothing was sent.
        AwsError: EKS refuses the request.
    """
    apply, context = command.apply, command.context
    call, expected = (
        build_call(prepared_update, journal),
        expected_update(prepared_update.plan, prepared_update.update_to_send.keeps),
    )
    with shared.open_environment(journal, apply.watch_s, context) as world:
        followed, ports = build_ports(session, expected, context)
        update = AddonUpdate(call, followed, ports, world, followed.health_before(ports))
        sent_facts = report.sent, report.changes, report.rollback
        current_values = prepared_update.plan.facts.values
        first_entry = write_journal_start(
            ADDON_UPDATE, update, call, *sent_facts, current_values, session, journal, context
        )
        context.note("from here on EKS does it: Ctrl-C stops only that it is followed")
        result = shared.run_change(update, first_entry, world, journal, context, apply.undo)
    return _build_answer(command, session, replace(report, journal=str(journal.path)), result)


def _resume(command: _ApplyCommand, session: ClusterSession) -> CommandAnswer:
    """Follow an update that was sent before.

    Raises:
        LocalJournalError: this machine has no journal of it, or it was never sent.
        Drifted: it is of another cluster or add-on.
    """
    request, apply, context = command.request, command.apply, command.context
    change = shared.load_change(apply.resume, (ADDON_UPDATE,), session, context)
    check_addon(change, request.addon)
    journal = shared.saved_journal(change.id, context)
    with shared.open_environment(journal, apply.watch_s, context) as world:
        result = shared.resume_change(resume_update(change, session, world, context), change, world, context)
    sent_update, rollback = read_sent_update(change)
    options = request.options | {"apply": True, "resume": change.id}
    changes = change.first_entry.get("changes", 0)
    report = UpdateReport(
        sent_update, session.cluster, options=options, changes=changes, rollback=rollback, recognised=session.recognised
    )
    return _build_answer(command, session, with_journal(report, journal), result)


def _build_answer(
    command: _ApplyCommand, session: ClusterSession, report: UpdateReport, result: AddonUpdateResult
) -> CommandAnswer:
    context, cluster = command.context, session.verified_aws.cluster
    if not result.stage.has_ended or result.left:
        context.note("look again:")
        target = command.command_target(session)
        for line in follow_commands(command.request.addon, report.run, result.id, cluster.name, cluster.region, target):
            context.note(f"  {line}")
    final_report = replace(report, ended=result)
    return answers.report_answer(final_report, context, shared.exit_code(result))


# An update that this process sends or follows: its journal, its connections, and its result.


_VALUES_SUFFIX = ".values-of-before.json"


def values_path(journal: ChangeJournalFile) -> Path:
    """The file with the values of the rollback, written with the request."""
    return journal.path_beside(_VALUES_SUFFIX)


def build_call(prepared_update: PreparedAddonUpdate, journal: ChangeJournalFile) -> UpdateCall:
    """Build the request, and write the rollback's values beside the journal.

    Raises:
        JournalError: they cannot be written; nothing was sent.
    """
    if not isinstance(prepared_update.rollback, Unknown):
        journal.write_beside(_VALUES_SUFFIX, as_json(prepared_update.rollback.values) + "\n")
    facts, request = prepared_update.plan.facts, prepared_update.update_to_send.request
    values = None if request.values is None else as_json(request.values)
    return UpdateCall(facts.addon.name, facts.target.version, request.mode.value, values, f"eksdoc-{journal.id}")


def write_journal_start(
    kind: str,
    update: AddonUpdate,
    call: UpdateCall,
    sent: SentUpdate,
    changes: int,
    rollback: RollbackText | str,
    current_values: Doc | Unknown,
    session: ClusterSession,
    journal: ChangeJournalFile,
    context: CommandContext,
    **extra: object,
) -> Doc:
    """Write the first line of the journal. Only the rollback's file has the values without redaction."""
    sent_document = to_json(replace(sent, values=redact_value(sent.values)))
    printed_values = None if isinstance(current_values, Unknown) else redact_value(current_values)
    details = {"sent": sent_document, "changes": changes, "wayBack": to_json(rollback), "today": printed_values}
    expected, health = to_document(update.followed.expected, call.token), to_json(update.health)
    return shared.start_entry(
        kind, update_text(sent), journal.id, session, context, **details, expected=expected, health=health, **extra
    )


def build_ports(
    session: ClusterSession, expected_update: ExpectedUpdate, context: CommandContext
) -> tuple[FollowedUpdate, AddonUpdatePorts]:
    """The update to follow, and its connections."""
    ports = AddonUpdatePorts(
        AddonUpdates(session.verified_aws, expected_update.addon),
        session.live_objects,
        lambda: pods_now(context.reader),
        lambda arn: session.require(target_group, arn),
    )
    return FollowedUpdate(expected_update, affected_target_groups(expected_update.addon, session.cluster)), ports


# An update that was sent before.


def resume_update(
    change: SavedChange, session: ClusterSession, world: ChangeEnvironment, context: CommandContext
) -> AddonUpdate:
    """Follow a saved update again.

    Raises:
        LocalJournalError: its journal cannot be decoded, or it was never sent.
    """
    progress = change.progress
    try:
        expected = from_document(change.first_entry["expected"])
        health = {arn: from_json(ServiceHealth, each) for arn, each in change.first_entry.get("health", {}).items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LocalJournalError(f"the journal of update {change.id} cannot be understood: {error!r}") from error
    if UPDATE_STEP not in progress.attempted:
        raise LocalJournalError(
            f"update {change.id} was not started: nothing was sent, and nothing was changed", "Start a new one."
        )
    update_id = str(progress.answer(UPDATE_STEP, "update") or "") or _find_update_id(change, expected.addon, session)
    return AddonUpdate(update_id, *build_ports(session, expected, context), world, health)


def _find_update_id(change: SavedChange, addon: str, session: ClusterSession) -> str:
    """The update's ID by EKS's list: the process or the connection ended before the response was recorded."""
    history = session.require(updates_of_addon, addon)
    updates = history.updates if isinstance(history, UpdateHistory) else ()
    requested_at = shared.started_at(change)
    update = find_requested_update(updates, change.text("sent", "target"), change.text("sent", "mode"), requested_at)
    if isinstance(update, EksAddonUpdate):
        return update.id
    reason = getattr(history, "why", getattr(history, "said", update.why))
    raise LocalJournalError(
        f"update {change.id} was written down, and whether EKS took it is not known: {reason}",
        "Look for it yourself: aws eks list-updates, and aws eks describe-update.",
    )


def check_addon(change: SavedChange, addon: str) -> None:
    """Raises Drifted: the update is of another add-on."""
    saved_addon = change.text("sent", "addon")
    if saved_addon != addon:
        arn = change.text("cluster", "arn")
        raise Drifted(f"update {change.id} is of {saved_addon} in {arn}", "Name that add-on, and its context.")


def read_sent_update(change: SavedChange) -> tuple[SentUpdate, RollbackText | str]:
    """The sent update, and its rollback or the reason why there is none."""
    rollback = change.first_entry.get("wayBack", "")
    return from_json(SentUpdate, change.first_entry["sent"]), rollback if isinstance(rollback, str) else from_json(
        RollbackText, rollback
    )


def check_not_updated(change: SavedChange, facts: AddonFacts) -> None:
    """Raises Drifted: another client has updated the add-on since, or given it other values, and an undo would revert
    that."""
    sent, _ = read_sent_update(change)
    hint = f"Nothing was sent. See what an update does: kubectl eksdoc addon-diff {sent.addon} --to {sent.before}"
    version = facts.addon.version
    if version not in (sent.before, sent.target):
        text = f"{sent.addon} is at {version}: another client has updated it since change {change.id} to {sent.target}"
        raise Drifted(text, hint)
    known_values = [each for each in (change.first_entry.get("today"), sent.values) if each is not None]
    if isinstance(facts.values, Unknown):
        raise Drifted(f"whether another client gave {sent.addon} other values is not known: {facts.values}", hint)
    if known_values and redact_value(facts.values) not in known_values:
        text = f"{sent.addon} has other configuration values than those of change {change.id}: another client gave them"
        raise Drifted(text, hint)


def undo_request(change: SavedChange, context: CommandContext) -> tuple[str, str, str]:
    """The add-on, its version and the file with its values before the update.

    Raises:
        LocalJournalError: nothing was sent, or the values are unknown.
    """
    path = values_path(shared.saved_journal(change.id, context))
    if UPDATE_STEP not in change.progress.attempted:
        raise LocalJournalError(f"update {change.id} was not started: there is nothing to revert")
    if not path.exists():
        reason = change.text("wayBack") or f"{path} is not there"
        raise LocalJournalError(f"update {change.id} cannot be reverted: {reason}", "Update the add-on by hand.")
    sent, rollback = read_sent_update(change)
    if not isinstance(rollback, str) and rollback.by_hand:
        context.note(
            f"to be set by hand afterwards, as no value of that version sets them: {', '.join(rollback.by_hand)}"
        )
    return sent.addon, sent.before, str(path)


def with_journal(report: UpdateReport, journal: ChangeJournalFile) -> UpdateReport:
    return replace(report, run=journal.id, journal=str(journal.path))
