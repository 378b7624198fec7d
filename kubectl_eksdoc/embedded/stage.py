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

from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, ApiStatus, StatusDetails, not_found
from kubectl_eksdoc.kubernetes.evictions import EvictionRequest
from kubectl_eksdoc.kubernetes.guards import TOKEN_PREFIX
from kubectl_eksdoc.kubernetes.updates import (
    AttachedVolumes,
    BudgetChanged,
    BudgetRemoved,
    NodeChanged,
    NodeRemoved,
    PodChanged,
    PodRemoved,
    PodsFound,
    RequestAnswered,
    RunUpdate,
)
from kubectl_eksdoc.model import kinds, quantities
from kubectl_eksdoc.model.actions import (
    RESTARTED_AT_ANNOTATION,
    ClusterAction,
    Cordon,
    Delete,
    Evict,
    Exclude,
    ListAttachments,
    ListPods,
    NodeChange,
    Protect,
    ReadPod,
    Release,
    Restart,
    Restore,
)
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value, without_path
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import ReadState, Resource
from kubectl_eksdoc.model.nodes import EXCLUDE_FROM_LOAD_BALANCERS, SCALE_DOWN_PROTECTIONS, Pod
from kubectl_eksdoc.objects.collector import FactCollector
from kubectl_eksdoc.objects.single import RawObjects, encode
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from kubectl_eksdoc.simulator.faults import FaultEvent, FaultyControlPlane, InjectedFault
from kubectl_eksdoc.simulator.kubelets import KubeletTimes
from kubectl_eksdoc.simulator.registry import DeleteOptions, FactSource
from kubectl_eksdoc.simulator.store import BUDGETS, NODES, PODS, Store, StoreChange

from .catalogue import Build
from .loading import LoadedCluster, load_observed
from .probed import CoreDnsPods, MeasuredDns, MetadataServices, ProbeKubeletTimes
from .serving.api import Api, ApiSetup
from .serving.handler import ScaledTime
from .serving.objects import eviction_status
from .serving.pod_logs import PodLogs, first_known
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


