"""``coredns-lameduck --set | --place | --autoscale``: show a change, confirm it, check for drift, and carry it out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.addon_diff.apply import AddonUpdate
from kubectl_eksdoc.addon_diff.command import applying as addon
from kubectl_eksdoc.addon_diff.command.applying import DRY_RUN_NOTE, confirm, not_accepted
from kubectl_eksdoc.addon_diff.guards import changing_fields as changed_fields
from kubectl_eksdoc.addon_diff.judging import field_name
from kubectl_eksdoc.addon_diff.manifests import objects_of
from kubectl_eksdoc.addon_diff.outcome import Verdict, expected_update
from kubectl_eksdoc.addon_diff.report.outcome import SentUpdate, rollback_text
from kubectl_eksdoc.addon_diff.report.update import as_json, update_command
from kubectl_eksdoc.changes import applying
from kubectl_eksdoc.changes.applying import Proposal, SavedChangeRequest
from kubectl_eksdoc.changes.engine import ChangeEnvironment
from kubectl_eksdoc.cli import answers, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext, read_values
from kubectl_eksdoc.cli.options import check_writable, given_flags
from kubectl_eksdoc.errors import AwsError, LocalJournalError, UsageError
from kubectl_eksdoc.host.journals import ChangeJournalFile
from kubectl_eksdoc.kube.single_objects import ResolverPods
from kubectl_eksdoc.kubernetes.corefile_edits import COREDNS_CONFIG_MAP
from kubectl_eksdoc.model import kinds, permissions
from kubectl_eksdoc.model.api_objects import ApplyConflicts, Doc, nested_string
from kubectl_eksdoc.model.change_journal import DNS_CHANGE, SavedChange
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import is_coredns
from kubectl_eksdoc.model.findings import Status, for_target
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.session.session import AwsRequirement, ClusterNeeds, ClusterSession
from kubectl_eksdoc.wiring.runs import applied_maps, pods_now

from ..apply import (
    CONFIG_MAP_STEP,
    ConfigMapApply,
    DnsChange,
    DnsChangeOutcome,
    NewCorefile,
    PreparedChange,
    ReloadCheck,
    config_map_manifest,
    prepare_change,
    prepare_revert,
    resets,
)
from ..deployed import OBJECTS, corefile_of
from ..lameduck import DnsChangeRequest, has_reload
from ..read import KINDS, NO_METRICS, VerificationEdges, dns_facts, failed_reloads
from ..report import commands
from ..report.change import DnsChangeReport
from ..report.commands import config_map_rollback
from ..run import ReloadState, metrics_port
from .change_options import (
    ADDON,
    NAME,
    DnsApplyOptions,
    DnsChangeInvocation,
    LameduckRequest,
    measurement_lookup,
)

COMMAND = f"{NAME} --apply"
_CLIENT_DRY_RUN_NOTE = "a dry run sends no request; --dry-run=server asks the API server"
_DRIFTED = "CoreDNS is not as it was when the change was shown"


def change_coredns(
    request: LameduckRequest,
    change_request: DnsChangeRequest | None,
    apply_options: DnsApplyOptions | None,
    context: CommandContext,
) -> CommandAnswer:
    """Show the change, or carry it out.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    DnsChangeReport.check_format(context.options.output)
    invocation = DnsChangeInvocation(request, change_request, apply_options, context)
    if apply_options is not None:
        applying.check_live(context, apply_options.dry == "client")
        if not apply_options.dry and not apply_options.resume:
            check_writable(context.environ, COMMAND, f"{NAME} without --apply reads only")
    needs = ClusterNeeds(
        "addon-diff",
        (*KINDS, kinds.NAMESPACES),
        tuple(dict.fromkeys((*objects_of(ADDON), *OBJECTS))),
        aws=AwsRequirement.REQUIRED,
    )
    with answers.explain_forbidden(COMMAND):
        session = answers.open_session(context, needs)
        answers.note_session(session, context)
        if apply_options is not None and apply_options.resume:
            return _resume(invocation, apply_options, session)
        return _change(invocation, session)


def again(change: SavedChangeRequest, context: CommandContext) -> CommandAnswer:
    """As `change_coredns`. A completed update of the add-on is reverted by another update."""
    if change.undo and change.saved.text("sent", "addon"):
        return addon.again(change, context)
    apply_options = DnsApplyOptions(undo=change.id) if change.undo else DnsApplyOptions(resume=change.id)
    return change_coredns(LameduckRequest(()), None, apply_options, context)


