"""The simulated cluster as a `ports.SimulatedCluster`: a drain is rehearsed on it, in virtual time and this thread.
Also the simulated cluster behind an API, and its kubeconfig."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, ApiStatus, Details, not_found
from kubectl_eksdoc.kubernetes.evictions import EvictionRequest
from kubectl_eksdoc.kubernetes.guards import AS
from kubectl_eksdoc.kubernetes.news import (
    AttachedVolumes,
    BudgetGone,
    BudgetIs,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
    PodsFound,
    RequestAnswered,
)
from kubectl_eksdoc.model import kinds, quantities
from kubectl_eksdoc.model.actions import (
    RESTARTED_AT,
    Act,
    Cordon,
    Delete,
    Evict,
    Exclude,
    ListAttachments,
    ListPods,
    Look,
    OfNode,
    Protect,
    Release,
    Restart,
    Restore,
)
from kubectl_eksdoc.model.api_objects import Doc, at, with_value, without
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import ReadState, Resource
from kubectl_eksdoc.model.nodes import EXCLUDED_FROM_BALANCERS, PROTECTIONS, Pod
from kubectl_eksdoc.objects.collector import Collector
from kubectl_eksdoc.objects.single import RawObjects, encode
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.faults import FaultyControlPlane, InjectedMishap, TimedMishap
from kubectl_eksdoc.simulator.kubelets import KubeletTimes
from kubectl_eksdoc.simulator.plane import ControlPlane, every_controller
from kubectl_eksdoc.simulator.registry import DeleteOptions, FactSource
from kubectl_eksdoc.simulator.store import BUDGETS, NODES, PODS, Store, StoreChange

from .catalogue import Build
from .loading import Loaded, load_observed
from .probed import AskedDns, MetadataServices, Resolvers, WithProbes
from .serving.api import Api, Setup
from .serving.handler import Scaled
from .serving.objects import status_of
from .serving.pod_logs import PodLogs, first_of
from .serving.requests import (
    ADMIN,
    VIEWER,
    RbacRule,
    ServedUser,
    TokenUsers,
    restricted,
)

# Changes of a drain to nodes, and their reversal: cordons, labels for load balancers, protections.


LABELS, ANNOTATIONS = "labels", "annotations"


class _Marked:
    """Mutable: stores what it has added to each node, as a run's note does on a real node."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._added: dict[tuple[str, str], set[str]] = defaultdict(set)  # by UID of the node and kind of keys

    def done(self, act: OfNode) -> ApiStatus:
        try:
            return self._done(act)
        except ApiRefusal as refusal:
            return refusal.status

    def _done(self, act: OfNode) -> ApiStatus:
        item = self._plane.store.get(NODES, ("", act.node))
        if item is None or item.uid != act.uid:
            return ApiStatus(404, "NotFound", f'nodes "{act.node}" not found', Details(act.node, "", NODES))
        match act:
            case Cordon():
                mishaps.cordon(self._plane, act.node)
            case Exclude():
                self._add(act, LABELS, (EXCLUDED_FROM_BALANCERS,))
            case Protect():
                self._add(act, ANNOTATIONS, PROTECTIONS)
            case Restore(_, _, cordon):
                if cordon:
                    mishaps.uncordon(self._plane, act.node)
                self._remove(act, LABELS)
            case Release():
                self._remove(act, ANNOTATIONS)
        return ApiStatus(200)

    def _add(self, act: OfNode, kind: str, keys: Iterable[str]) -> None:
        """Add missing keys; existing values are not changed."""
        doc = self._doc(act.node)
        missing = [key for key in keys if key not in (at(doc, "metadata", kind) or {})]
        for key in missing:
            doc = with_value(doc, ("metadata", kind, key), "true")
        self._added[act.uid, kind].update(missing)
        self._write(act.node, doc)

    def _remove(self, act: OfNode, kind: str) -> None:
        doc = self._doc(act.node)
        for key in self._added.pop((act.uid, kind), ()):
            doc = without(doc, ("metadata", kind, key))
        self._write(act.node, doc)

    def _doc(self, node: str) -> Doc:
        return self._plane.registry.get(NODES, ("", node)).doc

    def _write(self, node: str, doc: Doc) -> None:
        item = self._plane.registry.get(NODES, ("", node))
        if doc != item.doc:
            self._plane.registry.update(item, doc)


# Changes in a simulated cluster, as updates for a run: what a watch of its pods, budgets and nodes would report.


class _Watched:
    """Mutable: stores changes until they are read; of several changes of one object only the last."""

    def __init__(self, store: Store, facts: FactSource) -> None:
        self._facts = facts
        self._changed: dict[tuple[str, str], StoreChange] = {}  # by resource and UID
        store.listen(self._note)

    def news(self) -> Sequence[News]:
        changed, self._changed = self._changed, {}
        return [self._told(change) for change in sorted(changed.values(), key=lambda change: change.version)]

    def _note(self, change: StoreChange) -> None:
        if change.resource in (PODS, BUDGETS, NODES):
            self._changed[change.resource, change.item.uid] = change

    def _told(self, change: StoreChange) -> News:
        item, version = change.item, change.version
        gone = change.gone
        if item.resource == PODS:
            return PodGone(item.uid, version) if gone else PodIs(self._facts.pod(item), version)
        if item.resource == BUDGETS:
            return BudgetGone("/".join(item.key)) if gone else BudgetIs(self._facts.budget(item), version)
        return NodeGone(item.key[1]) if gone else NodeIs(self._facts.node(item))