class _NodeMarks:
    """Mutable: stores what it has added to each node, as a run's note does on a real node."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._added: dict[tuple[str, str], set[str]] = defaultdict(set)  # by UID of the node and kind of keys

    def apply(self, action: NodeChange) -> ApiStatus:
        try:
            return self._apply(action)
        except ApiRefusal as refusal:
            return refusal.status

    def _apply(self, action: NodeChange) -> ApiStatus:
        item = self._plane.store.get(NODES, ("", action.node))
        if item is None or item.uid != action.uid:
            return ApiStatus(404, "NotFound", f'nodes "{action.node}" not found', StatusDetails(action.node, "", NODES))
        match action:
            case Cordon():
                mishaps.set_cordon(self._plane, action.node)
            case Exclude():
                self._add(action, LABELS, (EXCLUDE_FROM_LOAD_BALANCERS,))
            case Protect():
                self._add(action, ANNOTATIONS, SCALE_DOWN_PROTECTIONS)
            case Restore(_, _, cordon):
                if cordon:
                    mishaps.uncordon(self._plane, action.node)
                self._remove(action, LABELS)
            case Release():
                self._remove(action, ANNOTATIONS)
        return ApiStatus(200)

    def _add(self, action: NodeChange, kind: str, keys: Iterable[str]) -> None:
        """Add missing keys; existing values are not changed."""
        doc = self._doc(action.node)
        missing = [key for key in keys if key not in (nested_field(doc, "metadata", kind) or {})]
        for key in missing:
            doc = with_value(doc, ("metadata", kind, key), "true")
        self._added[action.uid, kind].update(missing)
        self._write(action.node, doc)

    def _remove(self, action: NodeChange, kind: str) -> None:
        doc = self._doc(action.node)
        for key in self._added.pop((action.uid, kind), ()):
            doc = without_path(doc, ("metadata", kind, key))
        self._write(action.node, doc)

    def _doc(self, node: str) -> Doc:
        return self._plane.registry.get(NODES, ("", node)).doc

    def _write(self, node: str, doc: Doc) -> None:
        item = self._plane.registry.get(NODES, ("", node))
        if doc != item.doc:
            self._plane.registry.update(item, doc)


# Changes in a simulated cluster, as updates for a run: what a watch of its pods, budgets and nodes would report.


class _StoreUpdates:
    """Mutable: stores changes until they are read; of several changes of one object only the last."""

    def __init__(self, store: Store, facts: FactSource) -> None:
        self._facts = facts
        self._changed: dict[tuple[str, str], StoreChange] = {}  # by resource and UID
        store.listen(self._handle_change)

    def updates(self) -> Sequence[RunUpdate]:
        changed, self._changed = self._changed, {}
        return [self._update(change) for change in sorted(changed.values(), key=lambda change: change.version)]

    def _handle_change(self, change: StoreChange) -> None:
        if change.resource in (PODS, BUDGETS, NODES):
            self._changed[change.resource, change.item.uid] = change

    def _update(self, change: StoreChange) -> RunUpdate:
        item, version = change.item, change.version
        gone = change.is_deletion
        if item.resource == PODS:
            return PodRemoved(item.uid, version) if gone else PodChanged(self._facts.pod(item), version)
        if item.resource == BUDGETS:
            return BudgetRemoved("/".join(item.key)) if gone else BudgetChanged(self._facts.budget(item), version)
        return NodeRemoved(item.key[1]) if gone else NodeChanged(self._facts.node(item))


RUN = "rehearsal"
"""The run id in notes of a rehearsal."""

DEPLOYMENTS = kinds.DEPLOYMENTS.full_name


class SimulatedStage:
    """`observed`: the cluster from which the objects in `plane` were read, with its identity and failed reads."""

    def __init__(
        self, plane: ControlPlane, observed: Cluster, timed_faults: Iterable[InjectedFault] = (), seed: int = 0
    ) -> None:
        self._plane = plane
        self._observed = observed
        self._reads = {read.resource: read for read in observed.reads}
        self._injected: list[FaultEvent] = []
        self._faulty_plane = FaultyControlPlane(plane, timed_faults, self._injected.append, seed)
        self._facts = plane.facts
        self._node_marks = _NodeMarks(plane)
        self._updates = _StoreUpdates(plane.store, plane.facts)
        self._node_templates = {item.key[1]: item.doc for item in plane.store.list(NODES)}  # its node may be gone

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """Return the present objects; resources that were not read at first are unknown here as well."""
        collector = FactCollector(self._observed.source)
        for resource in resources:
            first_read = self._reads.get(resource)
            if first_read is None or first_read.state not in (ReadState.READ, ReadState.INVALID):
                collector.set_state(
                    resource,
                    first_read.state if first_read else ReadState.NOT_HELD,
                    first_read.detail if first_read else "",
                )
                continue
            for item in self._plane.store.list(resource.full_name):
                collector.add_item(resource, encode(item.doc), "the rehearsal")
            collector.set_state(resource, first_read.state, first_read.detail)
        cluster = collector.cluster(self._observed.identity, self._plane.virtual_time.now)
        return replace(cluster, notes=self._observed.notes, invalid_entries=self._observed.invalid_entries)

    @property
    def seconds(self) -> float:
        return self._plane.virtual_time.seconds

    def start(self, kubelet_times: KubeletTimes) -> None:
        self._faulty_plane.start(kubelet_times, workload_controllers)

    @property
    def injected_faults(self) -> Sequence[FaultEvent]:
        return tuple(self._injected)

    def do(self, action: ClusterAction) -> RunUpdate:
        match action:
            case Evict(pod, grace_s):
                return RequestAnswered(action, self._evict(pod, grace_s))
            case Delete(pod):
                return RequestAnswered(action, self._delete(pod))
            case Restart():
                return RequestAnswered(action, self._restart(action))
            case ReadPod(pod):
                item = self._plane.store.get(PODS, (pod.namespace, pod.name))
                return PodsFound(action, () if item is None else (self._facts.pod(item),))
            case ListPods(node):
                items = (item for item in self._plane.store.list(PODS) if item.node == node)
                return PodsFound(action, tuple(map(self._facts.pod, items)))
            case ListAttachments(node):
                attached = map(self._facts.attachment, self._plane.store.list(kinds.VOLUME_ATTACHMENTS.full_name))
                return AttachedVolumes(
                    action, tuple(each.volume for each in attached if each.node == node and each.volume)
                )
            case _:
                return RequestAnswered(action, self._node_marks.apply(action))

    def updates(self) -> Sequence[RunUpdate]:
        return self._updates.updates()

    def _evict(self, pod: Pod, grace_s: int | None) -> ApiStatus:
        request = EvictionRequest(pod.name, pod.name, pod.namespace, uid=pod.uid)
        try:
            return eviction_status(self._plane.evictions.evict(request, grace_s), pod.name)
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

    def _restart(self, action: Restart) -> ApiStatus:
        registry = self._plane.registry
        item = registry.store.get(DEPLOYMENTS, (action.namespace, action.name))
        if item is None or item.uid != action.uid:
            return not_found(kinds.DEPLOYMENTS, action.name).status
        path = ("spec", "template", "metadata", "annotations", RESTARTED_AT_ANNOTATION)
        registry.update(item, with_value(item.doc, path, RUN))
        return ApiStatus(200)

    def join_node(self, like: str, name: str) -> bool:
        if not self._faulty_plane.joins():
            return False
        mishaps.join_node(self._plane, self._node_templates[like], name)
        self._plane.virtual_time.run_until(self._plane.virtual_time.seconds)
        return True

    def pass_time(self, until_s: float) -> bool:
        agenda = self._plane.virtual_time
        due_s = agenda.due_s
        is_due = due_s is not None and due_s <= until_s
        agenda.run_until(due_s if is_due and due_s is not None else until_s)
        return is_due

    def pending(self) -> Sequence[tuple[str, str]]:
        waiting = (item for item in self._plane.store.list(PODS) if not item.node)
        return tuple((f"{item.key[0]}/{item.key[1]}", _scheduler_message(item.doc)) for item in waiting)


def _scheduler_message(pod: Doc) -> str:
    conditions = nested_field(pod, "status", "conditions") or ()
    messages = [str(each.get("message") or "") for each in conditions if each.get("type") == "PodScheduled"]
    return messages[0] if messages else ""


def build_stage(
    observed: Cluster, raw: RawObjects, timed_faults: Iterable[InjectedFault] = (), seed: int = 0
) -> SimulatedStage:
    """Return a simulated cluster with the objects of an observed cluster, at the time of the observation.

    Raises:
        SnapshotError: an object cannot be loaded.
    """
    loaded = load_observed(observed, raw)
    observed = observed.with_invalid(loaded.invalid)
    return SimulatedStage(loaded.plane, replace(observed, notes=observed.notes + loaded.notes), timed_faults, seed)


# A simulated cluster behind an API, with an accelerated clock.


def build_api(
    observed: Cluster,
    loaded: LoadedCluster,
    kubelet_times: KubeletTimes,
    users: Mapping[str, ServedUser],
    speed: float,
    monotonic: Callable[[], float],
    faulty_plane: FaultyControlPlane | None = None,
    services: MetadataServices | None = None,
    note: Callable[[str], object] = str,
) -> Api:
    """Return the API of a loaded cluster; it reports the version of the observed server. `users` by their tokens;
    `monotonic` returns real seconds; `faulty_plane`: the control plane with cluster faults; `services`: the instance
    metadata services of its nodes, if known; `note` receives the reason if the API stops responding."""
    plane = loaded.plane
    dns = MeasuredDns(plane, speed)
    (faulty_plane or plane).start(ProbeKubeletTimes(kubelet_times, dns), workload_controllers)
    version = server_version(observed)
    build = Build(git_version=version) if version else Build()
    resolvers = CoreDnsPods(plane)
    logs = PodLogs(first_known(dns.logs, *(() if services is None else (services.logs,))), resolvers.lines)
    return Api(
        plane,
        ApiSetup(TokenUsers(users), build, logs=logs, ports=resolvers.answer, note=note),
        ScaledTime(monotonic, speed),
    )


def server_version(observed: Cluster) -> str:
    """Return the API server's version, "" if unknown. A dump does not contain it: then the newest kubelet's version is
    used, which is never newer than the server's."""
    kubelets = [(node.kubelet, node.kubelet_text) for node in observed.nodes if node.kubelet is not None]
    newest = max(kubelets, key=lambda each: each[0])[1] if kubelets else ""
    identity_version = observed.identity.server_version
    return with_patch_version(identity_version if quantities.parse_version(identity_version) is not None else newest)


def with_patch_version(version: str) -> str:
    """Add a patch version if only a minor is known: kubectl accepts no version without one."""
    parsed_version = quantities.parse_version(version)
    return version if parsed_version is None or parsed_version.patch is not None else f"{parsed_version}.0"


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


def new_tokens() -> Mapping[str, ServedUser]:
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
    server, _, token = url.partition(TOKEN_PREFIX)
    return server.replace("://", f"://{token}@")


def write_kubeconfig(text: str, path: str = "") -> str:
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
