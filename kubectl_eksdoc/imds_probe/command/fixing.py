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
from kubectl_eksdoc.changes.applying import Again, Proposal
from kubectl_eksdoc.changes.engine import Kind, World
from kubectl_eksdoc.cli import opening, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import ConfirmationFlags, check_writable, confirm, non_empty
from kubectl_eksdoc.errors import AwsError, ClusterError, LocalJournalError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.change_journal import METADATA_FIX, Became, Part, Past, SavedChange
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import Instance
from kubectl_eksdoc.model.metadata import Act, OnClass, OnInstances, OnTemplate
from kubectl_eksdoc.probes.command import ClockAround
from kubectl_eksdoc.session.session import ClusterSession
from kubectl_eksdoc.wiring.runs import node_classes_of

from ..apply import Ports, fix_of, proofs, tried
from ..fix_choice import chosen, forbidden, offered
from ..read import NEEDS, plan_imds, vpc_of
from ..report.fix import FixReport, action, head
from ..run import (
    FixDone,
    class_reverting,
    from_doc,
    group_reverting,
    of_group,
    of_instance,
    reverting,
    to_doc,
)
from ..sources import instance_of, nodes_of_class
from . import request as reading
from .probing import manner_of
from .request import WATCH_FOR_S, Active, FixRequest, ImdsProbeRequest

COMMAND = f"{reading.NAME} --apply"
_PROVES_LITTLE = (
    "a dry run sends no request: whether AWS and the API server accept it is unknown (--dry-run=server asks them)"
)
_PROVES_SOME = (
    "a dry run proves that EC2 or the API server would take the call, and not that pods reach the service then"
)
_DRIFTED = "the nodes, or what makes them, are not as they were when the fix was shown"
_DEMO = "--demo --apply --fix NAME --dry-run shows what would be done on the built-in cluster."


@frozen
class _Fixing:
    """One run of ``imds-probe --apply``. `active`: settings of the test pods, None without any."""

    request: ImdsProbeRequest
    fix: FixRequest
    active: Active | None
    around: CommandContext


