"""An update that this process asks for, or looks at again: written down, followed, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import exits
from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli.addon.apply_options import Apply
from kubectl_eksdoc.cli.addon.request import Request
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import Drifted, LocalJournalError

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.addon_diff.read import Prepared
    from kubectl_eksdoc.addon_diff.run.ended import Ended
    from kubectl_eksdoc.addon_diff.run.expectations import Expected
    from kubectl_eksdoc.addon_diff.run.targets import Health
    from kubectl_eksdoc.flows.addon_update import Following, World
    from kubectl_eksdoc.host.journals import UpdateJournalFile
    from kubectl_eksdoc.model.api_objects import Doc
    from kubectl_eksdoc.model.aws.addons import UpdateCall
    from kubectl_eksdoc.render.addon_update import UpdateView, WayBackText
    from kubectl_eksdoc.session.session import ClusterSession
    from kubectl_eksdoc.wiring.runs import Keeping

_VALUES = ".values-of-before.json"


def values_file(journal: UpdateJournalFile) -> Path:
    """Where the values of the way back stand, once something is sent."""
    return journal.path.with_name(journal.path.name.removesuffix(".jsonl") + _VALUES)


def carried_out(
    request: Request,
    apply: Apply,
    session: ClusterSession,
    ready: Prepared,
    view: UpdateView,
    written: tuple[Keeping, UpdateJournalFile],
    reached_by: Sequence[str],
    around: Surroundings,
) -> Answer:
    """As `carry`."""
    done, ended = carry(request, apply, session, ready, view, written, around)
    return _answer(request, session, done, ended, reached_by, around)


def carry(
    request: Request,
    apply: Apply,
    session: ClusterSession,
    ready: Prepared,
    view: UpdateView,
    written: tuple[Keeping, UpdateJournalFile],
    around: Surroundings,
    more: Doc | None = None,
) -> tuple[UpdateView, Ended]:
    """`more`: what else somebody needs of it who looks at the journal later.

    Raises:
        JournalError: it cannot be written down; nothing was sent.
        AwsError: EKS does not take it.
    """
    from kubectl_eksdoc.addon_diff.run.expectations import expected_of
    from kubectl_eksdoc.flows.addon_update import carry_out
    from kubectl_eksdoc.model.asked import Unknown
    from kubectl_eksdoc.render.addon.commands import as_json

    keeping, journal = written
    if not isinstance(ready.back, Unknown):
        journal.beside(_VALUES, as_json(ready.back.values) + "\n")
    call = _call(ready, keeping)
    begun = _begun(call, session, ready, keeping, view, around) | (more or {})
    expected = expected_of(ready.plan, ready.sending.keeps)
    with _followed(request, apply, session, expected, journal, around) as (what, edges):
        around.note(f"run {keeping.run}, journal {journal.path}")
        around.note("from here on EKS does it: Ctrl-C stops only that it is followed")
        ended = carry_out(call, begun, what, edges)
    return replace(view, ended=ended, journal=str(journal.path)), ended


def _call(ready: Prepared, keeping: Keeping) -> UpdateCall:
    from kubectl_eksdoc.model.aws.addons import UpdateCall
    from kubectl_eksdoc.render.addon.commands import as_json

    facts, asked = ready.plan.facts, ready.sending.asked
    values = None if asked.values is None else as_json(asked.values)
    return UpdateCall(facts.addon.name, facts.target.version, asked.mode.value, values, f"eksdoc-{keeping.run}")


def _begun(
    call: UpdateCall, session: ClusterSession, ready: Prepared, keeping: Keeping, view: UpdateView, around: Surroundings
) -> Doc:
    """The first line of the journal: what somebody else needs who looks at it later. Values as they are stand in the
    file of the way back alone."""
    from kubectl_eksdoc.kubernetes.keeping import printed
    from kubectl_eksdoc.render.addon.commands import as_json
    from kubectl_eksdoc.render.text import rfc3339

    addon, eks, back = ready.plan.facts.addon, session.believed.cluster, view.back
    return {
        "run": keeping.run,
        "at": rfc3339(around.now()),
        "tool": __version__,
        "who": f"{keeping.who}@{keeping.host}",
        "cluster": {"name": eks.name, "arn": eks.arn, "context": session.cluster.identity.context},
        "call": {
            "addon": call.addon,
            "version": call.version,
            "mode": call.mode,
            "values": None if ready.sending.asked.values is None else as_json(printed(ready.sending.asked.values)),
            "token": call.token,
        },
        "before": {"version": addon.version, "role": addon.role},
        "keeps": list(view.sent.keeps),
        "changes": view.changes,
        "wayBack": back if isinstance(back, str) else _as_doc(back),
    }


def _as_doc(back: WayBackText) -> Doc:
    return {"commands": list(back.commands), "caveats": list(back.caveats), "byHand": list(back.by_hand)}


def _way_back(doc: object) -> WayBackText | str:
    """What `_as_doc` made; a text is why there is none."""
    from kubectl_eksdoc.render.addon_update import WayBackText

    if not isinstance(doc, dict):
        return str(doc)
    return WayBackText(*(tuple(map(str, doc.get(key, ()))) for key in ("commands", "caveats", "byHand")))


@contextmanager
def _followed(
    request: Request,
    apply: Apply,
    session: ClusterSession,
    expected: Expected,
    journal: UpdateJournalFile,
    around: Surroundings,
) -> Iterator[tuple[Following, World]]:
    """What is followed, and by which edges, while the process takes Ctrl-C as a word to stop following."""
    from kubectl_eksdoc.addon_diff.run.targets import affected
    from kubectl_eksdoc.aws.addon_updates import AddonUpdates
    from kubectl_eksdoc.aws.target_health import target_group
    from kubectl_eksdoc.flows.addon_update import Following, World
    from kubectl_eksdoc.wiring.changes import pods_now

    with around.edges.told_to_stop() as told:
        edges = World(
            AddonUpdates(session.believed, request.addon),
            session.objects_now,
            journal,
            around.edges.clock,
            around.sleep,
            told,
            lambda line: around.note(f"{around.now():%H:%M:%S}Z  {line}"),
            lambda: pods_now(lambda: around.open_reader(request.source, request.options.connection, None)),
            lambda arn: session.require(target_group, arn),
        )
        try:
            yield Following(expected, affected(request.addon, session.cluster), apply.watch_s), edges
        except KeyboardInterrupt:
            if journal.path.exists():  # it is written down before it is asked for
                around.note(f"the update continues in EKS; its journal is {journal.path}")
            raise


def resumed(
    request: Request, apply: Apply, session: ClusterSession, reached_by: Sequence[str], around: Surroundings
) -> Answer:
    """As `look_again`."""
    view, ended, _ = look_again(request, apply, session, around)
    return _answer(request, session, view, ended, reached_by, around)


def look_again(
    request: Request, apply: Apply, session: ClusterSession, around: Surroundings
) -> tuple[UpdateView, Ended, Doc]:
    """An update that was asked for before, and the first entry of its journal.

    Raises:
        LocalJournalError: this machine has no journal of it, or it was never asked for.
        Drifted: it is of another cluster or add-on.
    """
    from kubectl_eksdoc.flows.addon_update import follow
    from kubectl_eksdoc.host.journals import UPDATES
    from kubectl_eksdoc.wiring.changes import journal_of

    keeping = around.edges.keeping(apply.resume, "", around.environ)
    begun, ident, expected, health = _read(keeping, request, session)
    journal = journal_of(keeping, UPDATES)
    with _followed(request, apply, session, expected, journal, around) as (what, edges):
        ended = follow(ident, what, edges, health)
    view = replace(_view_again(request, session, begun), ended=ended, journal=str(journal.path), run=keeping.run)
    return view, ended, begun


def _read(keeping: Keeping, request: Request, session: ClusterSession) -> tuple[Doc, str, Expected, dict[str, Health]]:
    from kubectl_eksdoc.addon_diff.run import targets
    from kubectl_eksdoc.addon_diff.run.expectations import from_doc
    from kubectl_eksdoc.host.journals import UPDATES, read_update
    from kubectl_eksdoc.wiring.changes import folder_of

    entries = read_update(folder_of(keeping, UPDATES), keeping.run)
    begun = next((each for each in entries if each.get("entry") == "begun"), {})
    ident = next((str(each.get("update", "")) for each in entries if each.get("entry") == "asked"), "")
    try:
        expected = from_doc(begun["expected"])
        health = targets.from_doc(begun.get("health", []))
        arn = str(begun["cluster"]["arn"])
    except (KeyError, TypeError, ValueError) as error:
        raise LocalJournalError(f"the journal of update {keeping.run} cannot be understood: {error!r}") from error
    if arn != session.believed.cluster.arn or expected.addon != request.addon:
        raise Drifted(f"update {keeping.run} is of {expected.addon} in {arn}", "Name that add-on, and its context.")
    return begun, ident or _found_again(keeping.run, begun, request, session), expected, health


def _found_again(run: str, begun: Doc, request: Request, session: ClusterSession) -> str:
    """By EKS's list: the process ended, or the network did, before the answer was written down."""
    from kubectl_eksdoc.addon_diff.run.lost_answer import asked_for
    from kubectl_eksdoc.aws.eks import updates_of_addon
    from kubectl_eksdoc.model.aws.addons import Update, UpdateHistory

    history, call = session.require(updates_of_addon, request.addon), begun.get("call", {})
    listed = history.updates if isinstance(history, UpdateHistory) else ()
    at = datetime.fromisoformat(str(begun["at"]).replace("Z", "+00:00"))
    found = asked_for(listed, str(call.get("version", "")), str(call.get("mode", "")), at)
    if isinstance(found, Update):
        return found.id
    why = getattr(history, "why", getattr(history, "said", found.why))
    raise LocalJournalError(
        f"update {run} was written down, and whether EKS took it is not known: {why}",
        "Look for it yourself: aws eks list-updates, and aws eks describe-update.",
    )