RUN = "rehearsal"
"""The run id in notes of a rehearsal."""

DEPLOYMENTS = kinds.DEPLOYMENTS.full_name


class EmbeddedStage:
    """`observed`: the cluster from which the objects in `plane` were read, with its identity and failed reads."""

    def __init__(
        self, plane: ControlPlane, observed: Cluster, troubles: Iterable[TimedMishap] = (), seed: int = 0
    ) -> None:
        self._plane = plane
        self._observed = observed
        self._reads = {read.resource: read for read in observed.reads}
        self._befallen: list[InjectedMishap] = []
        self._troubled = FaultyControlPlane(plane, troubles, self._befallen.append, seed)
        self._facts = plane.facts
        self._marked = _Marked(plane)
        self._watched = _Watched(plane.store, plane.facts)
        self._models = {item.key[1]: item.doc for item in plane.store.list(NODES)}  # its node may be gone

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """Return the present objects; resources that were not read at first are unknown here as well."""
        collector = Collector(self._observed.source)
        for resource in resources:
            was = self._reads.get(resource)
            if was is None or was.state not in (ReadState.READ, ReadState.INVALID):
                collector.mark(resource, was.state if was else ReadState.NOT_HELD, was.detail if was else "")
                continue
            for item in self._plane.store.list(resource.full_name):
                collector.add_item(resource, encode(item.doc), "the rehearsal")
            collector.mark(resource, was.state, was.detail)
        cluster = collector.cluster(self._observed.identity, self._plane.agenda.now)
        return replace(cluster, notes=self._observed.notes, left_out=self._observed.left_out)

    @property
    def seconds(self) -> float:
        return self._plane.agenda.seconds

    def start(self, pace: KubeletTimes) -> None:
        self._troubled.start(pace, every_controller)

    @property
    def befallen(self) -> Sequence[InjectedMishap]:
        return tuple(self._befallen)

    def do(self, act: Act) -> News:
        match act:
            case Evict(pod, grace_s):
                return RequestAnswered(act, self._evict(pod, grace_s))
            case Delete(pod):
                return RequestAnswered(act, self._delete(pod))
            case Restart():
                return RequestAnswered(act, self._restart(act))
            case Look(pod):
                item = self._plane.store.get(PODS, (pod.namespace, pod.name))
                return PodsFound(act, () if item is None else (self._facts.pod(item),))
            case ListPods(node):
                held = (item for item in self._plane.store.list(PODS) if item.node == node)
                return PodsFound(act, tuple(map(self._facts.pod, held)))
            case ListAttachments(node):
                attached = map(self._facts.attachment, self._plane.store.list(kinds.VOLUME_ATTACHMENTS.full_name))
                return AttachedVolumes(
                    act, tuple(each.volume for each in attached if each.node == node and each.volume)
                )
            case _:
                return RequestAnswered(act, self._marked.done(act))

    def news(self) -> Sequence[News]:
        return self._watched.news()

    def _evict(self, pod: Pod, grace_s: int | None) -> ApiStatus:
        request = EvictionRequest(pod.name, pod.name, pod.namespace, uid=pod.uid)
        try:
            return status_of(self._plane.evictions.evict(request, grace_s), pod.name)
        except ApiRefusal as refusal:  # from admission: a namespace that is being deleted
            return refusal.status

    def _delete(self, pod: Pod) -> ApiStatus:
        registry = self._plane.registry
        item = registry.store.get(PODS, (pod.namespace, pod.name))
        if item is None:
            return not_found(kinds.PODS, pod.name).status
        try:
            registry.delete(item, DeleteOptions(uid=pod.uid, grace_s=None if pod.grace_seconds > 0 else 1))
        except ApiRefusal as refusal:
            return refusal.status
        return ApiStatus(200)

    def _restart(self, act: Restart) -> ApiStatus:
        registry = self._plane.registry
        item = registry.store.get(DEPLOYMENTS, (act.namespace, act.name))
        if item is None or item.uid != act.uid:
            return not_found(kinds.DEPLOYMENTS, act.name).status
        path = ("spec", "template", "metadata", "annotations", RESTARTED_AT)
        registry.update(item, with_value(item.doc, path, RUN))
        return ApiStatus(200)

    def join(self, like: str, name: str) -> bool:
        if not self._troubled.joins():
            return False
        mishaps.join(self._plane, self._models[like], name)
        self._plane.agenda.run_until(self._plane.agenda.seconds)
        return True

    def pass_time(self, until_s: float) -> bool:
        agenda = self._plane.agenda
        due_s = agenda.due_s
        happens = due_s is not None and due_s <= until_s
        agenda.run_until(due_s if happens and due_s is not None else until_s)
        return happens

    def pending(self) -> Sequence[tuple[str, str]]:
        waiting = (item for item in self._plane.store.list(PODS) if not item.node)
        return tuple((f"{item.key[0]}/{item.key[1]}", _said(item.doc)) for item in waiting)


