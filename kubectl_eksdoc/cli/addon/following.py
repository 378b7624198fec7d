"""An update of an add-on that this process sends, or follows again: its journal, its edges, and its result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kubectl_eksdoc.addon_diff.outcome import ExpectedUpdate, Health, affected, asked_for, from_doc, to_doc
from kubectl_eksdoc.addon_diff.prediction import AddonFacts
from kubectl_eksdoc.addon_diff.read import PreparedAddonUpdate
from kubectl_eksdoc.aws.eks import AddonUpdates, target_group, updates_of_addon
from kubectl_eksdoc.changes.addon_update import UPDATE, AddonUpdate, Following, Ports
from kubectl_eksdoc.changes.engine import World
from kubectl_eksdoc.cli import applying
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.errors import Drifted, LocalJournalError
from kubectl_eksdoc.host.journals import ChangeJournalFile
from kubectl_eksdoc.kubernetes.keeping import printed
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateCall, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import SavedChange
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import made, told_of
from kubectl_eksdoc.render.addon.update import as_json
from kubectl_eksdoc.render.addon_update import Sent, UpdateReport, WayBackText, head
from kubectl_eksdoc.session.session import ClusterSession
from kubectl_eksdoc.wiring.changes import pods_now

_VALUES = ".values-of-before.json"


def values_file(written: ChangeJournalFile) -> Path:
    """Where the values of the rollback stand, once something is sent."""
    return written.path_beside(_VALUES)


def call_of(ready: PreparedAddonUpdate, written: ChangeJournalFile) -> UpdateCall:
    """The values of the rollback are written beside the journal with it.

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
    """The first line of the journal. Values as they are stand in the file of the rollback alone."""
    told = told_of(replace(sent, values=printed(sent.values)))
    known = None if isinstance(today, Unknown) else printed(today)
    rest = {"sent": told, "changes": changes, "wayBack": told_of(back), "today": known}
    expected, health = to_doc(update.following.expected, call.token), told_of(update.health)
    return applying.begun(
        kind, head(sent), written.id, session, around, **rest, expected=expected, health=health, **more
    )


def edges(session: ClusterSession, expected: ExpectedUpdate, around: CommandContext) -> tuple[Following, Ports]:
    """What is followed, and by which edges."""
    ports = Ports(
        AddonUpdates(session.believed, expected.addon),
        session.objects_now,
        lambda: pods_now(around.reader),
        lambda arn: session.require(target_group, arn),
    )
    return Following(expected, affected(expected.addon, session.cluster)), ports


# An update that was sent before.


def again(saved: SavedChange, session: ClusterSession, world: World, around: CommandContext) -> AddonUpdate:
    """
    Raises:
        LocalJournalError: its journal cannot be understood, or it was never sent.
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
    """By EKS's list: the process ended, or the network did, before the answer was written down."""
    history = session.require(updates_of_addon, addon)
    listed = history.updates if isinstance(history, UpdateHistory) else ()
    at = applying.begun_at(saved)
    found = asked_for(listed, saved.text("sent", "target"), saved.text("sent", "mode"), at)
    if isinstance(found, EksAddonUpdate):
        return found.id
    why = getattr(history, "why", getattr(history, "said", found.why))
    raise LocalJournalError(
        f"update {saved.id} was written down, and whether EKS took it is not known: {why}",
        "Look for it yourself: aws eks list-updates, and aws eks describe-update.",
    )


def check_addon(saved: SavedChange, addon: str) -> None:
    """Raises Drifted: it is of another add-on."""
    of = saved.text("sent", "addon")
    if of != addon:
        arn = saved.text("cluster", "arn")
        raise Drifted(f"update {saved.id} is of {of} in {arn}", "Name that add-on, and its context.")


def sent_before(saved: SavedChange) -> tuple[Sent, WayBackText | str]:
    """What was sent, and its rollback, or why there is none."""
    back = saved.begun.get("wayBack", "")
    return made(Sent, saved.begun["sent"]), back if isinstance(back, str) else made(WayBackText, back)


def check_not_updated(saved: SavedChange, facts: AddonFacts) -> None:
    """Raises Drifted: another client has updated the add-on since, or given it other values, and an undo would revert
    that, too."""
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
        LocalJournalError: nothing was sent, or the values are not known.
    """
    path = values_file(applying.journal(saved.id, around))
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
