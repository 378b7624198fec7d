"""``addon-diff --apply``: preview, typed confirmation, a second read, journal entry, request, and following."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kubectl_eksdoc.aws.eks import AddonUpdates, target_group, updates_of_addon
from kubectl_eksdoc.changes import applying as shared
from kubectl_eksdoc.changes.applying import Again, Proposal, applying_to
from kubectl_eksdoc.changes.engine import World
from kubectl_eksdoc.cli import opening, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext, read_values
from kubectl_eksdoc.cli.options import (
    Ask,
    ConfirmationFlags,
    CountedThing,
    as_expected,
    check_writable,
    explained,
    non_empty,
    typed_back,
)
from kubectl_eksdoc.errors import Drifted, LocalJournalError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.host.journals import ChangeJournalFile
from kubectl_eksdoc.kubernetes.redaction import printed
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateCall, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import ADDON_UPDATE, DNS_CHANGE, SavedChange
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import made, told_of
from kubectl_eksdoc.session.session import ClusterSession
from kubectl_eksdoc.wiring.runs import pods_now

from ..apply import UPDATE, AddonUpdate, Following, Ports
from ..guards import acknowledgement, changing, is_nothing, to_acknowledge
from ..judging import calls
from ..outcome import (
    AddonUpdateResult,
    ExpectedUpdate,
    Health,
    affected,
    asked_for,
    expected_of,
    from_doc,
    to_doc,
)
from ..prediction import AddonFacts, AddonUpdateRequest, Mode
from ..read import NEEDS, PreparedAddonUpdate, prepared, side_of
from ..report.outcome import (
    Sent,
    UpdateReport,
    WayBackText,
    head,
    look_again,
    way_back_text,
)
from ..report.update import as_json
from .forecast import code
from .request import AddonDiffRequest, Apply

# Typed confirmations before the request to EKS: the cluster and the number of changed fields; and severe findings. As
# with drain runs, `--yes` replaces the first only together with the expected number. Critical findings and dropped
# values are confirmed by add-on and version in spite of `--yes`; unknown findings, unless `--accept-unknown` names
# them.


ASKS_EKS_NOTHING = (
    "a dry run sends nothing to EKS: whether EKS accepts the values, and which fields conflict, is predicted only"
)
IN_A_SCRIPT = (
    "In a script: --yes --expect-changes N, with the number of fields that change by the plan that you have read, and "
    "--accept-unknown CODE,… for what may be unknown."
)


FIELDS = CountedThing("field", "fields", "--expect-changes", "changes")


def confirm(
    cluster: str,
    acknowledgement: str,
    changes: int,
    weighty: Sequence[Finding],
    accepted: Sequence[str],
    given: ConfirmationFlags,
    ask: Ask,
) -> None:
    """Ask for the typed confirmations. `acknowledgement`: the add-on and its target, as they are typed. `accepted`:
    codes of findings that may be unknown.

    Raises:
        Drifted: the expected number is wrong; nothing was sent.
        UsageError: another text was typed, or there is no terminal to ask.
    """
    as_expected(given, changes, "change", FIELDS)
    asked = explained(ask, IN_A_SCRIPT)
    left = still(weighty, accepted)
    if left:
        count = "1 finding" if len(left) == 1 else f"{len(left)} findings"
        typed_back(acknowledgement, f"to acknowledge {count} that must not be passed over", asked)
    if not given.yes:
        what = f"to update {acknowledgement.split()[0]} of {cluster}, which changes {FIELDS.said(changes)}"
        typed_back(f"{cluster} {changes}", what, asked)


def still(weighty: Sequence[Finding], accepted: Sequence[str]) -> list[Finding]:
    """The findings that are not accepted beforehand; only unknown ones can be."""
    return [each for each in weighty if each.status is not Status.UNKNOWN or each.code.name not in accepted]


COMMAND = "addon-diff --apply"
_DRIFTED = "the add-on is not as it was when the plan was shown"
_DEMO = "--demo --apply --dry-run shows what would be sent for the built-in cluster."


@frozen
class _Asking:
    """One run of ``addon-diff --apply``."""

    request: AddonDiffRequest
    apply: Apply
    around: CommandContext

    def reach(self, session: ClusterSession) -> CommandTarget:
        return replace(opening.reach(self.around, session), ours=applying_to(self.around, session))


def applying(request: AddonDiffRequest, apply: Apply, around: CommandContext) -> CommandAnswer:
    """Apply an update, or resume one.

    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    UpdateReport.check(around.options.output)
    shared.check_live(around, apply.dry, _DEMO)
    if not (apply.dry or apply.resume):
        check_writable(around.environ, COMMAND, "addon-diff without --apply reads only")
    asking = _Asking(request, apply, around)
    with opening.explaining(COMMAND):
        session = opening.opened(around, NEEDS)
        opening.told(session, around)
        return _resumed(asking, session) if apply.resume else _applied(asking, session)


