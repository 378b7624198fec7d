"""``coredns-lameduck --set | --place | --autoscale``: show a change, confirm it, check for drift, and carry it out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.addon_diff.apply import AddonUpdate
from kubectl_eksdoc.addon_diff.command import applying as addon
from kubectl_eksdoc.addon_diff.command.applying import ASKS_EKS_NOTHING, confirm, still
from kubectl_eksdoc.addon_diff.guards import changing as changed_fields
from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.addon_diff.manifests import objects_of
from kubectl_eksdoc.addon_diff.outcome import Verdict, expected_of
from kubectl_eksdoc.addon_diff.report.outcome import Sent, way_back_text
from kubectl_eksdoc.addon_diff.report.update import as_json, update_command
from kubectl_eksdoc.changes import applying
from kubectl_eksdoc.changes.applying import Again, Proposal
from kubectl_eksdoc.changes.engine import World
from kubectl_eksdoc.cli import opening, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext, read_values
from kubectl_eksdoc.cli.options import check_writable, non_empty
from kubectl_eksdoc.errors import AwsError, LocalJournalError, UsageError
from kubectl_eksdoc.host.journals import ChangeJournalFile
from kubectl_eksdoc.kube.single_objects import ResolverPods
from kubectl_eksdoc.kubernetes.corefile_edits import CONFIG
from kubectl_eksdoc.model import kinds, permissions
from kubectl_eksdoc.model.api_objects import Conflicting, Doc, text_at
from kubectl_eksdoc.model.change_journal import DNS_CHANGE, SavedChange
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import is_coredns
from kubectl_eksdoc.model.findings import Status, reached
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.session.session import AwsUse, ClusterNeeds, ClusterSession
from kubectl_eksdoc.wiring.runs import maps_of, pods_now

from ..apply import (
    CONFIG_MAP,
    After,
    DnsChange,
    DnsDone,
    Looking,
    MapApply,
    Ready,
    config_map,
    ready,
    resets,
    reverting,
)
from ..deployed import OBJECTS, corefile_of
from ..lameduck import Wishes, has_reload
from ..read import KINDS, NO_METRICS, VerificationEdges, dns_facts, failed_before
from ..report import commands
from ..report.change import DnsChangeReport
from ..report.commands import back_of_map
from ..run import Taken, metrics_port
from .change_options import (
    ADDON,
    NAME,
    DnsApply,
    DnsChangeInvocation,
    LameduckRequest,
    measured_on,
)

COMMAND = f"{NAME} --apply"
_ASKS_NOBODY = "a dry run sends no request; --dry-run=server asks the API server"
_DRIFTED = "CoreDNS is not as it was when the change was shown"


def changing(
    request: LameduckRequest, wishes: Wishes | None, apply: DnsApply | None, around: CommandContext
) -> CommandAnswer:
    """Show the change, or carry it out.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    DnsChangeReport.check(around.options.output)
    asking = DnsChangeInvocation(request, wishes, apply, around)
    if apply is not None:
        applying.check_live(around, apply.dry == "client")
        if not apply.dry and not apply.resume:
            check_writable(around.environ, COMMAND, f"{NAME} without --apply reads only")
    needs = ClusterNeeds(
        "addon-diff",
        (*KINDS, kinds.NAMESPACES),
        tuple(dict.fromkeys((*objects_of(ADDON), *OBJECTS))),
        aws=AwsUse.REQUIRED,
    )
    with opening.explaining(COMMAND):
        session = opening.opened(around, needs)
        opening.told(session, around)
        if apply is not None and apply.resume:
            return _resumed(asking, apply, session)
        return _changed(asking, session)


def again(change: Again, around: CommandContext) -> CommandAnswer:
    """As `change_coredns`. A completed update of the add-on is reverted by another update."""
    if change.undo and change.saved.text("sent", "addon"):
        return addon.again(change, around)
    apply = DnsApply(undo=change.id) if change.undo else DnsApply(resume=change.id)
    return changing(LameduckRequest(()), None, apply, around)


def _changed(asking: DnsChangeInvocation, session: ClusterSession) -> CommandAnswer:
    around, apply = asking.around, asking.apply
    ready = prepared(asking, session)
    report = _view(asking, session, ready)
    if apply is None:
        return opening.answer(report, around, code(asking, report))
    if apply.dry:
        return _dry(asking, apply, ready, report)
    refused = None
    if ready.guards:
        refused = f"nothing is changed: {'; '.join(guard.why for guard in ready.guards)}", streams.FAILS
    elif ready.change.nothing:
        refused = "nothing is changed: it is so already, and kept where it lasts", _left(asking, report)
    what = f"{ADDON} {ready.change.version}" if ready.change.managed else f"{ADDON} Corefile"
    name, changes = session.believed.cluster.name, report.changes
    typed = partial(confirm, name, what, changes, ready.weighty, apply.accepted, apply.given, asking.around.ask)
    proposal = Proposal(report, ready.same, typed, refused)
    found = applying.confirmed(proposal, lambda now: prepared(asking, now).same, session, _DRIFTED, around)
    return found if isinstance(found, CommandAnswer) else _carried_out(asking, apply, found, ready, report)


