"""Names for completion, of whatever a command would read.

A cluster is asked by a process beside the one that answers the Tab key, and what it said is remembered.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import astuple
from time import monotonic, sleep, time
from typing import TYPE_CHECKING

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import names
from kubectl_eksdoc.model.names import Name, NameKind
from kubectl_eksdoc.session.sources import SourceChoice, namespace_of, open_reader

if TYPE_CHECKING:
    from kubectl_eksdoc.host.cache import KnownNames
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import Connection

WAIT_S = 0.9
"""So long whoever presses Tab waits for a cluster; what comes later is there for the next press."""
PATIENT_S = 3.0
"""So long after the first press of the key others wait for the same answer; later ones only look whether it came."""
LONGEST_S = 10.0
"""So long a look-up may take, with its credential plugin."""
OFFLINE = "EKSDOC_COMPLETION_OFFLINE"
"""The environment variable that has nothing be asked; what is remembered is offered."""

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
"""What of the environment makes out which cluster is asked, and as whom."""

Begin = Callable[[Callable[[], object], float, float], None]


@frozen
class NameQuery:
    """`namespace`: where pods and runs are, "" for the usual one. `aws`: cluster, region and profile as they are given,
    which only add-ons are asked by."""

    kind: NameKind
    source: SourceChoice
    connection: Connection
    namespace: str = ""
    aws: tuple[str, str, str] = ("", "", "")


@frozen
class BackgroundReads:
    """How work is done beside this process: as by `host.background.begun`. `wait_s`: so long it is waited for."""

    begin: Begin
    wait_s: float = WAIT_S


def names_of(asked: NameQuery, environ: Mapping[str, str], home: str, beside: BackgroundReads) -> tuple[Name, ...]:
    """None where they cannot be had; of the demo they are read at once."""
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
    """Those of which this machine has a journal, the latest first."""
    from kubectl_eksdoc.errors import LocalJournalError
    from kubectl_eksdoc.host.journals import runs, runs_folder

    try:
        return tuple(Name(each, "on this machine") for each in reversed(runs(runs_folder(environ, home))))
    except LocalJournalError:
        return ()


def changes_here(environ: Mapping[str, str], home: str, kinds: Collection[str] = ()) -> tuple[Name, ...]:
    """Of these kinds, or of all, the latest first."""
    from kubectl_eksdoc.errors import LocalJournalError
    from kubectl_eksdoc.wiring.changes import saved_changes

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
    """Returns when there is an answer, or when it is time. A look-up that was ended before it had one is not begun
    again for a while: the cluster would hold whoever presses the key as long as before."""
    from kubectl_eksdoc.host.cache import FAILED_S

    since_s = known.asked_for(key, time())
    if since_s >= LONGEST_S + FAILED_S:
        known.begin(key, time())
        beside.begin(look, beside.wait_s, LONGEST_S)
        return
    ends_s = monotonic() + (beside.wait_s if since_s < PATIENT_S else 0.0)  # somebody pressed the key before
    while monotonic() < ends_s:
        found = known.of(key)
        if found is not None and found.fresh(time()):
            return
        sleep(_LOOK_S)


def _look(asked: NameQuery, environ: Mapping[str, str], home: str, known: KnownNames, key: str) -> None:
    """Remember what is found. Where nothing is, that is remembered for a while, too, with what was found before."""
    from kubectl_eksdoc.host.cache import CachedNames

    try:
        names = _read(asked, environ, home)
    except Exception:  # of the cluster, or a bug: nobody is there to be told
        older = known.of(key)
        known.keep(key, CachedNames(() if older is None else older.names, time(), 0.0 if older is None else older.seen))
        return
    known.keep(key, CachedNames(names, time(), time()))


def _read(asked: NameQuery, environ: Mapping[str, str], home: str) -> tuple[Name, ...]:
    """Raises EksdocError: they cannot be had."""
    if asked.kind is NameKind.ADDONS:
        return _addons(asked)
    if asked.source.live:
        from kubectl_eksdoc.kube import single_objects
        from kubectl_eksdoc.kube.target import CredentialContext

        # Nobody sits there whom a credential plugin could ask.
        return single_objects.names_of(asked.connection, asked.kind, asked.namespace, CredentialContext(environ, home))
    from kubectl_eksdoc.model import kinds

    namespace = asked.namespace
    if asked.kind is NameKind.PODS and not namespace:
        namespace = namespace_of(asked.source, asked.connection)
    wanted = (kinds.NODES, kinds.PODS, kinds.BUDGETS, kinds.NAMESPACES, kinds.NODE_POOLS)
    return held_in(open_reader(asked.source, asked.connection).read(wanted), asked.kind, namespace)


def _addons(asked: NameQuery) -> tuple[Name, ...]:
    from kubectl_eksdoc.aws.eks import addon_names
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.model.kinds import Unknown
    from kubectl_eksdoc.session.session import ClusterNeeds, SessionRequest, open_session

    opening = SessionRequest(asked.source, asked.connection, AwsRequest(*asked.aws), ClusterNeeds("addon-diff", ()))
    found = open_session(opening).ask(addon_names)
    return () if isinstance(found, Unknown) else tuple(Name(name, "in this cluster") for name in found)


def held_in(cluster: Cluster, kind: NameKind, namespace: str) -> tuple[Name, ...]:
    """`namespace`: of pods. Runs are of live clusters alone."""
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
    """A file that was written meanwhile is another one: a kubeconfig may have another context then."""
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