def _change(invocation: DnsChangeInvocation, session: ClusterSession) -> CommandAnswer:
    context, apply_options = invocation.context, invocation.apply_options
    prepared_change = prepare(invocation, session)
    report = _build_report(invocation, session, prepared_change)
    if apply_options is None:
        return answers.report_answer(report, context, preview_exit_code(invocation, report))
    if apply_options.dry:
        return _dry_run(invocation, apply_options, prepared_change, report)
    refusal = None
    if prepared_change.guards:
        refusal = f"nothing is changed: {'; '.join(guard.why for guard in prepared_change.guards)}", streams.FAILS
    elif prepared_change.change.nothing:
        refusal = "nothing is changed: it is so already, and kept where it lasts", _findings_code(invocation, report)
    subject_text = (
        f"{ADDON} {prepared_change.change.version}" if prepared_change.change.managed else f"{ADDON} Corefile"
    )
    name, changes = session.verified_aws.cluster.name, report.changes
    confirm_change = partial(
        confirm,
        name,
        subject_text,
        changes,
        prepared_change.acknowledgements,
        apply_options.accepted,
        apply_options.given,
        invocation.context.prompt,
    )
    proposal = Proposal(report, prepared_change.same, confirm_change, refusal)
    confirmed_session = applying.confirm_and_reread(
        proposal, lambda now: prepare(invocation, now).same, session, _DRIFTED, context
    )
    return (
        confirmed_session
        if isinstance(confirmed_session, CommandAnswer)
        else _carry_out(invocation, apply_options, confirmed_session, prepared_change, report)
    )


def prepare(invocation: DnsChangeInvocation, session: ClusterSession) -> PreparedChange:
    apply_options = invocation.apply_options or DnsApplyOptions()
    facts = dns_facts(session, measurement_lookup(invocation.context))
    if apply_options.undo:
        saved = applying.load_change(apply_options.undo, (DNS_CHANGE,), session, invocation.context)
        return prepare_revert(facts, applied_corefile(saved), previous_corefile(saved, invocation))
    assert invocation.change_request is not None, "something is wished"
    return prepare_change(session, facts, invocation.change_request, apply_options.force, apply_options.resets)


def _build_report(
    invocation: DnsChangeInvocation, session: ClusterSession, prepared_change: PreparedChange
) -> DnsChangeReport:
    change, plan = prepared_change.change, prepared_change.plan
    apply_options = invocation.apply_options or DnsApplyOptions()
    values = plan.request.values if plan is not None else None
    mode = plan.request.mode.value if plan is not None else ""
    command, rollback = "", ()  # type: tuple[str, tuple[str, ...]]
    command_target = invocation.command_target(session)
    change = replace(change, findings=tuple(for_target(each, command_target) for each in change.findings))
    if prepared_change.update is not None and values is not None:
        eks = session.verified_aws.cluster
        command = command_target.add_to(update_command(eks.name, eks.region, "coredns", change.version, mode, values))
        rollback = commands.addon_rollback(
            prepared_change.update.rollback, session.verified_aws.cluster, command_target
        )
    elif prepared_change.config is not None:
        command = commands.apply_command(prepared_change.config, apply_options.force, invocation.kubectl_args(session))
        before = config_map_manifest(change.corefile.before if change.corefile is not None else "")
        rollback = (
            commands.apply_command(before, False, invocation.kubectl_args(session)),
        )  # its file is written with the journal
    return DnsChangeReport(
        session.cluster,
        change,
        plan,
        mode,
        values,
        prepared_change.config,
        tuple(field_name(each.field) for each in resets(plan, change)) if plan is not None else (),
        prepared_change.guards,
        prepared_change.conflicts,
        tuple(not_accepted(prepared_change.acknowledgements, apply_options.accepted)),
        prepared_change.changes,
        command,
        rollback,
        options=_given_options(invocation),
        recognised=session.recognised,
    )


def _given_options(invocation: DnsChangeInvocation) -> dict[str, object]:
    request, apply_options = invocation.change_request, invocation.apply_options
    options: dict[str, object] = dict(invocation.request.given_options)
    if request is not None:
        options["set"] = f"lameduck={request.lameduck_s}s" if request.lameduck_s is not None else ""
        options["place"] = "on-demand" if request.on_demand else ""
        options["autoscale"] = str(request.scale) if request.scale is not None else ""
    if apply_options is not None:
        options |= {"apply": True, "dry-run": apply_options.dry, "resume": apply_options.resume}
        options |= {"accept-reset": list(apply_options.resets), "force-conflicts": apply_options.force}
    return given_flags(options)