def prepared(asking: DnsChangeInvocation, session: ClusterSession) -> Ready:
    apply = asking.apply or DnsApply()
    facts = dns_facts(session, measured_on(asking.around))
    if apply.undo:
        saved = applying.saved(apply.undo, (DNS_CHANGE,), session, asking.around)
        return reverting(facts, made_by(saved), text_before(saved, asking))
    assert asking.wishes is not None, "something is wished"
    return ready(session, facts, asking.wishes, apply.force, apply.resets)


def _view(asking: DnsChangeInvocation, session: ClusterSession, ready: Ready) -> DnsChangeReport:
    change, plan = ready.change, ready.plan
    apply = asking.apply or DnsApply()
    values = plan.asked.values if plan is not None else None
    mode = plan.asked.mode.value if plan is not None else ""
    command, back = "", ()  # type: tuple[str, tuple[str, ...]]
    reach = asking.reach(session)
    change = replace(change, findings=tuple(reached(each, reach) for each in change.findings))
    if ready.update is not None and values is not None:
        eks = session.believed.cluster
        command = reach.of(update_command(eks.name, eks.region, "coredns", change.version, mode, values))
        back = commands.back_of_update(ready.update.back, session.believed.cluster, reach)
    elif ready.config is not None:
        command = commands.apply_config(ready.config, apply.force, asking.kubectl(session))
        before = config_map(change.corefile.before if change.corefile is not None else "")
        back = (commands.apply_config(before, False, asking.kubectl(session)),)  # its file is written with the journal
    return DnsChangeReport(
        session.cluster,
        change,
        plan,
        mode,
        values,
        ready.config,
        tuple(calls(each.field) for each in resets(plan, change)) if plan is not None else (),
        ready.guards,
        ready.conflicts,
        tuple(still(ready.weighty, apply.accepted)),
        ready.changes,
        command,
        back,
        options=_given(asking),
        recognised=session.recognised,
    )


def _given(asking: DnsChangeInvocation) -> dict[str, object]:
    wishes, apply = asking.wishes, asking.apply
    said: dict[str, object] = dict(asking.request.given)
    if wishes is not None:
        said["set"] = f"lameduck={wishes.lameduck_s}s" if wishes.lameduck_s is not None else ""
        said["place"] = "on-demand" if wishes.on_demand else ""
        said["autoscale"] = str(wishes.scale) if wishes.scale is not None else ""
    if apply is not None:
        said |= {"apply": True, "dry-run": apply.dry, "resume": apply.resume}
        said |= {"accept-reset": list(apply.resets), "force-conflicts": apply.force}
    return non_empty(said)


def _dry(asking: DnsChangeInvocation, apply: DnsApply, ready: Ready, view: DnsChangeReport) -> CommandAnswer:
    around = asking.around
    if apply.dry == "server" and ready.change.managed:
        raise UsageError(
            "EKS has no dry run of an update, so there is no --dry-run=server of an add-on",
            "--dry-run shows what would be sent, and what it would change.",
        )
    if apply.dry != "server":
        around.note(ASKS_EKS_NOTHING if ready.change.managed else _ASKS_NOBODY)
        return opening.answer(view, around, code(asking, view))
    well, said = False, "there is nothing to try"
    if ready.config is not None:
        found = maps_of(around.connection).apply(ready.config, apply.force, dry=True)
        well, said = True, "the server would take it"
        if isinstance(found, Conflicting):
            well, said = False, "; ".join(f"{each.field} is {each.owner}'s" for each in found.conflicts)
    around.note(f"dry run: {said}")
    around.note("it proves that the server takes it, and not that CoreDNS does")
    view = replace(view, tried=said)
    return opening.answer(view, around, code(asking, view) if well else streams.FAILS)


def code(asking: DnsChangeInvocation, view: DnsChangeReport) -> int:
    """The exit code of a change that is only shown."""
    return streams.FAILS if view.guards else _left(asking, view)


def _left(asking: DnsChangeInvocation, view: DnsChangeReport) -> int:
    if view.change is not None and view.change.not_done:
        return streams.FAILS
    return opening.code(view.findings, asking.request.accepted)


