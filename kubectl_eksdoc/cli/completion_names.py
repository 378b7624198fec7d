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
from kubectl_eksdoc.model.names import CompletionName, NameKind
from kubectl_eksdoc.session.sources import SourceChoice, default_namespace, open_reader

from .completion_candidates import Cursor, for_command
from .completion_sources import FORMATS_BY_COMMAND, OwnNames
from .entry_point import lazy_call, load_object
from .flags import SUPPORTED_FLAGS, FlagValueKind

if TYPE_CHECKING:
    from kubectl_eksdoc.host.cache import NameCache
    from kubectl_eksdoc.kube.target import CredentialContext
    from kubectl_eksdoc.model.cluster import Cluster


# Names from the source that the command would read, with a cache.


CLUSTER_WAIT_S = 0.9
"""The time limit for the cluster at one press of Tab; a later answer is in the cache for the next press."""
SHARED_WAIT_S = 3.0
"""Seconds after the first press of Tab in which later presses wait for the same answer; after that they only read the
cache."""
LOOKUP_TIMEOUT_S = 10.0
"""The time limit of a lookup, with its credential plugin."""
OFFLINE_VARIABLE = "EKSDOC_COMPLETION_OFFLINE"
"""The environment variable that turns lookups off; cached names are offered."""

_POLL_INTERVAL_S = 0.02
_TARGET_VARIABLES = (
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

StartInBackground = Callable[[Callable[[], object], float, float], None]


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

    start: StartInBackground
    wait_s: float = CLUSTER_WAIT_S


def cached_names(
    query: NameQuery, environ: Mapping[str, str], home: str, background: BackgroundReads
) -> tuple[CompletionName, ...]:
    """Empty where they cannot be read; names of the demo are read at once."""
    if query.source.demo:
        return _read_names(query, environ, home)
    from kubectl_eksdoc.host.cache import NameCache, cache_folder

    folder = cache_folder(environ, home)
    if folder is None or query.source.snapshot == "-":
        return ()
    cache = NameCache(folder)
    key = _cache_key(query, environ, home)
    entry = cache.read(key)
    if not environ.get(OFFLINE_VARIABLE) and (entry is None or not entry.is_fresh(time())):
        _wait_for_lookup(lambda: _look_up(query, environ, home, cache, key), cache, key, background)
        entry = cache.read(key)
    return () if entry is None else entry.usable_names(time())


def local_runs(environ: Mapping[str, str], home: str) -> tuple[CompletionName, ...]:
    """The runs that have a journal on this machine, the latest first."""
    from kubectl_eksdoc.errors import LocalJournalError
    from kubectl_eksdoc.host.journals import run_ids, runs_folder

    try:
        return tuple(CompletionName(each, "on this machine") for each in reversed(run_ids(runs_folder(environ, home))))
    except LocalJournalError:
        return ()


def local_changes(environ: Mapping[str, str], home: str, kinds: Collection[str] = ()) -> tuple[CompletionName, ...]:
    """The changes of these kinds, or of all, the latest first."""
    from kubectl_eksdoc.errors import LocalJournalError
    from kubectl_eksdoc.wiring.runs import saved_changes

    try:
        changes = saved_changes(environ, home, _MAX_CHANGES)
    except LocalJournalError:
        return ()
    return tuple(
        CompletionName(each.id, each.text("what") or "on this machine")
        for each in changes
        if not kinds or each.text("kind") in kinds
    )


_MAX_CHANGES = 50


def _wait_for_lookup(look_up: Callable[[], object], cache: NameCache, key: str, background: BackgroundReads) -> None:
    """Return when there is a result, or after the time limit. A lookup that ended without a result is not started again
    for a while: the cluster would delay the next press of Tab as well."""
    from kubectl_eksdoc.host.cache import RETRY_S

    started_ago_s = cache.pending_s(key, time())
    if started_ago_s >= LOOKUP_TIMEOUT_S + RETRY_S:
        cache.mark_requested(key, time())
        background.start(look_up, background.wait_s, LOOKUP_TIMEOUT_S)
        return
    deadline_s = monotonic() + (
        background.wait_s if started_ago_s < SHARED_WAIT_S else 0.0
    )  # an earlier press started the lookup
    while monotonic() < deadline_s:
        entry = cache.read(key)
        if entry is not None and entry.is_fresh(time()):
            return
        sleep(_POLL_INTERVAL_S)


def _look_up(query: NameQuery, environ: Mapping[str, str], home: str, cache: NameCache, key: str) -> None:
    """Cache the result. An error is cached for a while, too, with the earlier names."""
    from kubectl_eksdoc.host.cache import CachedNames

    try:
        names = _read_names(query, environ, home)
    except Exception:  # of the cluster, or a bug: there is no user to report it to
        previous = cache.read(key)
        cache.write(
            key,
            CachedNames(
                () if previous is None else previous.names, time(), 0.0 if previous is None else previous.received_at
            ),
        )
        return
    cache.write(key, CachedNames(names, time(), time()))


def _read_names(query: NameQuery, environ: Mapping[str, str], home: str) -> tuple[CompletionName, ...]:
    """Raises EksdocError: the names cannot be read."""
    if query.kind is NameKind.ADDONS:
        return _addon_names(query)
    if query.source.live:
        from kubectl_eksdoc.kube import single_objects
        from kubectl_eksdoc.kube.target import CredentialContext

        # Not interactive: a credential plugin cannot prompt the user.
        return single_objects.names_of(query.connection, query.kind, query.namespace, CredentialContext(environ, home))
    from kubectl_eksdoc.model import kinds

    namespace = query.namespace
    if query.kind is NameKind.PODS and not namespace:
        namespace = default_namespace(query.source, query.connection)
    resources = (kinds.NODES, kinds.PODS, kinds.BUDGETS, kinds.NAMESPACES, kinds.NODE_POOLS)
    return names_in_cluster(open_reader(query.source, query.connection).read(resources), query.kind, namespace)


def _addon_names(query: NameQuery) -> tuple[CompletionName, ...]:
    from kubectl_eksdoc.aws.eks import addon_names
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.model.kinds import Unknown
    from kubectl_eksdoc.session.session import ClusterNeeds, SessionRequest, open_session

    request = SessionRequest(query.source, query.connection, AwsRequest(*query.aws), ClusterNeeds("addon-diff", ()))
    addons = open_session(request).ask(addon_names)
    return () if isinstance(addons, Unknown) else tuple(CompletionName(name, "in this cluster") for name in addons)


def names_in_cluster(cluster: Cluster, kind: NameKind, namespace: str) -> tuple[CompletionName, ...]:
    """`namespace`: that of pods. Runs exist in live clusters only."""
    if kind is NameKind.NODES:
        return names.node_names((node.name, node.labels) for node in cluster.nodes)
    if kind is NameKind.NODE_GROUPS:
        return names.node_group_names(
            (node.labels for node in cluster.nodes), (pool.name for pool in cluster.node_pools)
        )
    if kind is NameKind.NAMESPACES:
        namespaces = {each.name for each in cluster.namespaces} | {pod.namespace for pod in cluster.pods}
        return tuple(map(CompletionName, sorted(namespaces)))
    if kind is NameKind.PODS:
        return tuple(CompletionName(pod.name) for pod in cluster.pods if pod.namespace == namespace)
    if kind is NameKind.PODS_ANYWHERE:
        return tuple(CompletionName(f"{pod.namespace}/{pod.name}") for pod in cluster.pods)
    if kind is NameKind.BUDGETS:
        return tuple(CompletionName(f"{budget.namespace}/{budget.name}") for budget in cluster.budgets)
    return ()


def _cache_key(query: NameQuery, environ: Mapping[str, str], home: str) -> str:
    """The state of the files is a part of the key: a kubeconfig that was written meanwhile may have another context."""
    if query.source.snapshot:
        parts: list[object] = [query.source.snapshot, os.getcwd(), _file_state(query.source.snapshot)]
    else:
        configured = query.connection.kubeconfig or environ.get("KUBECONFIG") or os.path.join(home, ".kube", "config")
        paths = [configured] if query.connection.kubeconfig else configured.split(os.pathsep)
        parts = [(os.path.abspath(path), _file_state(path)) for path in paths]
        parts += [astuple(query.connection), [environ.get(name, "") for name in _TARGET_VARIABLES]]
    text = repr((query.kind.value, query.namespace, query.aws, parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _file_state(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    except (OSError, ValueError):
        return 0, 0


_AWS_WAIT_S = 0.3
"""Shorter, as AWS usually takes longer, and adds few names."""


@frozen
class NameLookup:
    """The lookup of names for `completion_candidates`. `background`: as in `names_of`."""

    environ: Mapping[str, str]
    home: str
    background: BackgroundReads | None = None

    def names_of(self, kind: NameKind | OwnNames, cursor: Cursor, namespace_flag: str = "") -> Iterable[CompletionName]:
        """As `completion_candidates._Names.names_of`."""
        if isinstance(kind, OwnNames):
            return _READ_OWN_NAMES[kind](self, cursor)
        from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

        if kind is NameKind.RUNS:
            cluster_runs = self.cluster_names(kind, cursor, cursor.last_value(namespace_flag) or JOURNAL_NAMESPACE)
            return (*local_runs(self.environ, self.home), *cluster_runs)
        return self.cluster_names(kind, cursor, cursor.last_value("--namespace") if kind is NameKind.PODS else "")

    def credential_context(self) -> CredentialContext:
        from kubectl_eksdoc.kube.target import CredentialContext

        return CredentialContext(self.environ, self.home)

    def cluster_names(self, kind: NameKind, cursor: Cursor, namespace: str = "") -> tuple[CompletionName, ...]:
        """Names in the cluster that the flags before the cursor select."""
        from kubectl_eksdoc.host.processes import run_in_background

        source = SourceChoice(snapshot=cursor.last_value("--snapshot"), demo=cursor.is_switched_on("--demo"))
        flag_values = (
            cursor.last_value("--cluster-name"),
            cursor.last_value("--region"),
            cursor.last_value("--profile"),
        )
        aws_flags = flag_values if kind is NameKind.ADDONS else ("", "", "")
        query = NameQuery(kind, source, connection_of(cursor), namespace, aws_flags)
        background = self.background or BackgroundReads(
            run_in_background, _AWS_WAIT_S if kind is NameKind.ADDONS else CLUSTER_WAIT_S
        )
        try:
            return cached_names(query, self.environ, self.home, background)
        except EksdocError:
            return ()  # the command itself will report the error


def connection_of(cursor: Cursor) -> Connection:
    """The connection by the flags before the cursor; invalid values are left out."""
    connection_fields = {field.name for field in fields(Connection)}
    field_values: dict[str, object] = {}
    for flag in SUPPORTED_FLAGS:
        if (
            flag.dest in connection_fields
            and flag.long in cursor.flag_values
            and flag.value_kind is not FlagValueKind.SECONDS
        ):
            values = cursor.flag_values[flag.long]
            if flag.value_kind is FlagValueKind.SWITCH:
                field_values[flag.dest] = cursor.is_switched_on(flag.long)
            else:
                field_values[flag.dest] = values if flag.value_kind is FlagValueKind.REPEATED else values[-1]
    return Connection(**field_values)  # type: ignore[arg-type]


def _journal_names(*kinds: str) -> Callable[[NameLookup, Cursor], Iterable[CompletionName]]:
    """Of changes of these kinds, or of all."""

    def read(lookup: NameLookup, cursor: Cursor) -> Iterable[CompletionName]:

        return local_changes(lookup.environ, lookup.home, kinds)

    return read


def _format_names(lookup: NameLookup, cursor: Cursor) -> Iterable[CompletionName]:
    path = for_command(FORMATS_BY_COMMAND, cursor)
    formats = load_object(path) if path is not None else ()
    return map(CompletionName, getattr(formats, "formats", formats))


def _fault_names(lookup: NameLookup, cursor: Cursor) -> Iterable[CompletionName]:
    from kubectl_eksdoc.embedded.faults import ALL_FAULTS

    from .options import LIST_FAULTS

    return (
        CompletionName(LIST_FAULTS, "show all of them"),
        *(CompletionName(each.name, each.about) for each in ALL_FAULTS),
    )


def _known_addons(lookup: NameLookup, cursor: Cursor) -> Iterable[CompletionName]:
    from kubectl_eksdoc.amazon.addon_needs import KNOWN_SOFTWARE

    installed = {each.text for each in lookup.cluster_names(NameKind.ADDONS, cursor)}
    about_by_name = {each.name: each.about for each in KNOWN_SOFTWARE if each.eks_addon}
    for name in sorted(installed | {*about_by_name}):
        parts = (about_by_name.get(name, ""), "in this cluster" if name in installed else "")
        yield CompletionName(name, ", ".join(filter(None, parts)))


_READ_OWN_NAMES: Mapping[OwnNames, Callable[[NameLookup, Cursor], Iterable[CompletionName]]] = {
    OwnNames.FILES: lambda *_: (),  # completed by the shell
    OwnNames.CONTEXTS: lambda looking, cursor: lazy_call("kube.config.context_names")(
        cursor.last_value("--kubeconfig"), looking.credential_context()
    ),
    OwnNames.FORMATS: _format_names,
    OwnNames.COMMANDS: lambda _, cursor: map(
        CompletionName, lazy_call("permissions.command.rights.next_words")(cursor.names)
    ),
    OwnNames.FAULTS: _fault_names,
    OwnNames.FIXES: lambda *_: map(CompletionName, load_object("imds_probe.fix.CARRIED_OUT")),
    OwnNames.ADDONS: _known_addons,
    OwnNames.ADDON_UPDATES: _journal_names(ADDON_UPDATE),
    OwnNames.METADATA_FIXES: _journal_names(METADATA_FIX),
    OwnNames.DNS_CHANGES: _journal_names(DNS_CHANGE),
    OwnNames.CHANGES: lambda looking, cursor: _journal_names()(looking, cursor) if cursor.names else (),
    OwnNames.CHANGE_VERBS: lambda _, cursor: (
        () if cursor.names else map(CompletionName, load_object("changes.command.VERBS"))
    ),
}