def _dry_run(
    invocation: DnsChangeInvocation,
    apply_options: DnsApplyOptions,
    prepared_change: PreparedChange,
    report: DnsChangeReport,
) -> CommandAnswer:
    context = invocation.context
    if apply_options.dry == "server" and prepared_change.change.managed:
        raise UsageError(
            "EKS has no dry run of an update, so there is no --dry-run=server of an add-on",
            "--dry-run shows what would be sent, and what it would change.",
        )
    if apply_options.dry != "server":
        context.note(DRY_RUN_NOTE if prepared_change.change.managed else _CLIENT_DRY_RUN_NOTE)
        return answers.report_answer(report, context, preview_exit_code(invocation, report))
    is_accepted, result_text = False, "there is nothing to try"
    if prepared_change.config is not None:
        response = applied_maps(context.connection).apply(prepared_change.config, apply_options.force, dry=True)
        is_accepted, result_text = True, "the server would take it"
        if isinstance(response, ApplyConflicts):
            is_accepted, result_text = (
                False,
                "; ".join(f"{each.field} is {each.owner}'s" for each in response.conflicts),
            )
    context.note(f"dry run: {result_text}")
    context.note("it proves that the server takes it, and not that CoreDNS does")
    report = replace(report, tried=result_text)
    return answers.report_answer(
        report, context, preview_exit_code(invocation, report) if is_accepted else streams.FAILS
    )


def preview_exit_code(invocation: DnsChangeInvocation, report: DnsChangeReport) -> int:
    """The exit code of a change that is only shown."""
    return streams.FAILS if report.guards else _findings_code(invocation, report)


def _findings_code(invocation: DnsChangeInvocation, report: DnsChangeReport) -> int:
    if report.change is not None and report.change.not_done:
        return streams.FAILS
    return answers.exit_code_of_findings(report.findings, invocation.request.accepted)


# A change of CoreDNS that this process sends, or follows again: its journal, its edges, and the check of the pods.


_CONFIG_MAP_FILE = ".configmap-of-before.json"


def _carry_out(
    invocation: DnsChangeInvocation,
    apply_options: DnsApplyOptions,
    session: ClusterSession,
    prepared_change: PreparedChange,
    report: DnsChangeReport,
) -> CommandAnswer:
    """Carry the change out, and check the pods.

    Raises:
        JournalError: the journal cannot be written; nothing was sent.
        AwsError, ClusterError: the change is not accepted.
    """
    journal, change = applying.new_journal(invocation.context), prepared_change.change
    texts = change.corefile
    after = NewCorefile.of(texts.after) if texts is not None and not texts.same else NewCorefile()
    with (
        applying.open_environment(journal, apply_options.watch_s, invocation.context) as change_world,
        _open_edges(invocation, after.text, change_world) as pods,
    ):
        failed_by_pod = failed_reloads(pods) if after.text else {}
        recreates_pods = change.affinity is not None and change.managed
        reloads = texts is None or texts.reloads
        reload_check = ReloadCheck(
            after, failed_by_pod, change_world.clock.monotonic(), pods, apply_options.verify_s, reloads, recreates_pods
        )
        dns = {
            "corefile": after.text,
            "sums": list(after.sums),
            "failed": dict(failed_by_pod),
            "rolled": recreates_pods,
        }
        kind: AddonUpdate | ConfigMapApply
        if change.managed:
            kind, first_entry, rollback = _addon_update(
                invocation, session, prepared_change, report, journal, dns, change_world
            )
        else:
            assert texts is not None, "something is applied"
            file = journal.write_beside(_CONFIG_MAP_FILE, as_json(config_map_manifest(texts.before)) + "\n")
            rollback = config_map_rollback(str(file), invocation.kubectl_args(session))
            entry_fields = {"dns": dns, "wayBack": list(rollback)}
            change_text, config_maps = "Corefile of kube-system/coredns", applied_maps(invocation.context.connection)
            first_entry = applying.start_entry(
                DNS_CHANGE, change_text, journal.id, session, invocation.context, **entry_fields
            )
            kind = ConfigMapApply(prepared_change.config, apply_options.force, config_maps)
        try:
            outcome = applying.run_change(
                DnsChange(kind, reload_check),
                first_entry,
                change_world,
                journal,
                invocation.context,
                apply_options.undo,
            )
        except AwsError:
            if journal.path.exists():
                invocation.context.note(
                    f"journal {journal.path}; look again: {_resume_command(invocation, session, journal.id)}"
                )
            raise
    report = replace(report, run=journal.id, journal=str(journal.path), back=rollback, applied=not change.managed)
    return _answer_with(invocation, apply_options, session, report, outcome)