def again(change: Again, around: CommandContext) -> CommandAnswer:
    """Resume or undo a saved change. Raises as `apply_update`."""
    saved = change.saved
    if not change.undo:
        request = AddonDiffRequest(saved.text("sent", "addon"), "", "NONE", None)
        return applying(request, Apply(resume=saved.id), around)
    addon, version, values = undoing(saved, around)
    return applying(AddonDiffRequest(addon, version, "NONE", values), Apply(undo=saved.id), around)


def _applied(asking: _Asking, session: ClusterSession) -> CommandAnswer:
    around = asking.around
    written, ready = shared.new_journal(around), _prepared(asking, session)
    if asking.apply.undo:
        undone = shared.saved(asking.apply.undo, (ADDON_UPDATE, DNS_CHANGE), session, around)
        check_not_updated(undone, ready.plan.facts)
    report = _report(asking, session, ready, written)
    if asking.apply.dry:
        around.note(ASKS_EKS_NOTHING)
        failing = streams.FAILS if ready.guards else code((ready.plan,), asking.apply.accepted)
        return opening.answer(report, around, failing)
    refused = None
    if is_nothing(ready.plan):
        refused = "nothing is sent: neither version nor values are others, and nothing would change", streams.CLEAN
    elif ready.guards:
        refused = f"nothing is sent: {'; '.join(guard.why for guard in ready.guards)}", streams.FAILS
    typed = partial(
        confirm,
        session.believed.cluster.name,
        acknowledgement(ready.plan),
        report.changes,
        to_acknowledge(ready.plan),
        asking.apply.accepted,
        asking.apply.given,
        asking.around.ask,
    )
    proposal = Proposal(report, ready.same, typed, refused)
    found = shared.confirmed(proposal, lambda now: _prepared(asking, now).same, session, _DRIFTED, around)
    return found if isinstance(found, CommandAnswer) else _carried_out(asking, found, ready, report, written)


def _prepared(asking: _Asking, session: ClusterSession) -> PreparedAddonUpdate:
    request = asking.request
    values = None if request.values is None else read_values(request.values)
    side = side_of(session, request.addon, request.to)
    return prepared(session, side, AddonUpdateRequest(Mode(request.mode), values), asking.apply.as_asked)


def _report(
    asking: _Asking, session: ClusterSession, ready: PreparedAddonUpdate, written: ChangeJournalFile
) -> UpdateReport:
    facts, what, apply, eks = ready.plan.facts, ready.sending, asking.apply, session.believed.cluster
    file = "" if apply.dry else str(values_file(written))
    sent = Sent(
        facts.addon.name,
        facts.addon.version,
        facts.target.version,
        what.asked.mode.value,
        what.asked.values,
        tuple(calls(change.field) for change in what.keeps),
    )
    flags = {
        "apply": True,
        "dry-run": apply.dry,
        "as-asked": apply.as_asked,
        "accept-unknown": list(apply.accepted),
        "undo": apply.undo,
    }
    return UpdateReport(
        sent,
        session.cluster,
        ready.plan,
        len(changing(ready.plan)),
        ready.guards,
        tuple(still(to_acknowledge(ready.plan), apply.accepted)),
        way_back_text(ready.back, eks.name, eks.region, file, asking.reach(session)),
        options=asking.request.given | non_empty(flags),
        run="" if apply.dry else written.id,
        recognised=session.recognised,
    )


