"""``coredns-lameduck --set | --place | --autoscale``: a change is shown, typed back, read again, and carried out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.addon_diff.manifests import objects_of
from kubectl_eksdoc.changes.dns_change import Ready, config_map, ready, resets, reverting
from kubectl_eksdoc.cli import applying, exits, opening
from kubectl_eksdoc.cli.addon import applying as addon
from kubectl_eksdoc.cli.addon.applying import ASKS_EKS_NOTHING, confirm, still
from kubectl_eksdoc.cli.applying import Again, Proposal
from kubectl_eksdoc.cli.confirming import check_writable
from kubectl_eksdoc.cli.dns import change_following
from kubectl_eksdoc.cli.dns.change_options import (
    ADDON,
    NAME,
    DnsApply,
    DnsChangeInvocation,
    LameduckRequest,
    measured_on,
)
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.coredns_lameduck.change.wishes import Wishes
from kubectl_eksdoc.coredns_lameduck.deployed import OBJECTS
from kubectl_eksdoc.coredns_lameduck.read import KINDS, dns_facts
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.change_journal import DNS_CHANGE
from kubectl_eksdoc.model.findings import reached
from kubectl_eksdoc.render.addon.update import update_command
from kubectl_eksdoc.render.dns_change import commands
from kubectl_eksdoc.render.dns_change.report import DnsChangeReport
from kubectl_eksdoc.session.session import AwsUse, ClusterNeeds, ClusterSession

COMMAND = f"{NAME} --apply"
_ASKS_NOBODY = "a dry run sends no request; --dry-run=server asks the API server"
_DRIFTED = "CoreDNS is not as it was when the change was shown"


def changing(
    request: LameduckRequest, wishes: Wishes | None, apply: DnsApply | None, around: CommandContext
) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    DnsChangeReport.check(around.options.output)
    asking = DnsChangeInvocation(request, wishes, apply, around)
    if apply is not None:
        applying.check_live(around, apply.dry == "client")
        if not apply.dry and not apply.resume:
            check_writable(around.environ, COMMAND, f"{NAME} without --apply reads only")
    with opening.explaining(COMMAND):
        session = _opened(asking)
        opening.told(session, around)
        if apply is not None and apply.resume:
            return change_following.resumed(asking, apply, session)
        return _changed(asking, session)


def again(change: Again, around: CommandContext) -> CommandAnswer:
    """As `changing`. What an update of the add-on has made is reverted by another update of it."""
    if change.undo and change.saved.text("sent", "addon"):
        return addon.again(change, around)
    apply = DnsApply(undo=change.id) if change.undo else DnsApply(resume=change.id)
    return changing(LameduckRequest(()), None, apply, around)


def _opened(asking: DnsChangeInvocation) -> ClusterSession:
    objects = tuple(dict.fromkeys((*objects_of(ADDON), *OBJECTS)))
    needs = ClusterNeeds("addon-diff", (*KINDS, kinds.NAMESPACES), objects, aws=AwsUse.REQUIRED)
    return opening.opened(asking.around, needs)


def _changed(asking: DnsChangeInvocation, session: ClusterSession) -> CommandAnswer:
    around, apply = asking.around, asking.apply
    ready = prepared(asking, session)
    report = _view(asking, session, ready)
    if apply is None:
        return opening.answer(report, around, code(asking, report))
    if apply.dry:
        return _dry(asking, apply, ready, report)
    proposal = _proposal(asking, apply, session, ready, report)
    found = applying.confirmed(proposal, lambda now: prepared(asking, now).same, session, _DRIFTED, around)
    return (
        found if isinstance(found, CommandAnswer) else change_following.carried_out(asking, apply, found, ready, report)
    )


def _proposal(
    asking: DnsChangeInvocation, apply: DnsApply, session: ClusterSession, ready: Ready, report: DnsChangeReport
) -> Proposal:
    refused = None
    if ready.guards:
        refused = f"nothing is changed: {'; '.join(guard.why for guard in ready.guards)}", exits.FAILS
    elif ready.change.nothing:
        refused = "nothing is changed: it is so already, and kept where it lasts", _left(asking, report)
    what = f"{ADDON} {ready.change.version}" if ready.change.managed else f"{ADDON} Corefile"
    name, changes = session.believed.cluster.name, report.changes
    typed = partial(confirm, name, what, changes, ready.weighty, apply.accepted, apply.given, asking.around.ask)
    return Proposal(report, ready.same, typed, refused)


def prepared(asking: DnsChangeInvocation, session: ClusterSession) -> Ready:
    apply = asking.apply or DnsApply()
    facts = dns_facts(session, measured_on(asking.around))
    if apply.undo:
        saved = applying.saved(apply.undo, (DNS_CHANGE,), session, asking.around)
        return reverting(facts, change_following.made_by(saved), change_following.text_before(saved, asking))
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
        back = commands.back_of_update(ready.update.back, session.believed.cluster, "", reach)
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
        said["place"] = wishes.place.value if wishes.place is not None else ""
        said["autoscale"] = str(wishes.scale) if wishes.scale is not None else ""
    if apply is not None:
        said |= {"apply": True, "dry-run": apply.dry, "resume": apply.resume}
        said |= {"accept-reset": list(apply.resets), "force-conflicts": apply.force}
    return {name: value for name, value in said.items() if value}


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
    well, said = change_following.tried(asking, apply, ready)
    around.note(f"dry run: {said}")
    around.note("it proves that the server takes it, and not that CoreDNS does")
    tried = replace(view, tried=said)
    return opening.answer(tried, around, code(asking, tried) if well else exits.FAILS)


def code(asking: DnsChangeInvocation, view: DnsChangeReport) -> int:
    """Of what is shown, and not done."""
    return exits.FAILS if view.guards else _left(asking, view)


def _left(asking: DnsChangeInvocation, view: DnsChangeReport) -> int:
    if view.change is not None and view.change.not_done:
        return exits.FAILS
    return opening.code(view.findings, asking.request.accepted)