def _addon_update(
    invocation: DnsChangeInvocation,
    session: ClusterSession,
    prepared_change: PreparedChange,
    report: DnsChangeReport,
    journal: ChangeJournalFile,
    dns: Doc,
    change_world: ChangeEnvironment,
) -> tuple[AddonUpdate, Doc, tuple[str, ...]]:
    """The update of the add-on, the first entry of its journal, and the lines of its rollback."""
    update, context, eks = prepared_change.update, invocation.context, session.verified_aws.cluster
    assert update is not None, "it is the add-on's"
    plan, version, file = update.plan, prepared_change.change.version, str(addon.values_path(journal))
    rollback = rollback_text(update.rollback, eks.name, eks.region, file, invocation.command_target(session))
    update_args = SentUpdate(ADDON, version, version, report.mode, report.values), len(changed_fields(plan)), rollback
    call, expected = addon.build_call(update, journal), expected_update(plan, update.update_to_send.keeps)
    followed_update, ports = addon.build_ports(session, expected, context)
    kind = AddonUpdate(call, followed_update, ports, change_world, followed_update.health_before(ports))
    first_entry = addon.write_journal_start(
        DNS_CHANGE, kind, call, *update_args, plan.facts.values, session, journal, context, dns=dns
    )
    context.note("from here on EKS does it: Ctrl-C stops only that it is followed")
    return kind, first_entry, report.back if isinstance(rollback, str) else rollback.commands


def _answer_with(
    invocation: DnsChangeInvocation,
    apply_options: DnsApplyOptions,
    session: ClusterSession,
    report: DnsChangeReport,
    outcome: DnsChangeOutcome,
) -> CommandAnswer:
    command_target = invocation.command_target(session)
    findings = tuple(for_target(each, command_target) for each in outcome.findings)
    report = replace(report, ended=outcome.update_result, verified=outcome.verified, after=findings)
    if outcome.left:
        invocation.context.note(f"look again: {_resume_command(invocation, session, report.run)}")
    return answers.report_answer(report, invocation.context, final_exit_code(report, apply_options))


def final_exit_code(report: DnsChangeReport, apply_options: DnsApplyOptions) -> int:
    """First an incomplete change, then a failure, then an unknown."""
    update_result, verification = report.ended, report.verified
    if update_result is not None and not update_result.whole:
        return streams.STOPPED
    failed = [each for each in report.after if each.status is Status.FAIL]
    if (update_result is not None and update_result.has_deviations) or (
        failed and not (verification is not None and not verification.in_state(ReloadState.REFUSED))
    ):
        return streams.FAILS
    if failed:
        return streams.STOPPED  # not yet
    has_unknown = any(
        each.status is Status.UNKNOWN and each.code.name not in apply_options.accepted for each in report.after
    )
    if update_result is not None:
        if "addon-field-unknown" in apply_options.accepted:
            predicted = [each for each in update_result.checks if each.verdict is not Verdict.NOT_PREDICTED]
            update_result = replace(update_result, checks=tuple(predicted))
        has_unknown |= update_result.has_unknowns
    return streams.UNKNOWN if has_unknown else streams.CLEAN


@contextmanager
def _open_edges(
    invocation: DnsChangeInvocation, text: str, change_world: ChangeEnvironment
) -> Iterator[VerificationEdges]:
    connection, without_proxy = invocation.context.connection, permissions.PROXY.name in invocation.request.without

    def listed() -> tuple[Pod, ...] | Unknown:
        pods = pods_now(invocation.context.reader)
        if isinstance(pods, Unknown):
            return pods
        coredns_pods = (pod for pod in pods if is_coredns(pod.namespace, pod.labels))
        return tuple(pod for pod in coredns_pods if not pod.finished and not pod.deleting)

    with closing(ResolverPods(connection, listed)) as resolvers:
        yield VerificationEdges(
            resolvers,
            None if without_proxy else metrics_port(text),
            change_world.clock,
            change_world.sleep,
            change_world.stop_count,
            change_world.report,
            "they are left out (--without proxy)" if without_proxy else NO_METRICS,
        )


