"""``addon-diff --apply``: what is sent is shown, typed back, read again, written down, asked for, and followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, opening, rights
from kubectl_eksdoc.cli.addon import following
from kubectl_eksdoc.cli.addon.apply_options import Apply
from kubectl_eksdoc.cli.addon.confirming import ASKS_EKS_NOTHING, confirm, still
from kubectl_eksdoc.cli.addon.request import Request
from kubectl_eksdoc.cli.run.allowed import check_writable
from kubectl_eksdoc.cli.streams import say
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import Drifted, Forbidden, UsageError

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.addon_diff.read import Prepared
    from kubectl_eksdoc.host.journals import UpdateJournalFile
    from kubectl_eksdoc.render.addon_update import UpdateView
    from kubectl_eksdoc.session.session import ClusterSession
    from kubectl_eksdoc.wiring.runs import Keeping

COMMAND = "addon-diff --apply"


@dataclass(frozen=True, slots=True)
class _Asking:
    """Who asks for what, in which surroundings."""

    request: Request
    apply: Apply
    around: Surroundings

    @property
    def output(self) -> str:
        return self.request.options.output

    def reached_by(self, session: ClusterSession) -> tuple[str, ...]:
        if self.request.source.demo:
            return ("--demo", "--dry-run")  # nothing of it can be changed
        return opening.with_aws(self.request.source, self.request.options, session.cluster.identity.context)


def applying(request: Request, apply: Apply, around: Surroundings) -> Answer:
    """
    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    from kubectl_eksdoc.render.addon_update import FORMATS

    FORMATS.check(request.options.output)
    _check_source(request, apply)
    if not (apply.dry or apply.resume):
        check_writable(around.environ, COMMAND, "addon-diff without --apply reads only")
    asking = _Asking(request, apply, around)
    try:
        session = _opened(asking)
        if apply.resume:
            return following.resumed(request, apply, session, asking.reached_by(session), around)
        return _applied(asking, session)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error


def _check_source(request: Request, apply: Apply) -> None:
    source = request.source
    if source.live or (source.demo and apply.dry):
        return
    what = "--demo" if source.demo else "--snapshot"
    raise UsageError(
        f"--apply is of the live cluster: {what} does not go with it",
        "--demo --apply --dry-run shows what would be sent for the built-in cluster."
        if source.demo
        else "Leave --apply out to see what the snapshot shows.",
    )


def _opened(asking: _Asking) -> ClusterSession:
    from kubectl_eksdoc.addon_diff.read import NEEDS

    session = opening.opened(asking.request, asking.around, NEEDS)
    opening.told(session, asking.request.options, asking.around)
    return session


def _applied(asking: _Asking, session: ClusterSession) -> Answer:
    from kubectl_eksdoc.addon_diff.run.guards import acknowledgement, is_nothing, to_acknowledge
    from kubectl_eksdoc.host.journals import UPDATES
    from kubectl_eksdoc.wiring.changes import journal_of

    around, apply = asking.around, asking.apply
    ready = _prepared(asking, session)
    keeping = around.edges.keeping(around.edges.new_run_id(around.now()), "", around.environ)
    journal = None if apply.dry else journal_of(keeping, UPDATES)
    view = _view(asking, session, ready, journal, keeping)
    if apply.dry:
        around.note(ASKS_EKS_NOTHING)
        return Answer(_rendered(asking, view), _dry_code(ready))
    say(around.stderr, f"{_preview(asking, view)}\n")
    if is_nothing(ready.plan):
        around.note("nothing is sent: neither version nor values are others, and nothing would change")
        return Answer(_as_data(asking, view))
    if ready.guards:
        around.note(f"nothing is sent: {'; '.join(guard.why for guard in ready.guards)}")
        return Answer(_as_data(asking, view), exits.FAILS)
    weighty = to_acknowledge(ready.plan)
    confirm(session.believed.cluster.name, acknowledgement(ready.plan), view.changes, weighty, apply, around.ask)
    again = session.reobserve()
    _check_same(session, ready, again, _prepared(asking, again))
    assert journal is not None, "it is no dry run"
    words = asking.reached_by(session)
    return following.carried_out(asking.request, apply, again, ready, view, (keeping, journal), words, around)


def _prepared(asking: _Asking, session: ClusterSession) -> Prepared:
    from kubectl_eksdoc.addon_diff.facts import Asked
    from kubectl_eksdoc.addon_diff.modes import Mode
    from kubectl_eksdoc.addon_diff.read import prepared, side_of

    request = asking.request
    values = None if request.values is None else asking.around.read_values(request.values)
    side = side_of(session, request.addon, request.to)
    return prepared(session, side, Asked(Mode(request.mode), values), asking.apply.as_asked)


def _check_same(then: ClusterSession, shown: Prepared, again: ClusterSession, now: Prepared) -> None:
    if then.believed.cluster.arn != again.believed.cluster.arn or shown.same != now.same:
        raise Drifted(
            "the add-on is not as it was when the plan was shown",
            ("Nothing was sent. Another client changed it, its values or its fields meanwhile: check again."),
        )


def _view(
    asking: _Asking, session: ClusterSession, ready: Prepared, journal: UpdateJournalFile | None, keeping: Keeping
) -> UpdateView:
    from kubectl_eksdoc.addon_diff.judging import calls
    from kubectl_eksdoc.addon_diff.run.guards import changing, to_acknowledge
    from kubectl_eksdoc.render.addon_update import Sent, UpdateView
    from kubectl_eksdoc.render.addon_update.commands import way_back_text

    facts, what = ready.plan.facts, ready.sending
    file = "" if journal is None else str(following.values_file(journal))
    sent = Sent(
        facts.addon.name,
        facts.addon.version,
        facts.target.version,
        what.asked.mode.value,
        what.asked.values,
        tuple(calls(change.field) for change in what.keeps),
    )
    return UpdateView(
        sent,
        session.cluster,
        _given(asking),
        ready.plan,
        len(changing(ready.plan)),
        ready.guards,
        tuple(still(to_acknowledge(ready.plan), asking.apply.accepted)),
        way_back_text(
            ready.back, session.believed.cluster.name, session.believed.cluster.region, file, asking.reached_by(session)
        ),
        run="" if journal is None else keeping.run,
        recognised=session.recognised,
    )


def _given(asking: _Asking) -> dict[str, object]:
    apply = asking.apply
    said: dict[str, object] = {
        "apply": True,
        "dry-run": apply.dry,
        "as-asked": apply.as_asked,
        "accept-unknown": list(apply.accepted),
    }
    return asking.request.given | {name: value for name, value in said.items() if value}


def _rendered(asking: _Asking, view: UpdateView) -> str:
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.render.addon_update import FORMATS

    around = asking.around
    look = looks.decide(asking.request.options, around.stdout, around.environ)
    return FORMATS.render(view, asking.output, look)


def _as_data(asking: _Asking, view: UpdateView) -> str:
    """Nothing on stdout for who reads a table: it was shown on stderr."""
    return _rendered(asking, view) if asking.output in ("json", "yaml") else ""


def _preview(asking: _Asking, view: UpdateView) -> str:
    """Before anything is asked; it is no answer, so it goes to stderr."""
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.render.addon_update import FORMATS

    around = asking.around
    look = looks.decide(asking.request.options, around.stderr, around.environ)
    return FORMATS.render(view, "wide" if asking.output == "wide" else "table", look)


def _dry_code(ready: Prepared) -> int:
    from kubectl_eksdoc.cli.addon.forecast import code

    return exits.FAILS if ready.guards else code((ready.plan,))
