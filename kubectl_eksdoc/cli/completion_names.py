"""Names for completion: from tables of this package, this machine, the kubeconfig, a cluster, AWS."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import astuple, fields
from time import monotonic, sleep, time
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import names
from kubectl_eksdoc.model.change_journal import ADDON_UPDATE, DNS_CHANGE, METADATA_FIX
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.names import Name, NameKind
from kubectl_eksdoc.session.sources import SourceChoice, namespace_of, open_reader

from .called import late, there
from .completion_candidates import Cursor, for_command
from .completion_sources import FORMATS, OwnNames
from .flags import HONOURED, FlagValueKind

if TYPE_CHECKING:
    from kubectl_eksdoc.host.cache import KnownNames
    from kubectl_eksdoc.kube.target import CredentialContext
    from kubectl_eksdoc.model.cluster import Cluster


# Names from the source that the command would read, with a cache.


WAIT_S = 0.9
"""The time limit for the cluster at one press of Tab; a later answer is in the cache for the next press."""
PATIENT_S = 3.0
"""Seconds after the first press of Tab in which later presses wait for the same answer; after that they only read the
cache."""
LONGEST_NAMES_S = 10.0
"""The time limit of a lookup, with its credential plugin."""
OFFLINE = "EKSDOC_COMPLETION_OFFLINE"
"""The environment variable that turns lookups off; cached names are offered."""

_LOOK_S = 0.02
_DECIDING = (
    "KUBECONFIG",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_ROLE_ARN",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "KUBERNETES_SERVICE_HOST",
)
"""The environment variables that select the cluster and the user."""

Begin = Callable[[Callable[[], object], float, float], None]


@frozen
class NameQuery:
    """`namespace`: that of pods and runs, "" for the usual one. `aws`: the flags for cluster, region and profile, for
    add-ons only."""

    kind: NameKind
    source: SourceChoice
    connection: Connection
    namespace: str = ""
    aws: tuple[str, str, str] = ("", "", "")


@frozen
class BackgroundReads:
    """How work is started in the background: as by `host.processes.run_in_background`. `wait_s`: seconds to wait for
    the result."""

    begin: Begin
    wait_s: float = WAIT_S


def names_of(asked: NameQuery, environ: Mapping[str, str], home: str, beside: BackgroundReads) -> tuple[Name, ...]:
    """Empty where they cannot be read; names of the demo are read at once."""
    if asked.source.demo:
        return _read(asked, environ, home)
    from kubectl_eksdoc.host.cache import KnownNames, cache_folder

    folder = cache_folder(environ, home)
    if folder is None or asked.source.snapshot == "-":
        return ()
    known = KnownNames(folder)
    key = _key(asked, environ, home)
    found = known.of(key)
    if not environ.get(OFFLINE) and (found is None or not found.fresh(time())):
        _ask(lambda: _look(asked, environ, home, known, key), known, key, beside)
        found = known.of(key)
    return () if found is None else found.usable(time())


def runs_here(environ: Mapping[str, str], home: str) -> tuple[Name, ...]:
    """The runs that have a journal on this machine, the latest first."""
    from kubectl_eksdoc.errors import LocalJournalError
    from kubectl_eksdoc.host.journals import runs, runs_folder

    try:
        return tuple(Name(each, "on this machine") for each in reversed(runs(runs_folder(environ, home))))
    except LocalJournalError:
        return ()


def changes_here(environ: Mapping[str, str], home: str, kinds: Collection[str] = ()) -> tuple[Name, ...]:
    """The changes of these kinds, or of all, the latest first."""
    from kubectl_eksdoc.errors import LocalJournalError
    from kubectl_eksdoc.wiring.runs import saved_changes

    try:
        found = saved_changes(environ, home, _MOST_CHANGES)
    except LocalJournalError:
        return ()
    return tuple(
        Name(each.id, each.text("what") or "on this machine")
        for each in found
        if not kinds or each.text("kind") in kinds
    )


_MOST_CHANGES = 50


def _ask(look: Callable[[], object], known: KnownNames, key: str, beside: BackgroundReads) -> None:
    """Return when there is a result, or after the time limit. A lookup that ended without a result is not started again
    for a while: the cluster would delay the next press of Tab as well."""
    from kubectl_eksdoc.host.cache import FAILED_S

    since_s = known.asked_for(key, time())
    if since_s >= LONGEST_NAMES_S + FAILED_S:
        known.begin(key, time())
        beside.begin(look, beside.wait_s, LONGEST_NAMES_S)
        return
    ends_s = monotonic() + (beside.wait_s if since_s < PATIENT_S else 0.0)  # an earlier press started the lookup
    while monotonic() < ends_s:
        found = known.of(key)
        if found is not None and found.fresh(time()):
            return
        sleep(_LOOK_S)


def _look(asked: NameQuery, environ: Mapping[str, str], home: str, known: KnownNames, key: str) -> None:
    """Cache the result. An error is cached for a while, too, with the earlier names."""
    from kubectl_eksdoc.host.cache import CachedNames

    try:
        names = _read(asked, environ, home)
    except Exception:  # of the cluster, or a bug: there is no user to report it to
        older = known.of(key)
        known.keep(key, CachedNames(() if older is None else older.names, time(), 0.0 if older is None else older.seen))
        return
    known.keep(key, CachedNames(names, time(), time()))


def _read(asked: NameQuery, environ: Mapping[str, str], home: str) -> tuple[Name, ...]:
    """Raises EksdocError: the names cannot be read."""
    if asked.kind is NameKind.ADDONS:
        return _addon_names(asked)
    if asked.source.live:
        from kubectl_eksdoc.kube import single_objects
        from kubectl_eksdoc.kube.target import CredentialContext

        # Not interactive: a credential plugin cannot prompt the user.
        return single_objects.names_of(asked.connection, asked.kind, asked.namespace, CredentialContext(environ, home))
    from kubectl_eksdoc.model import kinds

    namespace = asked.namespace
    if asked.kind is NameKind.PODS and not namespace:
        namespace = namespace_of(asked.source, asked.connection)
    wanted = (kinds.NODES, kinds.PODS, kinds.BUDGETS, kinds.NAMESPACES, kinds.NODE_POOLS)
    return held_in(open_reader(asked.source, asked.connection).read(wanted), asked.kind, namespace)


def _addon_names(asked: NameQuery) -> tuple[Name, ...]:
    from kubectl_eksdoc.aws.eks import addon_names
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.model.kinds import Unknown
    from kubectl_eksdoc.session.session import ClusterNeeds, SessionRequest, open_session

    opening = SessionRequest(asked.source, asked.connection, AwsRequest(*asked.aws), ClusterNeeds("addon-diff", ()))
    found = open_session(opening).ask(addon_names)
    return () if isinstance(found, Unknown) else tuple(Name(name, "in this cluster") for name in found)


def held_in(cluster: Cluster, kind: NameKind, namespace: str) -> tuple[Name, ...]:
    """`namespace`: that of pods. Runs exist in live clusters only."""
    if kind is NameKind.NODES:
        return names.of_nodes((node.name, node.labels) for node in cluster.nodes)
    if kind is NameKind.NODE_GROUPS:
        return names.of_groups((node.labels for node in cluster.nodes), (pool.name for pool in cluster.node_pools))
    if kind is NameKind.NAMESPACES:
        told = {each.name for each in cluster.namespaces} | {pod.namespace for pod in cluster.pods}
        return tuple(map(Name, sorted(told)))
    if kind is NameKind.PODS:
        return tuple(Name(pod.name) for pod in cluster.pods if pod.namespace == namespace)
    if kind is NameKind.PODS_ANYWHERE:
        return tuple(Name(f"{pod.namespace}/{pod.name}") for pod in cluster.pods)
    if kind is NameKind.BUDGETS:
        return tuple(Name(f"{budget.namespace}/{budget.name}") for budget in cluster.budgets)
    return ()


def _key(asked: NameQuery, environ: Mapping[str, str], home: str) -> str:
    """The state of the files is a part of the key: a kubeconfig that was written meanwhile may have another context."""
    if asked.source.snapshot:
        parts: list[object] = [asked.source.snapshot, os.getcwd(), _state(asked.source.snapshot)]
    else:
        listed = asked.connection.kubeconfig or environ.get("KUBECONFIG") or os.path.join(home, ".kube", "config")
        paths = [listed] if asked.connection.kubeconfig else listed.split(os.pathsep)
        parts = [(os.path.abspath(path), _state(path)) for path in paths]
        parts += [astuple(asked.connection), [environ.get(name, "") for name in _DECIDING]]
    whole = repr((asked.kind.value, asked.namespace, asked.aws, parts))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _state(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
        return found.st_mtime_ns, found.st_size
    except (OSError, ValueError):
        return 0, 0


_AWS_WAIT_S = 0.3
"""Shorter, as AWS usually takes longer, and adds few names."""


@frozen
class Looking:
    """The lookup of names for `completion_candidates`. `background`: as in `cached_names`."""

    environ: Mapping[str, str]
    home: str
    beside: BackgroundReads | None = None

    def of(self, what: NameKind | OwnNames, cursor: Cursor, where: str = "") -> Iterable[Name]:
        """As `completion_candidates._Names.names_of`."""
        if isinstance(what, OwnNames):
            return _OWN[what](self, cursor)
        from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

        if what is NameKind.RUNS:
            kept = self.asked(what, cursor, cursor.last(where) or JOURNAL_NAMESPACE)
            return (*runs_here(self.environ, self.home), *kept)
        return self.asked(what, cursor, cursor.last("--namespace") if what is NameKind.PODS else "")

    def kubeconfig(self) -> CredentialContext:
        from kubectl_eksdoc.kube.target import CredentialContext

        return CredentialContext(self.environ, self.home)

    def asked(self, what: NameKind, cursor: Cursor, namespace: str = "") -> tuple[Name, ...]:
        """Names in the cluster that the flags before the cursor select."""
        from kubectl_eksdoc.host.processes import begun

        source = SourceChoice(snapshot=cursor.last("--snapshot"), demo=cursor.switched("--demo"))
        aws = (cursor.last("--cluster-name"), cursor.last("--region"), cursor.last("--profile"))
        given = aws if what is NameKind.ADDONS else ("", "", "")
        asked = NameQuery(what, source, connection_of(cursor), namespace, given)
        beside = self.beside or BackgroundReads(begun, _AWS_WAIT_S if what is NameKind.ADDONS else WAIT_S)
        try:
            return names_of(asked, self.environ, self.home, beside)
        except EksdocError:
            return ()  # the command itself will report the error


def connection_of(cursor: Cursor) -> Connection:
    """The connection by the flags before the cursor; invalid values are left out."""
    known = {field.name for field in fields(Connection)}
    given: dict[str, object] = {}
    for flag in HONOURED:
        if flag.dest in known and flag.long in cursor.given and flag.takes is not FlagValueKind.SECONDS:
            values = cursor.given[flag.long]
            if flag.takes is FlagValueKind.SWITCH:
                given[flag.dest] = cursor.switched(flag.long)
            else:
                given[flag.dest] = values if flag.takes is FlagValueKind.REPEATED else values[-1]
    return Connection(**given)  # type: ignore[arg-type]


def _of_journals(*kinds: str) -> Callable[[Looking, Cursor], Iterable[Name]]:
    """Of changes of these kinds, or of all."""

    def read(looking: Looking, cursor: Cursor) -> Iterable[Name]:

        return changes_here(looking.environ, looking.home, kinds)

    return read


def _formats(looking: Looking, cursor: Cursor) -> Iterable[Name]:
    place = for_command(FORMATS, cursor)
    found = there(place) if place is not None else ()
    return map(Name, getattr(found, "formats", found))


def _faults(looking: Looking, cursor: Cursor) -> Iterable[Name]:
    from kubectl_eksdoc.embedded.faults import ALL

    from .options import LIST

    return (Name(LIST, "show all of them"), *(Name(each.name, each.about) for each in ALL))


def _addons(looking: Looking, cursor: Cursor) -> Iterable[Name]:
    from kubectl_eksdoc.amazon.addon_needs import KNOWN

    there = {each.text for each in looking.asked(NameKind.ADDONS, cursor)}
    known = {each.name: each.about for each in KNOWN if each.eks_addon}
    for name in sorted(there | {*known}):
        about = (known.get(name, ""), "in this cluster" if name in there else "")
        yield Name(name, ", ".join(filter(None, about)))


_OWN: Mapping[OwnNames, Callable[[Looking, Cursor], Iterable[Name]]] = {
    OwnNames.FILES: lambda *_: (),  # completed by the shell
    OwnNames.CONTEXTS: lambda looking, cursor: late("kube.config.context_names")(
        cursor.last("--kubeconfig"), looking.kubeconfig()
    ),
    OwnNames.FORMATS: _formats,
    OwnNames.COMMANDS: lambda _, cursor: map(Name, late("permissions.command.rights.next_words")(cursor.names)),
    OwnNames.FAULTS: _faults,
    OwnNames.FIXES: lambda *_: map(Name, there("imds_probe.fix.CARRIED_OUT")),
    OwnNames.ADDONS: _addons,
    OwnNames.ADDON_UPDATES: _of_journals(ADDON_UPDATE),
    OwnNames.METADATA_FIXES: _of_journals(METADATA_FIX),
    OwnNames.DNS_CHANGES: _of_journals(DNS_CHANGE),
    OwnNames.CHANGES: lambda looking, cursor: _of_journals()(looking, cursor) if cursor.names else (),
    OwnNames.CHANGE_VERBS: lambda _, cursor: () if cursor.names else map(Name, there("changes.command.VERBS")),
}
