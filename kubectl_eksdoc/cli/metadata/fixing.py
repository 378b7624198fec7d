"""``imds-probe --apply``: a fix is shown, typed back, read again, written down, carried out, and read once more."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, opening, options, rights
from kubectl_eksdoc.cli.confirming import NODES, confirm
from kubectl_eksdoc.cli.metadata import fix_following, undoing
from kubectl_eksdoc.cli.metadata import request as reading
from kubectl_eksdoc.cli.metadata.fix_options import FixRequest
from kubectl_eksdoc.cli.metadata.probing import Active
from kubectl_eksdoc.cli.metadata.request import Request
from kubectl_eksdoc.cli.run.allowed import check_writable
from kubectl_eksdoc.cli.streams import say
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import Drifted, Forbidden, UsageError

if TYPE_CHECKING:
    from kubectl_eksdoc.imds_probe.fixes.chooser import Chosen
    from kubectl_eksdoc.render.metadata_fix import FixView
    from kubectl_eksdoc.session.session import ClusterSession


COMMAND = f"{reading.NAME} --apply"
_PROVES_LITTLE = (
    "a dry run sends no request: whether AWS and the API server accept it is unknown (--dry-run=server asks them)"
)
_PROVES_SOME = (
    "a dry run proves that EC2 or the API server would take the call, and not that pods reach the service then"
)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What is shown of a fix. `forbidden`: why it must not be begun."""

    chosen: Chosen
    forbidden: str


def fixing(request: Request, fix: FixRequest, active: Active | None, around: Surroundings) -> Answer:
    """`active`: with which pods it is proved, None without any.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    from kubectl_eksdoc.imds_probe.read import NEEDS
    from kubectl_eksdoc.render.metadata_fix import FORMATS

    FORMATS.check(request.options.output)
    _check_source(request, fix)
    if fix.dry == "none":
        check_writable(around.environ, COMMAND, "imds-probe without --apply reads only")
    try:
        session = opening.opened(request, around, NEEDS)
        if session.login is not None:
            raise session.login
        opening.told(session, request.options, around)
        if fix.resume:
            return fix_following.resumed(request, fix, active, session, around)
        if fix.undo:
            return undoing.undone(request, fix, session, around)
        undoing.tell_open(request, session, around)
        return _fixed(request, fix, active, session, around)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error


def _check_source(request: Request, fix: FixRequest) -> None:
    source = request.source
    if source.live or (source.demo and fix.dry == "client"):
        return
    what = "--demo" if source.demo else "--snapshot"
    raise UsageError(
        f"--apply is of the live cluster: {what} does not go with it",
        "--demo --apply --fix NAME --dry-run shows what would be done on the built-in cluster."
        if source.demo
        else "Leave --apply out to see what the snapshot shows.",
    )


def _fixed(
    request: Request, fix: FixRequest, active: Active | None, session: ClusterSession, around: Surroundings
) -> Answer:
    shown = _shown(request, fix, session)
    view = _view(request, fix, shown, session)
    if fix.dry != "none":
        return _dry(request, fix, shown, view, session, around)
    say(around.stderr, f"{fix_following.preview(request, view, around)}\n")
    if shown.forbidden:
        around.note(f"nothing is done: {shown.forbidden}")
        return Answer(_as_data(request, view, around), exits.FAILS)
    from kubectl_eksdoc.render.metadata_fix.table import action, head

    act = shown.chosen.act
    around.note(f"{head(act)}:")
    confirm(session.cluster.identity, len(act.nodes), action(act), fix.given, around.ask)
    again = session.reobserve()
    now = _shown(request, fix, again)
    same_cluster = again.cluster.identity == session.cluster.identity  # a context may be chosen anew while one types
    if not same_cluster or (now.chosen.act, now.forbidden) != (act, shown.forbidden):
        raise Drifted(
            "the nodes, or what makes them, are not as they were when the fix was shown",
            "Nothing was changed. Another client changed them meanwhile: check again.",
        )
    return fix_following.carried_out(request, fix, active, again, act, view, around)


def _shown(request: Request, fix: FixRequest, session: ClusterSession) -> _Shown:
    """
    Raises:
        UsageError: there is no such fix, or not one.
    """
    from kubectl_eksdoc.imds_probe.fixes.chooser import NotChosen, chosen, forbidden, offered
    from kubectl_eksdoc.imds_probe.read import plan_imds, vpc_of

    cluster, intent = reading.scope(request).of(session.cluster), request.intent
    plan = plan_imds(session, request.hops, cluster, intent=intent)
    named = bool(request.groups or request.nodes)
    found = chosen(offered(plan, session.cluster, vpc_of(session), session.profile, named), fix.name)
    if isinstance(found, NotChosen):
        raise UsageError(found.why, found.hint)
    return _Shown(found, forbidden(found.act, plan.facts))


def _view(request: Request, fix: FixRequest, shown: _Shown, session: ClusterSession) -> FixView:
    from kubectl_eksdoc.render.metadata_fix import FixView

    chosen = shown.chosen
    given: dict[str, object] = {"apply": True, "fix": fix.name, "dry-run": "" if fix.dry == "none" else fix.dry}
    return FixView(
        chosen.name,
        chosen.act,
        session.cluster,
        request.given | {name: value for name, value in given.items() if value},
        chosen.fixes,
        tuple(line for each in chosen.fixes for line in each.back),
        forbidden=shown.forbidden,
        recognised=session.recognised,
    )


def _dry(
    request: Request, fix: FixRequest, shown: _Shown, view: FixView, session: ClusterSession, around: Surroundings
) -> Answer:
    from dataclasses import replace

    well, said = (True, ()) if fix.dry == "client" else fix_following.tried(shown.chosen.act, request, session)
    around.note(_PROVES_LITTLE if fix.dry == "client" else _PROVES_SOME)
    code = exits.FAILS if shown.forbidden or not well else exits.CLEAN
    return Answer(fix_following.rendered(request, replace(view, tried=said), around), code)


def _as_data(request: Request, view: FixView, around: Surroundings) -> str:
    """Nothing on stdout for who reads a table: it was shown on stderr."""
    return fix_following.rendered(request, view, around) if request.options.output in ("json", "yaml") else ""


# The flags of every face of ``imds-probe`` that changes something: how it is confirmed, and that it is only shown.


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Confirmation and dry run")
    options.add_confirmation(group, NODES, "exactly N nodes are tested, changed or replaced")
    options.add_dry_run(group, "show what would be done", "ask EC2 or the API server whether it would accept it")
