"""A change of CoreDNS that this process makes, or looks at again: written down, sent, and looked at in each pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import exits
from kubectl_eksdoc.cli.addon import following
from kubectl_eksdoc.cli.addon.apply_options import Apply
from kubectl_eksdoc.cli.addon.request import Request as AddonRequest
from kubectl_eksdoc.cli.dns.change_options import Asking, DnsApply, rendered
from kubectl_eksdoc.cli.dns.request import ADDON, NAME
from kubectl_eksdoc.cli.surroundings import Answer
from kubectl_eksdoc.errors import AwsError, Drifted, EksdocError, JournalError, LocalJournalError
from kubectl_eksdoc.model import permissions

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.addon_diff.run.ended import Ended
    from kubectl_eksdoc.coredns_lameduck.read import Verifying
    from kubectl_eksdoc.coredns_lameduck.run import Verified
    from kubectl_eksdoc.flows.dns_change import Ready
    from kubectl_eksdoc.host.journals import UpdateJournalFile
    from kubectl_eksdoc.model.api_objects import Doc
    from kubectl_eksdoc.model.asked import Unknown
    from kubectl_eksdoc.model.pods import Pod
    from kubectl_eksdoc.render.addon_update import UpdateView
    from kubectl_eksdoc.render.dns_change.report import DnsChangeReport
    from kubectl_eksdoc.session.session import ClusterSession
    from kubectl_eksdoc.wiring.runs import Keeping

_MAP = ".configmap-of-before.json"


@dataclass(frozen=True, slots=True)
class After:
    """The new Corefile as a journal has it: `text` as it may be printed, "" for none, and the `sums` by which CoreDNS
    calls the whole one."""

    text: str = ""
    sums: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> After:
        from kubectl_eksdoc.kubernetes.corefile.edits import sums
        from kubectl_eksdoc.kubernetes.corefile.parser import parse
        from kubectl_eksdoc.kubernetes.keeping import printed_corefile
        from kubectl_eksdoc.model.coredns import Corefile

        corefile = parse(text)
        return cls(printed_corefile(text), sums(corefile) if isinstance(corefile, Corefile) else ())

    @classmethod
    def from_doc(cls, doc: Doc) -> After:
        text = str(doc.get("corefile", ""))
        if text and "sums" not in doc:  # of a version that wrote the whole one down
            return cls.of(text)
        return cls(text, tuple(map(str, doc.get("sums", ()))))


def carried_out(
    asking: Asking, apply: DnsApply, session: ClusterSession, ready: Ready, view: DnsChangeReport
) -> Answer:
    """
    Raises:
        JournalError: it cannot be written down; nothing was sent.
        AwsError, ClusterError: it is not taken.
    """
    from kubectl_eksdoc.coredns_lameduck.read import failed_before

    around = asking.around
    keeping = around.edges.keeping(around.edges.new_run_id(around.now()), "", around.environ)
    texts = ready.change.corefile
    after = After.of(texts.after) if texts is not None and not texts.same else After()
    with _looking(asking, after.text) as looking:
        failed = failed_before(looking) if after.text else {}
        begun_s = looking.clock.monotonic()
        more = {"dns": {"corefile": after.text, "sums": list(after.sums), "failed": dict(failed)}}
        if ready.change.managed:
            done = _updated(asking, apply, session, ready, view, keeping, more)
        else:
            done = _applied(asking, apply, session, ready, view, keeping, more)
        return _looked_at(asking, apply, session, done, after, failed, begun_s, looking)


def tried(asking: Asking, apply: DnsApply, ready: Ready) -> tuple[bool, str]:
    """What the API server says to it, and whether it would take it.

    Raises:
        ClusterError: it would not, or cannot be asked.
    """
    from kubectl_eksdoc.model.api_objects import Conflicting
    from kubectl_eksdoc.wiring.changes import maps_of

    if ready.config is None:
        return False, "there is nothing to try"
    found = maps_of(asking.request.options.connection).apply(ready.config, apply.force, dry=True)
    if isinstance(found, Conflicting):
        return False, "; ".join(f"{each.field} is {each.owner}'s" for each in found.conflicts)
    return True, "the server would take it"


def _updated(
    asking: Asking,
    apply: DnsApply,
    session: ClusterSession,
    ready: Ready,
    view: DnsChangeReport,
    keeping: Keeping,
    more: Doc,
) -> DnsChangeReport:
    from kubectl_eksdoc.addon_diff.run.guards import changing
    from kubectl_eksdoc.host.journals import UPDATES
    from kubectl_eksdoc.render.addon_update import Sent, UpdateView
    from kubectl_eksdoc.render.addon_update.commands import way_back_text
    from kubectl_eksdoc.wiring.changes import journal_of

    assert ready.update is not None, "it is the add-on's"
    journal, plan, version = journal_of(keeping, UPDATES), ready.update.plan, ready.change.version
    words, file = asking.reached_by(session), str(following.values_file(journal))
    back = way_back_text(ready.update.back, session.believed.cluster.name, session.believed.cluster.region, file, words)
    sent = Sent(ADDON, version, version, view.mode, view.values)
    shown = UpdateView(sent, session.cluster, view.options, plan, len(changing(plan)), back=back, run=keeping.run)
    request, how = _as_addon(asking, view.mode), _as_update(apply)
    try:
        made, ended = following.carry(
            request, how, session, ready.update, shown, (keeping, journal), asking.around, more
        )
    except AwsError:
        if journal.path.exists():
            asking.around.note(f"journal {journal.path}; look again: {_again(asking, session, keeping.run)}")
        raise
    lines = () if isinstance(back, str) else back.commands
    return replace(view, ended=ended, run=keeping.run, journal=made.journal, back=lines or view.back)


def _applied(
    asking: Asking,
    apply: DnsApply,
    session: ClusterSession,
    ready: Ready,
    view: DnsChangeReport,
    keeping: Keeping,
    more: Doc,
) -> DnsChangeReport:
    from kubectl_eksdoc.flows.dns_change import config_map
    from kubectl_eksdoc.host.journals import DNS
    from kubectl_eksdoc.model.api_objects import Conflicting
    from kubectl_eksdoc.render.addon.commands import as_json
    from kubectl_eksdoc.render.dns_change.commands import back_of_map
    from kubectl_eksdoc.wiring.changes import journal_of, maps_of

    texts, config = ready.change.corefile, ready.config
    assert texts is not None and config is not None, "something is applied"
    around, journal = asking.around, journal_of(keeping, DNS)
    file = journal.beside(_MAP, as_json(config_map(texts.before)) + "\n")
    back = back_of_map(str(file), asking.kubectl(session))
    journal.write({"entry": "begun", **_begun(asking, session, keeping), **more, "wayBack": list(back)})
    around.note(f"run {keeping.run}, journal {journal.path}")
    try:
        found = maps_of(asking.request.options.connection).apply(config, apply.force)
    except EksdocError as error:
        _note(asking, journal, {"entry": "refused", "why": str(error)})
        raise
    if isinstance(found, Conflicting):
        who = "; ".join(f"{each.field} is {each.owner}'s" for each in found.conflicts)
        _note(asking, journal, {"entry": "refused", "why": who})
        raise Drifted(f"another client has changed the Corefile since: {who}", "Nothing was changed. Look again.")
    _note(asking, journal, {"entry": "applied"})
    return replace(view, applied=True, run=keeping.run, journal=str(journal.path), back=back)


def _note(asking: Asking, journal: UpdateJournalFile, entry: Doc) -> None:
    """What has happened is told all the same where it cannot be written down."""
    try:
        journal.write(entry)
    except JournalError as error:
        asking.around.note(f"the journal lacks what came then: {error.message}")


def _begun(asking: Asking, session: ClusterSession, keeping: Keeping) -> Doc:
    from kubectl_eksdoc.render.text import rfc3339

    return {
        "run": keeping.run,
        "at": rfc3339(asking.around.now()),
        "tool": __version__,
        "who": f"{keeping.who}@{keeping.host}",
        "cluster": {
            "name": session.believed.cluster.name,
            "arn": session.believed.cluster.arn,
            "context": session.cluster.identity.context,
        },
    }


def _looked_at(
    asking: Asking,
    apply: DnsApply,
    session: ClusterSession,
    view: DnsChangeReport,
    after: After,
    failed: Mapping[str, float | None],
    begun_s: float,
    looking: Verifying,
) -> Answer:
    """After the change: what pods say of the new Corefile `after`."""
    from kubectl_eksdoc.coredns_lameduck.change.lameduck import has_reload
    from kubectl_eksdoc.coredns_lameduck.read import verified
    from kubectl_eksdoc.coredns_lameduck.run import Wanted, judged
    from kubectl_eksdoc.model.commands import Reach
    from kubectl_eksdoc.model.findings import reached

    ended = view.ended
    undone = ended is not None and not ended.whole  # whoever has stopped to follow it looks at no pods either
    change = view.change
    reloads = change.corefile.reloads if change is not None and change.corefile else has_reload(after.text)
    seen: Verified | None = None
    if after.text and reloads and not undone:
        asking.around.note("now each pod is asked whether it has taken the new Corefile up; Ctrl-C only stops that")
        seen = verified(Wanted(after.sums, failed), begun_s, looking, apply.verify_s)
    rolled = change is not None and change.affinity is not None and change.managed
    reach = Reach(asking.reached_by(session), asking.kubectl(session), asking.reached_by(session))
    told = judged(seen, reloads or not after.text, rolled) if not undone else ()
    found = tuple(reached(each, reach) for each in told)
    done = replace(view, verified=seen, after=found)
    if (seen is not None and seen.left) or (ended is not None and ended.left):
        asking.around.note(f"look again: {_again(asking, session, view.run)}")
    return Answer(rendered(asking, done), code(done, apply))


def code(view: DnsChangeReport, apply: DnsApply) -> int:
    """What was not brought to its end; then what is known to be wrong matters more than what is not known."""
    from kubectl_eksdoc.coredns_lameduck.run import Taken
    from kubectl_eksdoc.model.findings import Status

    ended, seen = view.ended, view.verified
    if ended is not None and not ended.whole:
        return exits.STOPPED
    wrong = [each for each in view.after if each.status is Status.FAIL]
    if (ended is not None and ended.differs) or (wrong and not (seen is not None and not seen.of(Taken.REFUSED))):
        return exits.FAILS
    if wrong:
        return exits.STOPPED  # not yet
    unknown = any(each.status is Status.UNKNOWN and each.code.name not in apply.accepted for each in view.after)
    return exits.UNKNOWN if unknown or (ended is not None and _lacks(ended, apply)) else exits.CLEAN


def _lacks(ended: Ended, apply: DnsApply) -> bool:
    from kubectl_eksdoc.addon_diff.run.outcome import Verdict

    if "addon-field-unknown" in apply.accepted:
        return bool(ended.of(Verdict.NOT_READ) or ended.unread)
    return ended.lacks


@contextmanager
def _looking(asking: Asking, text: str) -> Iterator[Verifying]:
    from kubectl_eksdoc.coredns_lameduck.read import NO_METRICS, Verifying
    from kubectl_eksdoc.coredns_lameduck.run import metrics_port
    from kubectl_eksdoc.kube.core_dns import ResolverPods

    around = asking.around
    connection, left_out = asking.request.options.connection, permissions.PROXY.name in asking.request.without
    with around.edges.told_to_stop() as told, closing(ResolverPods(connection, _listed(asking))) as resolvers:
        yield Verifying(
            resolvers,
            None if left_out else metrics_port(text),
            around.edges.clock,
            around.sleep,
            told,
            lambda line: around.note(f"{around.now():%H:%M:%S}Z  {line}"),
            "they are left out (--without proxy)" if left_out else NO_METRICS,
        )


def _listed(asking: Asking) -> Callable[[], tuple[Pod, ...] | Unknown]:
    from kubectl_eksdoc.model.asked import Unknown
    from kubectl_eksdoc.model.coredns import is_coredns
    from kubectl_eksdoc.wiring.changes import pods_now

    def listed() -> tuple[Pod, ...] | Unknown:
        options, source = asking.request.options, asking.request.source
        pods = pods_now(lambda: asking.around.open_reader(source, options.connection, None))
        if isinstance(pods, Unknown):
            return pods
        ours = (pod for pod in pods if is_coredns(pod.namespace, pod.labels))
        return tuple(pod for pod in ours if not pod.finished and not pod.deleting)

    return listed


def resumed(asking: Asking, apply: DnsApply, session: ClusterSession) -> Answer:
    """A change that was begun before, looked at again.

    Raises:
        LocalJournalError: this machine has no journal of it, or it was never made.
        Drifted: it is of another cluster.
    """
    from kubectl_eksdoc.host.journals import DNS
    from kubectl_eksdoc.render.dns_change.report import DnsChangeReport
    from kubectl_eksdoc.wiring.changes import journal_of

    keeping = asking.around.edges.keeping(apply.resume, "", asking.around.environ)
    options = {**asking.request.given, "apply": True, "resume": apply.resume}
    view = DnsChangeReport(session.cluster, options, run=keeping.run, recognised=session.recognised)
    journal = journal_of(keeping, DNS)
    if journal.path.exists():
        begun = _read_map(keeping, session)
        view = replace(view, applied=True, journal=str(journal.path), back=tuple(map(str, begun.get("wayBack", ()))))
    else:
        again, ended, begun = following.look_again(_as_addon(asking, "NONE"), _as_update(apply), session, asking.around)
        view = _of_update(view, again, ended)
    dns = begun.get("dns")
    after = After.from_doc(dns) if isinstance(dns, dict) else After()
    failed = dns.get("failed", {}) if isinstance(dns, dict) else {}
    with _looking(asking, after.text) as looking:
        passed = asking.around.now() - datetime.fromisoformat(str(begun["at"]).replace("Z", "+00:00"))
        begun_s = looking.clock.monotonic() - max(0.0, passed.total_seconds())
        return _looked_at(asking, apply, session, view, after, failed, begun_s, looking)


def _of_update(view: DnsChangeReport, again: UpdateView, ended: Ended) -> DnsChangeReport:
    back = () if isinstance(again.back, str) else again.back.commands
    sent = again.sent
    return replace(view, mode=sent.mode, values=sent.values, ended=ended, journal=again.journal, back=back)


def _read_map(keeping: Keeping, session: ClusterSession) -> Doc:
    from kubectl_eksdoc.host.journals import DNS, read_update
    from kubectl_eksdoc.wiring.changes import folder_of

    entries = read_update(folder_of(keeping, DNS), keeping.run)
    begun = next((each for each in entries if each.get("entry") == "begun"), None)
    if begun is None:
        raise LocalJournalError(f"the change {keeping.run} was not made: nothing was changed", _AGAIN)
    cluster = begun.get("cluster")
    arn = cluster.get("arn") if isinstance(cluster, dict) else ""
    if arn != session.believed.cluster.arn:
        raise Drifted(f"the change {keeping.run} is of {arn}", "Name its context.")
    if not any(each.get("entry") == "applied" for each in entries):
        _check_made(keeping.run, begun, session)
    return begun


_AGAIN = "Make it again, with the same flags and without --resume."


def _check_made(run: str, begun: Doc, session: ClusterSession) -> None:
    """A run that ended between the journal and the write: the live Corefile tells which of them was first.

    Raises:
        LocalJournalError: it was not made, or that cannot be told.
    """
    from kubectl_eksdoc.coredns_lameduck.deployed import corefile_of
    from kubectl_eksdoc.kubernetes.corefile.edits import CONFIG
    from kubectl_eksdoc.model.asked import Unknown

    dns, live = begun.get("dns"), corefile_of(session.objects.one(CONFIG))
    if isinstance(live, Unknown):
        raise LocalJournalError(f"whether the change {run} was made is not known: {live.why}", "Ask again.")
    if not isinstance(live, str) or not isinstance(dns, dict) or After.of(live) != After.from_doc(dns):
        raise LocalJournalError(f"the change {run} was not made: nothing was changed", _AGAIN)


def _again(asking: Asking, session: ClusterSession, run: str) -> str:
    from kubectl_eksdoc.model.commands import shell

    return shell("kubectl", "eksdoc", NAME, "--apply", "--resume", run, *asking.reached_by(session))


def _as_addon(asking: Asking, mode: str) -> AddonRequest:
    request = asking.request
    return AddonRequest(request.options, request.source, ADDON, "", mode, None)


def _as_update(apply: DnsApply) -> Apply:
    return Apply(False, True, apply.yes, apply.expect, apply.accepted, apply.watch_s, apply.resume)