def _carried_out(
    asking: _Asking,
    session: ClusterSession,
    ready: PreparedAddonUpdate,
    report: UpdateReport,
    written: ChangeJournalFile,
) -> CommandAnswer:
    """Send the update and follow it.

    Raises:
        JournalError: the journal cannot be written; nothing was sent.
        AwsError: EKS refuses the request.
    """
    apply, around = asking.apply, asking.around
    call, expected = call_of(ready, written), expected_of(ready.plan, ready.sending.keeps)
    with shared.world(written, apply.watch_s, around) as world:
        what, ports = edges(session, expected, around)
        update = AddonUpdate(call, what, ports, world, what.before(ports))
        said = report.sent, report.changes, report.back
        today = ready.plan.facts.values
        first = begun(ADDON_UPDATE, update, call, *said, today, session, written, around)
        around.note("from here on EKS does it: Ctrl-C stops only that it is followed")
        ended = shared.carried(update, first, world, written, around, apply.undo)
    return _answer(asking, session, replace(report, journal=str(written.path)), ended)


def _resumed(asking: _Asking, session: ClusterSession) -> CommandAnswer:
    """Follow an update that was sent before.

    Raises:
        LocalJournalError: this machine has no journal of it, or it was never sent.
        Drifted: it is of another cluster or add-on.
    """
    request, apply, around = asking.request, asking.apply, asking.around
    saved = shared.saved(apply.resume, (ADDON_UPDATE,), session, around)
    check_addon(saved, request.addon)
    written = shared.journal(saved.id, around)
    with shared.world(written, apply.watch_s, around) as world:
        ended = shared.continued(sent_again(saved, session, world, around), saved, world, around)
    sent, back = sent_before(saved)
    options = request.given | {"apply": True, "resume": saved.id}
    changes = saved.begun.get("changes", 0)
    report = UpdateReport(
        sent, session.cluster, options=options, changes=changes, back=back, recognised=session.recognised
    )
    return _answer(asking, session, with_run(report, written), ended)


def _answer(asking: _Asking, session: ClusterSession, report: UpdateReport, ended: AddonUpdateResult) -> CommandAnswer:
    around, eks = asking.around, session.believed.cluster
    if not ended.stage.ended or ended.left:
        around.note("look again:")
        reach = asking.reach(session)
        for line in look_again(asking.request.addon, report.run, ended.id, eks.name, eks.region, reach):
            around.note(f"  {line}")
    done = replace(report, ended=ended)
    return opening.answer(done, around, shared.code(ended))


# An update that this process sends or follows: its journal, its connections, and its result.


_VALUES = ".values-of-before.json"


def values_file(written: ChangeJournalFile) -> Path:
    """The file with the values of the rollback, written with the request."""
    return written.path_beside(_VALUES)


def call_of(ready: PreparedAddonUpdate, written: ChangeJournalFile) -> UpdateCall:
    """Build the request, and write the rollback's values beside the journal.

    Raises:
        JournalError: they cannot be written; nothing was sent.
    """
    if not isinstance(ready.back, Unknown):
        written.beside(_VALUES, as_json(ready.back.values) + "\n")
    facts, asked = ready.plan.facts, ready.sending.asked
    values = None if asked.values is None else as_json(asked.values)
    return UpdateCall(facts.addon.name, facts.target.version, asked.mode.value, values, f"eksdoc-{written.id}")


def begun(
    kind: str,
    update: AddonUpdate,
    call: UpdateCall,
    sent: Sent,
    changes: int,
    back: WayBackText | str,
    today: Doc | Unknown,
    session: ClusterSession,
    written: ChangeJournalFile,
    around: CommandContext,
    **more: object,
) -> Doc:
    """Write the first line of the journal. Only the rollback's file has the values without redaction."""
    told = told_of(replace(sent, values=printed(sent.values)))
    known = None if isinstance(today, Unknown) else printed(today)
    rest = {"sent": told, "changes": changes, "wayBack": told_of(back), "today": known}
    expected, health = to_doc(update.following.expected, call.token), told_of(update.health)
    return shared.begun(kind, head(sent), written.id, session, around, **rest, expected=expected, health=health, **more)


def edges(session: ClusterSession, expected: ExpectedUpdate, around: CommandContext) -> tuple[Following, Ports]:
    """The update to follow, and its connections."""
    ports = Ports(
        AddonUpdates(session.believed, expected.addon),
        session.objects_now,
        lambda: pods_now(around.reader),
        lambda arn: session.require(target_group, arn),
    )
    return Following(expected, affected(expected.addon, session.cluster)), ports