# A change of CoreDNS that this process sends, or follows again: its journal, its edges, and the check of the pods.


_MAP = ".configmap-of-before.json"


def _carried_out(
    asking: DnsChangeInvocation, apply: DnsApply, session: ClusterSession, ready: Ready, report: DnsChangeReport
) -> CommandAnswer:
    """Carry the change out, and check the pods.

    Raises:
        JournalError: the journal cannot be written; nothing was sent.
        AwsError, ClusterError: the change is not accepted.
    """
    written, change = applying.new_journal(asking.around), ready.change
    texts = change.corefile
    after = After.of(texts.after) if texts is not None and not texts.same else After()
    with applying.world(written, apply.watch_s, asking.around) as world, _pods(asking, after.text, world) as pods:
        failed = failed_before(pods) if after.text else {}
        rolled = change.affinity is not None and change.managed
        reloads = texts is None or texts.reloads
        looking = Looking(after, failed, world.clock.monotonic(), pods, apply.verify_s, reloads, rolled)
        dns = {"corefile": after.text, "sums": list(after.sums), "failed": dict(failed), "rolled": rolled}
        kind: AddonUpdate | MapApply
        if change.managed:
            kind, first, back = _update(asking, session, ready, report, written, dns, world)
        else:
            assert texts is not None, "something is applied"
            file = written.beside(_MAP, as_json(config_map(texts.before)) + "\n")
            back = back_of_map(str(file), asking.kubectl(session))
            more = {"dns": dns, "wayBack": list(back)}
            what, maps = "Corefile of kube-system/coredns", maps_of(asking.around.connection)
            first = applying.begun(DNS_CHANGE, what, written.id, session, asking.around, **more)
            kind = MapApply(ready.config, apply.force, maps)
        try:
            done = applying.carried(DnsChange(kind, looking), first, world, written, asking.around, apply.undo)
        except AwsError:
            if written.path.exists():
                asking.around.note(f"journal {written.path}; look again: {_again(asking, session, written.id)}")
            raise
    report = replace(report, run=written.id, journal=str(written.path), back=back, applied=not change.managed)
    return _answer(asking, apply, session, report, done)


def _update(
    asking: DnsChangeInvocation,
    session: ClusterSession,
    ready: Ready,
    report: DnsChangeReport,
    written: ChangeJournalFile,
    dns: Doc,
    world: World,
) -> tuple[AddonUpdate, Doc, tuple[str, ...]]:
    """The update of the add-on, the first entry of its journal, and the lines of its rollback."""
    update, around, eks = ready.update, asking.around, session.believed.cluster
    assert update is not None, "it is the add-on's"
    plan, version, file = update.plan, ready.change.version, str(addon.values_file(written))
    back = way_back_text(update.back, eks.name, eks.region, file, asking.reach(session))
    said = Sent(ADDON, version, version, report.mode, report.values), len(changed_fields(plan)), back
    call, expected = addon.call_of(update, written), expected_of(plan, update.sending.keeps)
    what, ports = addon.edges(session, expected, around)
    kind = AddonUpdate(call, what, ports, world, what.before(ports))
    first = addon.begun(DNS_CHANGE, kind, call, *said, plan.facts.values, session, written, around, dns=dns)
    around.note("from here on EKS does it: Ctrl-C stops only that it is followed")
    return kind, first, report.back if isinstance(back, str) else back.commands


def _answer(
    asking: DnsChangeInvocation, apply: DnsApply, session: ClusterSession, report: DnsChangeReport, done: DnsDone
) -> CommandAnswer:
    reach = asking.reach(session)
    found = tuple(reached(each, reach) for each in done.findings)
    report = replace(report, ended=done.ended, verified=done.verified, after=found)
    if done.left:
        asking.around.note(f"look again: {_again(asking, session, report.run)}")
    return opening.answer(report, asking.around, ended_code(report, apply))


def ended_code(view: DnsChangeReport, apply: DnsApply) -> int:
    """First an incomplete change, then a failure, then an unknown."""
    ended, seen = view.ended, view.verified
    if ended is not None and not ended.whole:
        return streams.STOPPED
    wrong = [each for each in view.after if each.status is Status.FAIL]
    if (ended is not None and ended.differs) or (wrong and not (seen is not None and not seen.of(Taken.REFUSED))):
        return streams.FAILS
    if wrong:
        return streams.STOPPED  # not yet
    unknown = any(each.status is Status.UNKNOWN and each.code.name not in apply.accepted for each in view.after)
    if ended is not None:
        if "addon-field-unknown" in apply.accepted:
            foretold = [each for each in ended.checks if each.verdict is not Verdict.NOT_PREDICTED]
            ended = replace(ended, checks=tuple(foretold))
        unknown |= ended.lacks
    return streams.UNKNOWN if unknown else streams.CLEAN


