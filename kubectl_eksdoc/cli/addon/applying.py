"""``addon-diff --apply``: what is sent is shown, typed back, read again, written down, sent, and followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.addon_diff.guards import acknowledgement, changing, is_nothing, to_acknowledge
from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.addon_diff.outcome import AddonUpdateResult, expected_of
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode
from kubectl_eksdoc.addon_diff.read import NEEDS, PreparedAddonUpdate, prepared, side_of
from kubectl_eksdoc.changes.addon_update import AddonUpdate
from kubectl_eksdoc.cli import applying as shared
from kubectl_eksdoc.cli import exits, opening
from kubectl_eksdoc.cli.addon import following
from kubectl_eksdoc.cli.addon.apply_options import Apply
from kubectl_eksdoc.cli.addon.forecast import code
from kubectl_eksdoc.cli.addon.request import AddonDiffRequest
from kubectl_eksdoc.cli.applying import Again, Proposal, applying_to
from kubectl_eksdoc.cli.confirming import (
    Ask,
    ConfirmationFlags,
    CountedThing,
    as_expected,
    check_writable,
    explained,
    typed_back,
)
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext, read_values
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.host.journals import ChangeJournalFile
from kubectl_eksdoc.model.change_journal import ADDON_UPDATE, DNS_CHANGE
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.render.addon_update import Sent, UpdateReport, look_again, way_back_text
from kubectl_eksdoc.session.session import ClusterSession

# What must be typed before EKS is asked for an update: the cluster and how many fields change; and what weighs most.
#
# As with runs: `--yes` stands for the first only together with the expectation. What is critical, or taken away as a
# whole, is typed back by add-on and version whatever `--yes` says; what is unknown, unless `--accept-unknown` names it.


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
    """`acknowledgement`: the add-on and its target, as they are typed back. `accepted`: codes of what may be unknown.

    Raises:
        Drifted: the expectation is wrong; nothing was done.
        UsageError: what was typed is something else, or nobody can be asked.
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
    """Those that are not accepted beforehand: only what is unknown can be."""
    return [each for each in weighty if each.status is not Status.UNKNOWN or each.code.name not in accepted]


COMMAND = "addon-diff --apply"
_DRIFTED = "the add-on is not as it was when the plan was shown"
_DEMO = "--demo --apply --dry-run shows what would be sent for the built-in cluster."


@frozen
class _Asking:
    """Who asks for what, in which surroundings."""

    request: AddonDiffRequest
    apply: Apply
    around: CommandContext

    def reach(self, session: ClusterSession) -> CommandTarget:
        return replace(opening.reach(self.around, session), ours=applying_to(self.around, session))


def applying(request: AddonDiffRequest, apply: Apply, around: CommandContext) -> CommandAnswer:
    """
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
    """As `applying`."""
    saved = change.saved
    if not change.undo:
        request = AddonDiffRequest(saved.text("sent", "addon"), "", "NONE", None)
        return applying(request, Apply(resume=saved.id), around)
    addon, version, values = following.undoing(saved, around)
    return applying(AddonDiffRequest(addon, version, "NONE", values), Apply(undo=saved.id), around)


def _applied(asking: _Asking, session: ClusterSession) -> CommandAnswer:
    around = asking.around
    written, ready = shared.new_journal(around), _prepared(asking, session)
    if asking.apply.undo:
        undone = shared.saved(asking.apply.undo, (ADDON_UPDATE, DNS_CHANGE), session, around)
        following.check_not_updated(undone, ready.plan.facts)
    report = _report(asking, session, ready, written)
    if asking.apply.dry:
        around.note(ASKS_EKS_NOTHING)
        failing = exits.FAILS if ready.guards else code((ready.plan,), asking.apply.accepted)
        return opening.answer(report, around, failing)
    proposal = _proposal(asking, session, ready, report)
    found = shared.confirmed(proposal, lambda now: _prepared(asking, now).same, session, _DRIFTED, around)
    return found if isinstance(found, CommandAnswer) else _carried_out(asking, found, ready, report, written)


def _prepared(asking: _Asking, session: ClusterSession) -> PreparedAddonUpdate:
    request = asking.request
    values = None if request.values is None else read_values(request.values)
    side = side_of(session, request.addon, request.to)
    return prepared(session, side, AddonUpdateRequest(Mode(request.mode), values), asking.apply.as_asked)


def _proposal(asking: _Asking, session: ClusterSession, ready: PreparedAddonUpdate, report: UpdateReport) -> Proposal:
    refused = None
    if is_nothing(ready.plan):
        refused = "nothing is sent: neither version nor values are others, and nothing would change", exits.CLEAN
    elif ready.guards:
        refused = f"nothing is sent: {'; '.join(guard.why for guard in ready.guards)}", exits.FAILS
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
    return Proposal(report, ready.same, typed, refused)


def _report(
    asking: _Asking, session: ClusterSession, ready: PreparedAddonUpdate, written: ChangeJournalFile
) -> UpdateReport:
    facts, what, apply, eks = ready.plan.facts, ready.sending, asking.apply, session.believed.cluster
    file = "" if apply.dry else str(following.values_file(written))
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
        options=asking.request.given | {name: value for name, value in flags.items() if value},
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
    """
    Raises:
        JournalError: it cannot be written down; nothing was sent.
        AwsError: EKS does not take it.
    """
    apply, around = asking.apply, asking.around
    call, expected = following.call_of(ready, written), expected_of(ready.plan, ready.sending.keeps)
    with shared.world(written, apply.watch_s, around) as world:
        what, ports = following.edges(session, expected, around)
        update = AddonUpdate(call, what, ports, world, what.before(ports))
        said = report.sent, report.changes, report.back
        today = ready.plan.facts.values
        first = following.begun(ADDON_UPDATE, update, call, *said, today, session, written, around)
        around.note("from here on EKS does it: Ctrl-C stops only that it is followed")
        ended = shared.carried(update, first, world, written, around, apply.undo)
    return _answer(asking, session, replace(report, journal=str(written.path)), ended)


def _resumed(asking: _Asking, session: ClusterSession) -> CommandAnswer:
    """An update that was sent before.

    Raises:
        LocalJournalError: this machine has no journal of it, or it was never sent.
        Drifted: it is of another cluster or add-on.
    """
    request, apply, around = asking.request, asking.apply, asking.around
    saved = shared.saved(apply.resume, (ADDON_UPDATE,), session, around)
    following.check_addon(saved, request.addon)
    written = shared.journal(saved.id, around)
    with shared.world(written, apply.watch_s, around) as world:
        ended = shared.continued(following.again(saved, session, world, around), saved, world, around)
    sent, back = following.sent_before(saved)
    options = request.given | {"apply": True, "resume": saved.id}
    changes = saved.begun.get("changes", 0)
    report = UpdateReport(
        sent, session.cluster, options=options, changes=changes, back=back, recognised=session.recognised
    )
    return _answer(asking, session, following.with_run(report, written), ended)


def _answer(asking: _Asking, session: ClusterSession, report: UpdateReport, ended: AddonUpdateResult) -> CommandAnswer:
    around, eks = asking.around, session.believed.cluster
    if not ended.stage.ended or ended.left:
        around.note("look again:")
        reach = asking.reach(session)
        for line in look_again(asking.request.addon, report.run, ended.id, eks.name, eks.region, reach):
            around.note(f"  {line}")
    done = replace(report, ended=ended)
    return opening.answer(done, around, shared.code(ended))
