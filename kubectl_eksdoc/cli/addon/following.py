"""An update of an add-on that this process sends, or follows again: its journal, its edges, and its result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import applying
from kubectl_eksdoc.cli.opening import Asked
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.errors import Drifted, LocalJournalError

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.addon_diff.read import Prepared
    from kubectl_eksdoc.addon_diff.run.expectations import Expected
    from kubectl_eksdoc.changes.addon_update import AddonUpdate, Following, Ports
    from kubectl_eksdoc.changes.engine import World
    from kubectl_eksdoc.host.journals import ChangeJournalFile
    from kubectl_eksdoc.model.api_objects import Doc
    from kubectl_eksdoc.model.aws.addons import UpdateCall
    from kubectl_eksdoc.model.change_journal import SavedChange
    from kubectl_eksdoc.render.addon_update.commands import Sent, WayBackText
    from kubectl_eksdoc.render.addon_update.report import UpdateReport
    from kubectl_eksdoc.session.session import ClusterSession

_VALUES = ".values-of-before.json"


def values_file(written: ChangeJournalFile) -> Path:
    """Where the values of the rollback stand, once something is sent."""
    return written.path_beside(_VALUES)


def call_of(ready: Prepared, written: ChangeJournalFile) -> UpdateCall:
    """The values of the rollback are written beside the journal with it.

    Raises:
        JournalError: they cannot be written; nothing was sent.
    """
    from kubectl_eksdoc.model.asked import Unknown
    from kubectl_eksdoc.model.aws.addons import UpdateCall
    from kubectl_eksdoc.render.addon.commands import as_json

    if not isinstance(ready.back, Unknown):
        written.beside(_VALUES, as_json(ready.back.values) + "\n")
    facts, asked = ready.plan.facts, ready.sending.asked
    values = None if asked.values is None else as_json(asked.values)
    return UpdateCall(facts.addon.name, facts.target.version, asked.mode.value, values, f"eksdoc-{written.id}")


def begun(
    kind: str,
    call: UpdateCall,
    update: AddonUpdate,
    session: ClusterSession,
    ready: Prepared,
    report: UpdateReport,
    written: ChangeJournalFile,
    around: Surroundings,
    **more: object,
) -> Doc:
    """The first line of the journal. Values as they are stand in the file of the rollback alone."""
    from kubectl_eksdoc.addon_diff.run import targets
    from kubectl_eksdoc.addon_diff.run.expectations import to_doc
    from kubectl_eksdoc.kubernetes.keeping import printed
    from kubectl_eksdoc.render.addon.commands import as_json
    from kubectl_eksdoc.render.addon_update.report import head

    addon, back, sent = ready.plan.facts.addon, report.back, report.sent
    return applying.begun(
        kind,
        head(sent),
        written.id,
        session,
        around,
        call={
            "addon": call.addon,
            "version": call.version,
            "mode": call.mode,
            "values": None if ready.sending.asked.values is None else as_json(printed(ready.sending.asked.values)),
            "token": call.token,
        },
        before={"version": addon.version, "role": addon.role},
        keeps=list(sent.keeps),
        changes=report.changes,
        wayBack=back if isinstance(back, str) else _as_doc(back),
        expected=to_doc(update.following.expected, call.token),
        health=targets.to_doc(update.health),
        **more,
    )


def _as_doc(back: WayBackText) -> Doc:
    return {"commands": list(back.commands), "caveats": list(back.caveats), "byHand": list(back.by_hand)}


def _way_back(doc: object) -> WayBackText | str:
    """What `_as_doc` made; a text is why there is none."""
    from kubectl_eksdoc.render.addon_update.commands import WayBackText

    if not isinstance(doc, dict):
        return str(doc)
    return WayBackText(*(tuple(map(str, doc.get(key, ()))) for key in ("commands", "caveats", "byHand")))


@contextmanager
def edges(
    request: Asked,
    watch_s: float,
    session: ClusterSession,
    expected: Expected,
    written: ChangeJournalFile,
    around: Surroundings,
) -> Iterator[tuple[Following, Ports, World]]:
    """What is followed, and by which edges."""
    from kubectl_eksdoc.addon_diff.run.targets import affected
    from kubectl_eksdoc.aws.addon_updates import AddonUpdates
    from kubectl_eksdoc.aws.target_health import target_group
    from kubectl_eksdoc.changes.addon_update import Following, Ports
    from kubectl_eksdoc.wiring.changes import pods_now

    ports = Ports(
        AddonUpdates(session.believed, expected.addon),
        session.objects_now,
        lambda: pods_now(lambda: around.open_reader(request.source, request.options.connection, None)),
        lambda arn: session.require(target_group, arn),
    )
    with applying.world(written, watch_s, around) as world:
        yield Following(expected, affected(expected.addon, session.cluster)), ports, world


# An update that was sent before.


@contextmanager
def again(
    request: Asked, watch_s: float, saved: SavedChange, session: ClusterSession, around: Surroundings
) -> Iterator[tuple[AddonUpdate, World]]:
    """
    Raises:
        LocalJournalError: its journal cannot be understood, or it was never sent.
    """
    from kubectl_eksdoc.addon_diff.run import targets
    from kubectl_eksdoc.addon_diff.run.expectations import from_doc
    from kubectl_eksdoc.changes.addon_update import UPDATE, AddonUpdate

    past = saved.past
    try:
        expected, health = from_doc(saved.begun["expected"]), targets.from_doc(saved.begun.get("health", []))
    except (KeyError, TypeError, ValueError) as error:
        raise LocalJournalError(f"the journal of update {saved.id} cannot be understood: {error!r}") from error
    if UPDATE not in past.tried:
        raise LocalJournalError(
            f"update {saved.id} was not started: nothing was sent, and nothing was changed", "Start a new one."
        )
    ident = str(past.answer(UPDATE, "update") or "") or _found_again(saved, expected.addon, session)
    with edges(request, watch_s, session, expected, applying.journal(saved.id, around), around) as found:
        following, ports, world = found
        yield AddonUpdate(ident, following, ports, world, health), world


def _found_again(saved: SavedChange, addon: str, session: ClusterSession) -> str:
    """By EKS's list: the process ended, or the network did, before the answer was written down."""
    from kubectl_eksdoc.addon_diff.run.lost_answer import asked_for
    from kubectl_eksdoc.aws.eks import updates_of_addon
    from kubectl_eksdoc.model.aws.addons import Update, UpdateHistory

    history = session.require(updates_of_addon, addon)
    listed = history.updates if isinstance(history, UpdateHistory) else ()
    at = datetime.fromisoformat(saved.text("at").replace("Z", "+00:00"))
    found = asked_for(listed, saved.text("call", "version"), saved.text("call", "mode"), at)
    if isinstance(found, Update):
        return found.id
    why = getattr(history, "why", getattr(history, "said", found.why))
    raise LocalJournalError(
        f"update {saved.id} was written down, and whether EKS took it is not known: {why}",
        "Look for it yourself: aws eks list-updates, and aws eks describe-update.",
    )