def fixing(request: ImdsProbeRequest, fix: FixRequest, active: Active | None, around: CommandContext) -> CommandAnswer:
    """Apply a fix, or resume or undo one.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    FixReport.check(around.options.output)
    applying.check_live(around, fix.dry == "client", _DEMO)
    if not fix.dry:
        check_writable(around.environ, COMMAND, "imds-probe without --apply reads only")
    asking = _Fixing(request, fix, active, around)
    with opening.explaining(COMMAND):
        session = opening.opened(around, NEEDS)
        if session.login is not None:
            raise session.login
        opening.told(session, around)
        if fix.resume:
            return _resumed(asking, session)
        if fix.undo:
            return _undone(asking, session)
        reading.tell_open(session, around)
        report = _shown(asking, session)
        if asking.fix.dry:
            return _dry(asking, report, session)
        refused = (f"nothing is done: {report.forbidden}", streams.FAILS) if report.forbidden else None
        confirming = partial(_confirm, asking, session, report.act)
        proposal = Proposal(report, (report.act, report.forbidden), confirming, refused)

        def same(now: ClusterSession) -> object:
            again = _shown(asking, now)
            return again.act, again.forbidden

        found = applying.confirmed(proposal, same, session, _DRIFTED, asking.around)
        return found if isinstance(found, CommandAnswer) else _carried_out(asking, found, report)


def again(change: Again, around: CommandContext) -> CommandAnswer:
    """Resume or undo a saved change. Raises as `apply_fix`."""
    ids = {"undo" if change.undo else "resume": change.id}
    fix = FixRequest("", "none", ConfirmationFlags(), WATCH_FOR_S, **ids)
    return fixing(ImdsProbeRequest(), fix, None, around)


# A new fix.


def _shown(asking: _Fixing, session: ClusterSession) -> FixReport:
    """Plan the fix for its preview.

    Raises:
        UsageError: there is no such fix, or several.
    """
    request, around = asking.request, asking.around
    cluster, intent = reading.scope(request, around).of(session.cluster), request.intent
    plan = plan_imds(session, request.hops, cluster, intent=intent)
    named = bool(request.groups or request.nodes)
    kubectl = opening.for_kubectl(around, session)
    found = chosen(offered(plan, session.cluster, vpc_of(session), session.profile, named, kubectl), asking.fix.name)
    given = {"apply": True, "fix": asking.fix.name, "dry-run": asking.fix.dry}
    return FixReport(
        asking.fix.name,
        found.act,
        session.cluster,
        found.fixes,
        tuple(line for each in found.fixes for line in each.back),
        options=request.given | non_empty(given),
        forbidden=forbidden(found.act, plan.facts),
        recognised=session.recognised,
    )


def _confirm(asking: _Fixing, session: ClusterSession, act: Act, more: str = "") -> None:
    asking.around.note(f"{head(act)}{more}:")
    confirm(session.cluster.identity, len(act.nodes), action(act), asking.fix.given, asking.around.ask)


def _dry(asking: _Fixing, report: FixReport, session: ClusterSession) -> CommandAnswer:
    client = asking.fix.dry == "client"
    well, said = True, ()  # type: bool, tuple[str, ...]
    if not client:
        with closing(node_classes_of(asking.around.connection)) as classes:
            well, said = tried(report.act, "eksdoc-dry-run", MetadataChanges(session.believed), classes)
    asking.around.note(_PROVES_LITTLE if client else _PROVES_SOME)
    code = streams.FAILS if report.forbidden or not well else streams.CLEAN
    return opening.answer(replace(report, tried=said), asking.around, code)


# The fix is applied.


def _carried_out(asking: _Fixing, session: ClusterSession, report: FixReport) -> CommandAnswer:
    written, act = applying.new_journal(asking.around), report.act
    token = f"eksdoc-{written.id}"  # lets EC2 and EKS recognize a repeated request
    begun = applying.begun(
        METADATA_FIX,
        head(act),
        written.id,
        session,
        asking.around,
        fix=report.name,
        wayBack=list(report.back),
        token=token,
        act=to_doc(act),
    )
    report = replace(report, run=written.id, journal=str(written.path))
    with _edges(asking, session, act, token, written.id) as (kind, world):
        try:
            done = applying.carried(kind, begun, world, written, asking.around, report.undoes)
        except (AwsError, ClusterError):
            _tell_resume(asking, session, written.id)
            raise
    return _answer(asking, session, replace(report, done=done), done)


@contextmanager
def _edges(
    asking: _Fixing, session: ClusterSession, act: Act, token: str, ident: str
) -> Iterator[tuple[Kind[FixDone], World]]:
    around, active, written = asking.around, asking.active, applying.journal(ident, asking.around)
    with (
        applying.world(written, asking.fix.watch_s, around) as world,
        closing(node_classes_of(around.connection)) as classes,
    ):
        ports = Ports(
            MetadataChanges(session.believed),
            classes,
            partial(_members, asking, session),
            None if active is None else lambda nodes: _proofs(asking, nodes, active, world),
        )
        yield fix_of(act, token, ports, world), world


def _proofs(asking: _Fixing, names: Sequence[str], active: Active, world: World) -> tuple[Part, ...]:
    around, manner = asking.around, manner_of(asking.request, active, asking.around)
    ground = around.edges.open_ground(around.connection, manner.namespace)
    cluster = around.reader().read((kinds.NODES,))
    nodes = [node for node in cluster.nodes if node.name in names]
    return proofs(nodes, ground, around.edges.new_probe_id(), manner, active.every, ClockAround(around), world)


def _members(
    asking: _Fixing, session: ClusterSession, group: str
) -> Mapping[str, Instance | Absent | Unknown] | Unknown:
    """The current nodes of a group, each with its instance."""
    try:
        cluster = asking.around.reader().read((kinds.NODES,))
    except ClusterError as error:
        return Unknown(error.message)
    ids = {node.name: instance_of(node) for node in cluster.nodes if node.group == group}
    told = MetadataChanges(session.believed).instances([ident for ident in ids.values() if ident])
    unnamed = Unknown("its providerID names no instance")
    return {name: told.get(ident, unnamed) for name, ident in ids.items()}


def _answer(asking: _Fixing, session: ClusterSession, report: FixReport, done: FixDone) -> CommandAnswer:
    if not done.whole and report.run:
        _tell_resume(asking, session, report.run)
    # The rollback does not revert later changes of other clients.
    back = report.back if done.changed or not done.whole else ()
    if isinstance(done.act, OnInstances):
        others = {one.instance for one in done.act.each} - {*done.changed}
        back = tuple(line for line in report.back if others.isdisjoint(line.split()))
    if done.number:  # in manual commands, an earlier line sets the variable
        back = tuple(line.replace('"$VERSION"', str(done.number)) for line in back)
    report = replace(report, back=back)
    if not done.proofs:
        nodes = [f"node/{name}" for name in done.act.nodes[:1]] if not done.nodes else []
        asks = ["kubectl", "eksdoc", "imds-probe", *nodes, "--active", *opening.reached_by(asking.around, session)]
        report = replace(report, from_pod=shlex.join(asks))
    return opening.answer(report, asking.around, applying.code(done))


def _tell_resume(asking: _Fixing, session: ClusterSession, run: str) -> None:
    asking.around.note("continue it:")
    words = opening.reached_by(asking.around, session)
    asking.around.note(f"  {shlex.join(['kubectl', 'eksdoc', 'imds-probe', '--apply', '--resume', run, *words])}")


# A fix that was started before is continued or reverted.


def _saved(asking: _Fixing, ident: str, session: ClusterSession) -> tuple[SavedChange, Act, str]:
    """The saved change, its action, and the token by which AWS knows it.

    Raises:
        LocalJournalError: this machine has no journal of it, or it cannot be decoded.
        Drifted: it is of another cluster.
    """
    saved = applying.saved(ident, (METADATA_FIX,), session, asking.around)
    try:
        return saved, from_doc(saved.begun["act"]), str(saved.begun["token"])
    except (KeyError, TypeError, ValueError) as error:
        raise LocalJournalError(f"the journal of fix {ident} cannot be understood: {error!r}") from error


def _resumed(asking: _Fixing, session: ClusterSession) -> CommandAnswer:
    """Parts with the intended state are left alone. Raises as `_read_saved_fix`."""
    ident, around = asking.fix.resume, asking.around
    saved, act, token = _saved(asking, ident, session)
    back = tuple(map(str, saved.begun.get("wayBack", ())))
    given = asking.request.given | {"apply": True, "resume": ident}
    around.note(f"{head(act)}, begun at {saved.text('at') or 'a time that was not written down'}:")
    confirm(session.cluster.identity, len(act.nodes), f"go on to {action(act)}", asking.fix.given, around.ask)
    with _edges(asking, session, act, token, ident) as (kind, world):
        done = applying.continued(kind, saved, world, around)
    report = FixReport(
        saved.text("fix"),
        act,
        session.cluster,
        options=given,
        back=back,
        run=ident,
        done=done,
        journal=str(applying.journal(ident, around).path),
        recognised=session.recognised,
    )
    return _answer(asking, session, report, done)


def _undone(asking: _Fixing, session: ClusterSession) -> CommandAnswer:
    """Later changes of other clients are not reverted. Raises as `_read_saved_fix`."""
    ident, around = asking.fix.undo, asking.around
    saved, made, _ = _saved(asking, ident, session)
    act = _reverting(made, saved.past, session, around)
    if not act.nodes:
        around.note(f"nothing that fix {ident} has changed is left to set back")
        return CommandAnswer("", streams.FAILS)
    given = asking.request.given | {"apply": True, "undo": ident}
    report = FixReport(
        saved.text("fix"), act, session.cluster, options=given, undoes=ident, recognised=session.recognised
    )
    if asking.fix.dry:
        return _dry(asking, report, session)
    opening.show(report, around)
    if isinstance(act, OnClass):
        around.note(f"every node of EC2NodeClass {act.name} drifts with it, and Karpenter replaces it")
    if isinstance(act, OnTemplate):
        around.note(f"EKS replaces every node of {act.group} again, and evicts their pods by their budgets")
    _confirm(asking, session, act, f", which reverts fix {ident}")
    return _carried_out(replace(asking, active=None), session, report)


def _reverting(made: Act, past: Past, session: ClusterSession, around: CommandContext) -> Act:
    if isinstance(made, OnTemplate):
        number = int(str(past.answer("version", "number") or 0))
        part = of_group(made, number, MetadataChanges(session.believed).group(made.group))
        if part.became is not Became.DONE or "update" not in past.tried:
            around.note(f"{part.what}: {part.why or part.became.value}: it is left as it is")
            return group_reverting(made, number, ())
        # The nodes of the group at the version that the fix created.
        nodes = tuple(node.name for node in session.cluster.nodes if node.group == made.group)
        return group_reverting(made, number, nodes)
    if isinstance(made, OnClass):
        drifting = nodes_of_class(made.name, session.cluster) if f"EC2NodeClass {made.name}" in past.tried else ()
        return class_reverting(made, tuple(node.name for node in drifting))
    now = MetadataChanges(session.believed).instances([one.instance for one in made.each])
    act = reverting(made, past.tried, now)
    left = {one.instance for one in made.each} - {one.instance for one in act.each}
    for one in made.each:
        if one.instance in left and one.instance in past.tried:
            part = of_instance(one, now[one.instance])
            around.note(f"{part.what}: {part.why or part.became.value}: it is left as it is")
    return act