# An update that was sent before.


def sent_again(saved: SavedChange, session: ClusterSession, world: World, around: CommandContext) -> AddonUpdate:
    """Follow a saved update again.

    Raises:
        LocalJournalError: its journal cannot be decoded, or it was never sent.
    """
    past = saved.past
    try:
        expected = from_doc(saved.begun["expected"])
        health = {arn: made(Health, each) for arn, each in saved.begun.get("health", {}).items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LocalJournalError(f"the journal of update {saved.id} cannot be understood: {error!r}") from error
    if UPDATE not in past.tried:
        raise LocalJournalError(
            f"update {saved.id} was not started: nothing was sent, and nothing was changed", "Start a new one."
        )
    ident = str(past.answer(UPDATE, "update") or "") or _found_again(saved, expected.addon, session)
    return AddonUpdate(ident, *edges(session, expected, around), world, health)


def _found_again(saved: SavedChange, addon: str, session: ClusterSession) -> str:
    """The update's ID by EKS's list: the process or the connection ended before the response was recorded."""
    history = session.require(updates_of_addon, addon)
    listed = history.updates if isinstance(history, UpdateHistory) else ()
    at = shared.begun_at(saved)
    found = asked_for(listed, saved.text("sent", "target"), saved.text("sent", "mode"), at)
    if isinstance(found, EksAddonUpdate):
        return found.id
    why = getattr(history, "why", getattr(history, "said", found.why))
    raise LocalJournalError(
        f"update {saved.id} was written down, and whether EKS took it is not known: {why}",
        "Look for it yourself: aws eks list-updates, and aws eks describe-update.",
    )


def check_addon(saved: SavedChange, addon: str) -> None:
    """Raises Drifted: the update is of another add-on."""
    of = saved.text("sent", "addon")
    if of != addon:
        arn = saved.text("cluster", "arn")
        raise Drifted(f"update {saved.id} is of {of} in {arn}", "Name that add-on, and its context.")


def sent_before(saved: SavedChange) -> tuple[Sent, WayBackText | str]:
    """The sent update, and its rollback or the reason why there is none."""
    back = saved.begun.get("wayBack", "")
    return made(Sent, saved.begun["sent"]), back if isinstance(back, str) else made(WayBackText, back)


def check_not_updated(saved: SavedChange, facts: AddonFacts) -> None:
    """Raises Drifted: another client has updated the add-on since, or given it other values, and an undo would revert
    that."""
    sent, _ = sent_before(saved)
    hint = f"Nothing was sent. See what an update does: kubectl eksdoc addon-diff {sent.addon} --to {sent.before}"
    version = facts.addon.version
    if version not in (sent.before, sent.target):
        what = f"{sent.addon} is at {version}: another client has updated it since change {saved.id} to {sent.target}"
        raise Drifted(what, hint)
    known = [each for each in (saved.begun.get("today"), sent.values) if each is not None]
    if isinstance(facts.values, Unknown):
        raise Drifted(f"whether another client gave {sent.addon} other values is not known: {facts.values}", hint)
    if known and printed(facts.values) not in known:
        what = f"{sent.addon} has other configuration values than those of change {saved.id}: another client gave them"
        raise Drifted(what, hint)


def undoing(saved: SavedChange, around: CommandContext) -> tuple[str, str, str]:
    """The add-on, its version and the file with its values before the update.

    Raises:
        LocalJournalError: nothing was sent, or the values are unknown.
    """
    path = values_file(shared.journal(saved.id, around))
    if UPDATE not in saved.past.tried:
        raise LocalJournalError(f"update {saved.id} was not started: there is nothing to revert")
    if not path.exists():
        why = saved.text("wayBack") or f"{path} is not there"
        raise LocalJournalError(f"update {saved.id} cannot be reverted: {why}", "Update the add-on by hand.")
    sent, back = sent_before(saved)
    if not isinstance(back, str) and back.by_hand:
        around.note(f"to be set by hand afterwards, as no value of that version sets them: {', '.join(back.by_hand)}")
    return sent.addon, sent.before, str(path)


def with_run(report: UpdateReport, written: ChangeJournalFile) -> UpdateReport:
    return replace(report, run=written.id, journal=str(written.path))