def check_addon(saved: SavedChange, addon: str) -> None:
    """Raises Drifted: it is of another add-on."""
    if saved.text("call", "addon") != addon:
        raise Drifted(
            f"update {saved.id} is of {saved.text('call', 'addon')} in {saved.text('cluster', 'arn')}",
            "Name that add-on, and its context.",
        )


def sent_before(saved: SavedChange) -> tuple[Sent, WayBackText | str]:
    """What was sent, and its rollback."""
    from kubectl_eksdoc.aws.values import values_of
    from kubectl_eksdoc.render.addon_update.commands import Sent

    values = saved.begun.get("call", {}).get("values")
    sent = Sent(
        saved.text("call", "addon"),
        saved.text("before", "version"),
        saved.text("call", "version"),
        saved.text("call", "mode"),
        values_of(values) if isinstance(values, str) else None,
        tuple(map(str, saved.begun.get("keeps", ()))),
    )
    return sent, _way_back(saved.begun.get("wayBack", ""))


def undoing(saved: SavedChange, around: Surroundings) -> tuple[str, str, str]:
    """The add-on, its version and the file with its values before the update.

    Raises:
        LocalJournalError: nothing was sent, or the values are not known.
    """
    from kubectl_eksdoc.changes.addon_update import UPDATE

    path = values_file(applying.journal(saved.id, around))
    if UPDATE not in saved.past.tried:
        raise LocalJournalError(f"update {saved.id} was not started: there is nothing to revert")
    if not path.exists():
        why = saved.text("wayBack") or f"{path} is not there"
        raise LocalJournalError(f"update {saved.id} cannot be reverted: {why}", "Update the add-on by hand.")
    return saved.text("call", "addon"), saved.text("before", "version"), str(path)


def with_run(report: UpdateReport, written: ChangeJournalFile) -> UpdateReport:
    return replace(report, run=written.id, journal=str(written.path))