def _said(pod: Doc) -> str:
    conditions = at(pod, "status", "conditions") or ()
    said = [str(each.get("message") or "") for each in conditions if each.get("type") == "PodScheduled"]
    return said[0] if said else ""


def stage_of(observed: Cluster, raw: RawObjects, troubles: Iterable[TimedMishap] = (), seed: int = 0) -> EmbeddedStage:
    """Return a simulated cluster with the objects of an observed cluster, at the time of the observation.

    Raises:
        SnapshotError: an object cannot be loaded.
    """
    loaded = load_observed(observed, raw)
    observed = observed.leaving_out(loaded.invalid)
    return EmbeddedStage(loaded.plane, replace(observed, notes=observed.notes + loaded.notes), troubles, seed)


# A simulated cluster behind an API, with an accelerated clock.


def api_of(
    observed: Cluster,
    loaded: Loaded,
    pace: KubeletTimes,
    users: Mapping[str, ServedUser],
    speed: float,
    monotonic: Callable[[], float],
    troubled: FaultyControlPlane | None = None,
    services: MetadataServices | None = None,
    note: Callable[[str], object] = str,
) -> Api:
    """Return the API of a loaded cluster; it reports the version of the observed server. `users` by their tokens;
    `monotonic` returns real seconds; `faulty_plane`: the control plane with cluster faults; `services`: the instance
    metadata services of its nodes, if known; `note` receives the reason if the API stops responding."""
    plane = loaded.plane
    dns = AskedDns(plane, speed)
    (troubled or plane).start(WithProbes(pace, dns), every_controller)
    said = version_of(observed)
    build = Build(git_version=said) if said else Build()
    resolvers = Resolvers(plane)
    logs = PodLogs(first_of(dns.logs, *(() if services is None else (services.logs,))), resolvers.lines)
    return Api(
        plane, Setup(TokenUsers(users), build, logs=logs, ports=resolvers.answer, note=note), Scaled(monotonic, speed)
    )


def version_of(observed: Cluster) -> str:
    """Return the API server's version, "" if unknown. A dump does not contain it: then the newest kubelet's version is
    used, which is never newer than the server's."""
    kubelets = [(node.kubelet, node.kubelet_text) for node in observed.nodes if node.kubelet is not None]
    newest = max(kubelets, key=lambda each: each[0])[1] if kubelets else ""
    said = observed.identity.server_version
    return whole(said if quantities.parse(said) is not None else newest)


def whole(version: str) -> str:
    """Add a patch version if only a minor is known: kubectl accepts no version without one."""
    found = quantities.parse(version)
    return version if found is None or found.patch is not None else f"{found}.0"


# A kubeconfig for a served cluster, and the tokens of its users.


CONTEXT = "rehearsal"

OPERATOR = restricted(
    "operator",
    (
        RbacRule(("get", "list", "watch"), paths=("*",)),
        RbacRule(("patch", "update"), ("nodes",)),
        RbacRule(("create",), ("pods/eviction",)),
    ),
)
"""May drain nodes, and nothing else."""

USERS = (ADMIN, VIEWER, OPERATOR)


def tokens() -> Mapping[str, ServedUser]:
    """Return a new token for each user."""
    return {secrets.token_urlsafe(24): user for user in USERS}


def kubeconfig(urls: Mapping[str, str]) -> str:
    """Return the text of a kubeconfig with a context for each user: `urls` by the user's name, with the token in them.

    The administrator's context is the current one. The text is JSON, which is also YAML.

    ``kubectl get --raw`` drops the path of the server's address (cli-runtime, RequestURI), and the token with it. But
    it always sends proxy credentials: so each server is configured as its own proxy as well.
    """
    names = {user: CONTEXT if user == ADMIN.name else f"{CONTEXT}-{user}" for user in urls}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": names[ADMIN.name],
        "clusters": [
            {"name": names[user], "cluster": {"server": url, "proxy-url": _proxy(url)}} for user, url in urls.items()
        ],
        "users": [{"name": name, "user": {}} for name in names.values()],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names.values()],
    }
    return json.dumps(config, indent=2) + "\n"


def _proxy(url: str) -> str:
    """Return the server of such an address as a proxy URL with the token as user."""
    server, _, token = url.partition(AS)
    return server.replace("://", f"://{token}@")


def write(text: str, path: str = "") -> str:
    """Write it so that only this user can read it, because it contains tokens; "": a temporary file. Returns the path.

    Raises:
        OSError: it cannot be written, or exists already.
    """
    if not path:
        handle, path = tempfile.mkstemp(prefix="eksdoc-rehearsal-", suffix=".kubeconfig")
    else:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return path
