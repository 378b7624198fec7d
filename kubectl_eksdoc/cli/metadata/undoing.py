"""``imds-probe --apply --undo``: what a fix has changed is set back, and nothing that another client has changed since.

Which fixes were not finished, too: their journals are on this machine.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits
from kubectl_eksdoc.cli.confirming import confirm
from kubectl_eksdoc.cli.metadata import fix_following
from kubectl_eksdoc.cli.metadata import request as reading
from kubectl_eksdoc.cli.metadata.fix_options import FixRequest
from kubectl_eksdoc.cli.metadata.request import Request
from kubectl_eksdoc.cli.streams import say
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import LocalJournalError

if TYPE_CHECKING:
    from kubectl_eksdoc.flows.metadata_fix.steps import Past
    from kubectl_eksdoc.model.metadata import Act, OnTemplate
    from kubectl_eksdoc.render.metadata_fix import FixView
    from kubectl_eksdoc.session.session import ClusterSession

_LATEST = 20
"""So many journals are looked at for fixes that were not finished."""


def undone(request: Request, fix: FixRequest, session: ClusterSession, around: Surroundings) -> Answer:
    """
    Raises:
        LocalJournalError: this machine has no journal of it, or none that can be understood.
        Drifted: it is of another cluster.
        AwsError, ClusterError: nothing can be asked, or it is refused.
    """
    from kubectl_eksdoc.host.journals import FIXES
    from kubectl_eksdoc.model.metadata import OnClass, OnTemplate
    from kubectl_eksdoc.render.metadata_fix import FixView
    from kubectl_eksdoc.render.metadata_fix.table import action, head
    from kubectl_eksdoc.wiring.changes import journal_of

    keeping = around.edges.keeping(fix.undo, "", around.environ)
    begun, done, past = fix_following.read_fix(keeping, session)
    act = _reverting(done, past, session, around)
    if not act.nodes:
        around.note(f"nothing that fix {fix.undo} has changed is left to set back")
        return Answer("", exits.FAILS)
    options = request.given | {"apply": True, "undo": fix.undo}
    view = FixView(
        str(begun.get("fix", "")), act, session.cluster, options, undoes=fix.undo, recognised=session.recognised
    )
    if fix.dry != "none":
        return _dry(request, fix, act, view, session, around)
    say(around.stderr, f"{fix_following.preview(request, view, around)}\n")
    if isinstance(act, OnClass):
        around.note(f"every node of EC2NodeClass {act.name} drifts with it, and Karpenter replaces it")
    if isinstance(act, OnTemplate):
        around.note(f"EKS replaces every node of {act.group} again, and evicts their pods by their budgets")
    around.note(f"{head(act)}, which reverts fix {fix.undo}:")
    confirm(session.cluster.identity, len(act.nodes), action(act), fix.given, around.ask)
    answer = fix_following.carried_out(request, fix, None, session, act, view, around)
    if answer.exit_code != exits.STOPPED:
        journal_of(keeping, FIXES).write({"entry": "undone"})
    return answer


def _reverting(done: Act, past: Past, session: ClusterSession, around: Surroundings) -> Act:
    from kubectl_eksdoc.aws.metadata_changes import MetadataChanges
    from kubectl_eksdoc.imds_probe.run import class_reverting, group_reverting, of_instance, reverting
    from kubectl_eksdoc.model.metadata import OnClass, OnTemplate

    if isinstance(done, OnTemplate):
        return group_reverting(done, past.number, _of_group(done, past, session, around))
    if isinstance(done, OnClass):
        nodes = _of_class(done.name, session) if f"EC2NodeClass {done.name}" in past.tried else ()
        return class_reverting(done, nodes)
    now = MetadataChanges(session.believed).instances([one.instance for one in done.each])
    act = reverting(done, past.tried, now)
    left = {one.instance for one in done.each} - {one.instance for one in act.each}
    for one in done.each:
        if one.instance in left and one.instance in past.tried:
            part = of_instance(one, now[one.instance])
            around.note(f"{part.what}: {part.why or part.became.value}: it is left as it is")
    return act


def _of_group(done: OnTemplate, past: Past, session: ClusterSession, around: Surroundings) -> tuple[str, ...]:
    """The nodes of the group, where it is at the version that the fix has made; else none."""
    from kubectl_eksdoc.aws.metadata_changes import MetadataChanges
    from kubectl_eksdoc.imds_probe.run import Became, of_group

    part = of_group(done, past.number, MetadataChanges(session.believed).group(done.group))
    if part.became is not Became.DONE or not (past.update or "update" in past.tried):
        around.note(f"{part.what}: {part.why or part.became.value}: it is left as it is")
        return ()
    return tuple(node.name for node in session.cluster.nodes if node.group == done.group)


def _of_class(name: str, session: ClusterSession) -> tuple[str, ...]:
    """The nodes that drift with it now."""
    from kubectl_eksdoc.imds_probe.sources import class_name
    from kubectl_eksdoc.model.nodes import NodeOwner

    karpenters = (node for node in session.cluster.nodes if node.owner is NodeOwner.KARPENTER)
    return tuple(node.name for node in karpenters if class_name(node, session.cluster) == name)


def _dry(
    request: Request, fix: FixRequest, act: Act, view: FixView, session: ClusterSession, around: Surroundings
) -> Answer:
    well, said = (True, ()) if fix.dry == "client" else fix_following.tried(act, request, session)
    return Answer(
        fix_following.rendered(request, replace(view, tried=said), around), exits.CLEAN if well else exits.FAILS
    )


def tell_open(request: Request, session: ClusterSession, around: Surroundings) -> None:
    """On stderr: the fixes of this cluster that were not finished, by the latest journals of this machine."""
    from kubectl_eksdoc.flows.metadata_fix.steps import unfinished
    from kubectl_eksdoc.host.journals import FIXES, read_update, runs
    from kubectl_eksdoc.model.asked import Unknown
    from kubectl_eksdoc.wiring.changes import folder_of

    if not request.source.live or isinstance(session.aws, Unknown):
        return
    try:
        folder = folder_of(around.edges.keeping("", "", around.environ), FIXES)
        journals = {run: read_update(folder, run) for run in runs(folder)[-_LATEST:]}
    except LocalJournalError:
        return
    for run, entries in journals.items():
        begun = entries[0] if entries else {}
        of = begun.get("cluster")
        if isinstance(of, dict) and of.get("arn") == session.aws.cluster.arn and unfinished(entries):
            words = (*reading.reached_by(request, session),)
            resume, undo = (
                shlex.join(["kubectl", "eksdoc", "imds-probe", "--apply", flag, run, *words])
                for flag in ("--resume", "--undo")
            )
            around.note(
                f"fix {run} ({begun.get('fix', 'unknown')}, {begun.get('at', 'unknown time')}) was not finished"
            )
            around.note(f"  continue it: {resume}")
            around.note(f"  revert it: {undo}")