# A change that was sent before.


def _resume(invocation: DnsChangeInvocation, apply_options: DnsApplyOptions, session: ClusterSession) -> CommandAnswer:
    """Follow a change that was sent before.

    Raises:
        LocalJournalError: this machine has no journal of it, or it was never made.
        Drifted: it is of another cluster.
    """
    context, request = invocation.context, invocation.request
    saved = applying.load_change(apply_options.resume, (DNS_CHANGE,), session, context)
    change_journal, options = (
        applying.saved_journal(saved.id, context),
        {**request.given_options, "apply": True, "resume": saved.id},
    )
    journal = str(change_journal.path)
    report = DnsChangeReport(
        session.cluster, options=options, run=saved.id, journal=journal, recognised=session.recognised
    )
    new_corefile, failed_by_pod = applied_corefile(saved), saved.first_entry.get("dns", {}).get("failed", {})
    elapsed_s = (context.now() - applying.started_at(saved)).total_seconds()
    recreates_pods = bool(saved.first_entry.get("dns", {}).get("rolled"))
    with (
        applying.open_environment(change_journal, apply_options.watch_s, context) as change_world,
        _open_edges(invocation, new_corefile.text, change_world) as pods,
    ):
        started_s = change_world.clock.monotonic() - max(0.0, elapsed_s)
        reload_check = ReloadCheck(
            new_corefile,
            failed_by_pod,
            started_s,
            pods,
            apply_options.verify_s,
            has_reload(new_corefile.text),
            recreates_pods,
        )
        if "expected" in saved.first_entry:
            sent_update, rollback = addon.read_sent_update(saved)
            lines = () if isinstance(rollback, str) else rollback.commands
            report = replace(report, mode=sent_update.mode, values=sent_update.values, back=lines)
            kind = DnsChange(addon.resume_update(saved, session, change_world, context), reload_check)
        else:
            _check_applied(saved, new_corefile, session)
            report = replace(report, applied=True, back=tuple(map(str, saved.first_entry.get("wayBack", ()))))
            kind = DnsChange(ConfigMapApply(None, False, applied_maps(context.connection)), reload_check)
        outcome = applying.resume_change(kind, saved, change_world, context)
    return _answer_with(invocation, apply_options, session, report, outcome)


def applied_corefile(saved: SavedChange) -> NewCorefile:
    """The Corefile that a change has applied."""
    dns = saved.first_entry.get("dns")
    return NewCorefile(saved.text("dns", "corefile"), tuple(map(str, dns.get("sums", ())))) if dns else NewCorefile()


def previous_corefile(saved: SavedChange, invocation: DnsChangeInvocation) -> str:
    """The Corefile before a change of a self-managed CoreDNS.

    Raises:
        LocalJournalError, UsageError: nothing was changed, or the text is unknown.
    """
    if CONFIG_MAP_STEP not in saved.progress.attempted:
        raise LocalJournalError(f"change {saved.id} was not made: there is nothing to revert")
    path = applying.saved_journal(saved.id, invocation.context).path_beside(_CONFIG_MAP_FILE)
    return nested_string(read_values(str(path)), "data", "Corefile")


_REPEAT_HINT = "Make it again, with the same flags and without --resume."


def _check_applied(saved: SavedChange, new_corefile: NewCorefile, session: ClusterSession) -> None:
    """Check that the change was made; if the process ended between journal and request, the live Corefile shows it.

    Raises:
        LocalJournalError: it was not made, or that is unknown.
    """
    past = saved.progress
    if CONFIG_MAP_STEP in past.accepted:
        return
    live = corefile_of(session.objects.read_object(COREDNS_CONFIG_MAP)) if CONFIG_MAP_STEP in past.attempted else ""
    if isinstance(live, Unknown):
        raise LocalJournalError(f"whether the change {saved.id} was made is not known: {live.why}", "Ask again.")
    if not isinstance(live, str) or NewCorefile.of(live) != new_corefile:
        raise LocalJournalError(f"the change {saved.id} was not made: nothing was changed", _REPEAT_HINT)


def _resume_command(invocation: DnsChangeInvocation, session: ClusterSession, run: str) -> str:
    return shell("kubectl", "eksdoc", NAME, "--apply", "--resume", run, *invocation.connection_args(session))