@contextmanager
def _pods(asking: DnsChangeInvocation, text: str, world: World) -> Iterator[VerificationEdges]:
    connection, left_out = asking.around.connection, permissions.PROXY.name in asking.request.without

    def listed() -> tuple[Pod, ...] | Unknown:
        pods = pods_now(asking.around.reader)
        if isinstance(pods, Unknown):
            return pods
        ours = (pod for pod in pods if is_coredns(pod.namespace, pod.labels))
        return tuple(pod for pod in ours if not pod.finished and not pod.deleting)

    with closing(ResolverPods(connection, listed)) as resolvers:
        yield VerificationEdges(
            resolvers,
            None if left_out else metrics_port(text),
            world.clock,
            world.sleep,
            world.told,
            world.tell,
            "they are left out (--without proxy)" if left_out else NO_METRICS,
        )


# A change that was sent before.


def _resumed(asking: DnsChangeInvocation, apply: DnsApply, session: ClusterSession) -> CommandAnswer:
    """Follow a change that was sent before.

    Raises:
        LocalJournalError: this machine has no journal of it, or it was never made.
        Drifted: it is of another cluster.
    """
    around, request = asking.around, asking.request
    saved = applying.saved(apply.resume, (DNS_CHANGE,), session, around)
    written, options = applying.journal(saved.id, around), {**request.given, "apply": True, "resume": saved.id}
    journal = str(written.path)
    report = DnsChangeReport(
        session.cluster, options=options, run=saved.id, journal=journal, recognised=session.recognised
    )
    after, failed = made_by(saved), saved.begun.get("dns", {}).get("failed", {})
    passed = (around.now() - applying.begun_at(saved)).total_seconds()
    rolled = bool(saved.begun.get("dns", {}).get("rolled"))
    with applying.world(written, apply.watch_s, around) as world, _pods(asking, after.text, world) as pods:
        begun_s = world.clock.monotonic() - max(0.0, passed)
        looking = Looking(after, failed, begun_s, pods, apply.verify_s, has_reload(after.text), rolled)
        if "expected" in saved.begun:
            sent, back = addon.sent_before(saved)
            lines = () if isinstance(back, str) else back.commands
            report = replace(report, mode=sent.mode, values=sent.values, back=lines)
            kind = DnsChange(addon.sent_again(saved, session, world, around), looking)
        else:
            _check_made(saved, after, session)
            report = replace(report, applied=True, back=tuple(map(str, saved.begun.get("wayBack", ()))))
            kind = DnsChange(MapApply(None, False, maps_of(around.connection)), looking)
        done = applying.continued(kind, saved, world, around)
    return _answer(asking, apply, session, report, done)


def made_by(saved: SavedChange) -> After:
    """The Corefile that a change has applied."""
    dns = saved.begun.get("dns")
    return After(saved.text("dns", "corefile"), tuple(map(str, dns.get("sums", ())))) if dns else After()


def text_before(saved: SavedChange, asking: DnsChangeInvocation) -> str:
    """The Corefile before a change of a self-managed CoreDNS.

    Raises:
        LocalJournalError, UsageError: nothing was changed, or the text is unknown.
    """
    if CONFIG_MAP not in saved.past.tried:
        raise LocalJournalError(f"change {saved.id} was not made: there is nothing to revert")
    path = applying.journal(saved.id, asking.around).path_beside(_MAP)
    return text_at(read_values(str(path)), "data", "Corefile")


_AGAIN = "Make it again, with the same flags and without --resume."


def _check_made(saved: SavedChange, after: After, session: ClusterSession) -> None:
    """Check that the change was made; if the process ended between journal and request, the live Corefile shows it.

    Raises:
        LocalJournalError: it was not made, or that is unknown.
    """
    past = saved.past
    if CONFIG_MAP in past.taken:
        return
    live = corefile_of(session.objects.one(CONFIG)) if CONFIG_MAP in past.tried else ""
    if isinstance(live, Unknown):
        raise LocalJournalError(f"whether the change {saved.id} was made is not known: {live.why}", "Ask again.")
    if not isinstance(live, str) or After.of(live) != after:
        raise LocalJournalError(f"the change {saved.id} was not made: nothing was changed", _AGAIN)


def _again(asking: DnsChangeInvocation, session: ClusterSession, run: str) -> str:
    return shell("kubectl", "eksdoc", NAME, "--apply", "--resume", run, *asking.reached_by(session))