def _view_again(request: Request, session: ClusterSession, begun: Doc) -> UpdateView:
    from kubectl_eksdoc.render.addon_update import Sent, UpdateView

    call = begun.get("call", {})
    sent = Sent(
        request.addon,
        str(begun.get("before", {}).get("version", "")),
        str(call.get("version", "")),
        str(call.get("mode", "")),
        _decoded(call.get("values")),
        tuple(map(str, begun.get("keeps", ()))),
    )
    text = _way_back(begun.get("wayBack", ""))
    changes = begun.get("changes", 0)
    options = request.given | {"apply": True, "resume": str(begun.get("run", ""))}
    return UpdateView(sent, session.cluster, options, changes=changes, back=text, recognised=session.recognised)


def _decoded(values: object) -> Doc | None:
    from kubectl_eksdoc.aws.values import values_of

    return values_of(values) if isinstance(values, str) else None


def _answer(
    request: Request,
    session: ClusterSession,
    view: UpdateView,
    ended: Ended,
    reached_by: Sequence[str],
    around: Surroundings,
) -> Answer:
    from kubectl_eksdoc.render.addon_update import FORMATS
    from kubectl_eksdoc.render.addon_update.commands import look_again

    options = request.options
    if not ended.stage.ended or ended.left:
        eks = session.believed.cluster
        around.note("look again:")
        for line in look_again(request.addon, view.run, ended.id, eks.name, eks.region, reached_by):
            around.note(f"  {line}")
    look = looks.decide(options, around.stdout, around.environ)
    return Answer(FORMATS.render(view, options.output, look), code(ended))


def code(ended: Ended) -> int:
    """What failed or goes on was not brought to its end; then what is known to differ matters more than what is not
    known."""
    if not ended.whole:
        return exits.STOPPED
    if ended.differs:
        return exits.FAILS
    return exits.UNKNOWN if ended.lacks else exits.CLEAN
