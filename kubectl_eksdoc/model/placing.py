"""Objects that are put into a cluster, pods of ours among them; what spec and volumes of a pod demand of its node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from kubectl_eksdoc.frozen import frozen

from . import kinds
from .api_objects import Doc, at, text_at
from .kinds import Resource
from .selectors import Labels, Requirement, Selector, is_valid

RBAC = "rbac.authorization.k8s.io"
_CLUSTER_ROLES = Resource("ClusterRole", "clusterroles", RBAC, namespaced=False)
_CLUSTER_BINDINGS = Resource("ClusterRoleBinding", "clusterrolebindings", RBAC, namespaced=False)
_ROLES = Resource("Role", "roles", RBAC)
_BINDINGS = Resource("RoleBinding", "rolebindings", RBAC)

PLACED = (
    kinds.SERVICE_ACCOUNTS,
    _CLUSTER_ROLES,
    _CLUSTER_BINDINGS,
    _ROLES,
    _BINDINGS,
    kinds.CONFIG_MAPS,
    kinds.JOBS,
    kinds.CRON_JOBS,
)
"""In the order in which they are created."""

OF_KIND: Mapping[str, Resource] = {each.kind: each for each in PLACED}


def called(doc: Doc) -> str:
    """``configmap/eksdoc-drain-1 in kube-system``; the kind as kubectl takes it."""
    resource, where = OF_KIND[doc["kind"]], text_at(doc, "metadata", "namespace")
    word = f"{resource.kind.lower()}.{resource.group}" if resource.group else resource.kind.lower()
    return f"{word}/{text_at(doc, 'metadata', 'name')}" + (f" in {where}" if where else "")


@frozen
class NotPlaced:
    """`why` in a clause; `missing`: the right without which it is not, "" if that is not why. `taken`: something of
    that name is there; `lacking`: something that it names is not. `maybe`: nobody knows, as no answer came."""

    why: str
    missing: str = ""
    taken: bool = False
    lacking: bool = False
    maybe: bool = False


# Short-lived pods that ask something for us from where it matters, and the object that owns them.


@frozen
class ProbeLabels:
    """By what pods of one errand are found: the label on all that is made, which carries the errand's id, and
    the container that is ours (others may be put beside it). `log_bytes`: so much of a log is read at most."""

    label: str
    container: str
    log_bytes: int = 1 << 16


@frozen
class PodStand:
    """How one of our pods stands, as the API tells it. `reason` and `message` of the pod itself; `waiting` and its
    words of the container that has not started, `running` once it has; `ended` is the container's exit code, None while
    it has none, `ended_by` what else the kubelet says of that."""

    name: str
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    waiting: str = ""
    waiting_message: str = ""
    ended: int | None = None
    ended_by: str = ""
    running: bool = False


@frozen
class ProbeOwner:
    """What owns a probe's pods, as it is in the cluster; `age_s` by the server's own clock."""

    probe: str
    name: str
    uid: str
    age_s: float = 0.0


@frozen
class NotMade:
    """Something was not created or done. `why` in a clause; `missing`: the right without which it is not, "" if that is
    not why. `maybe`: nobody knows, as no answer came; `later`: it may be taken in when it is asked again (429)."""

    why: str
    missing: str = ""
    maybe: bool = False
    later: bool = False


# What a pod's spec demands of the node it runs on, and of the pods already there: all that decides where it may go.


CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
DEFAULT_SCHEDULER = "default-scheduler"
NODE_NAME_FIELD = "metadata.name"


@frozen
class Requests:
    """What the scheduler takes off a node for the pod: cpu in millicores, memory and ephemeral storage in bytes.

    `others` are (resource, units) sorted by name: huge pages in bytes, extended resources in pieces; none is 0.
    """

    cpu: int = 0
    memory: int = 0
    ephemeral: int = 0
    others: tuple[tuple[str, int], ...] = ()


@frozen
class NodeTerm:
    """One nodeSelectorTerm: all its requirements must hold; without any it matches no node.

    A requirement that the scheduler cannot parse makes its term match nothing
    (component-helpers/scheduling/corev1/nodeaffinity).
    """

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def valid(self) -> bool:
        return all(is_valid(r, compares=True) for r in self.labels) and all(
            r.operator in ("In", "NotIn") and len(r.values) == 1 for r in self.fields
        )

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether the node of that name and with those labels is one of these."""
        if not (self.labels or self.fields) or not self.valid:
            return False
        if not all(r.matches(labels) for r in self.labels):
            return False
        known = {NODE_NAME_FIELD: name}
        return all((known.get(r.key, "") == r.values[0]) is (r.operator == "In") for r in self.fields)


def any_matches(terms: Iterable[NodeTerm], name: str, labels: Labels) -> bool:
    """As a node selector does: its terms are alternatives, and without terms it matches no node."""
    return any(term.matches(name, labels) for term in terms)


NODE_AFFINITY, REQUIRED = "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
NODE_TERMS = "nodeSelectorTerms"


def node_terms(affinity: Doc) -> tuple[NodeTerm, ...] | None:
    """Of the node affinity that it requires, None where it has none; what is of no use is passed over."""
    required = at(affinity, NODE_AFFINITY, REQUIRED)
    if required is None:
        return None
    found = at(required, NODE_TERMS)
    terms = [term if isinstance(term, dict) else {} for term in (found if isinstance(found, list) else ())]
    return tuple(NodeTerm(_asked(term.get("matchExpressions")), _asked(term.get("matchFields"))) for term in terms)


def _asked(listed: Any) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            str(each.get("key") or ""), str(each.get("operator") or ""), tuple(map(str, each.get("values") or ()))
        )
        for each in listed or ()
        if isinstance(each, dict)
    )


class NodeDemand(NamedTuple):
    """The nodes a pod asks for: every pair of `selector`, and one of `terms` (None: no required node affinity)."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None

    def accepts(self, name: str, labels: Labels) -> bool:
        if not all(labels.get(key) == value for key, value in self.selector):
            return False
        return self.terms is None or any_matches(self.terms, name, labels)

    @property
    def keys(self) -> frozenset[str]:
        """The node labels that decide."""
        asked = {key for key, _ in self.selector}
        return frozenset(asked | {r.key for term in self.terms or () for r in term.labels})

    @property
    def by_name(self) -> bool:
        """Whether a node's own name decides."""
        return any(term.fields for term in self.terms or ())


@frozen
class PodTerm:
    """One required term of pod affinity or anti-affinity, as the pod writes it.

    `namespaces` empty and `namespace_selector` None mean the pod's own namespace. `match_keys` and
    `mismatch_keys` are labels whose value the pod itself supplies; an API server from 1.31 on has merged them
    into `selector` already, and to merge them twice changes nothing.
    """

    topology_key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None
    match_keys: tuple[str, ...] = ()
    mismatch_keys: tuple[str, ...] = ()


@frozen
class Spread:
    """One topology spread constraint with whenUnsatisfiable DoNotSchedule; the defaults are the API's.

    `honours_affinity`, `honours_taints`: whether nodes the pod could not use anyway are left out of the count.
    """

    topology_key: str
    max_skew: int
    selector: Selector
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    match_keys: tuple[str, ...] = ()


@frozen
class HostPort:
    """A port of the node itself that the pod takes; `address` 0.0.0.0 is every address."""

    port: int
    protocol: str = "TCP"
    address: str = "0.0.0.0"


@frozen
class Placement:
    """All of a pod's spec that decides where it may run, volumes and tolerations aside; replicas share one object.

    `gated` and `claims_devices` (DRA) say what is there and is not modelled.
    """

    requests: Requests = field(default=Requests())
    nodes: NodeDemand = field(default=NodeDemand())
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    ports: tuple[HostPort, ...] = ()
    scheduler: str = DEFAULT_SCHEDULER
    gated: bool = False
    claims_devices: bool = False
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Kept once it is known: it is made of many, and every class of pods is looked up by it."""
        if not self._hash:
            demands = (self.requests, self.nodes, self.affinity, self.anti_affinity, self.spread, self.ports)
            object.__setattr__(self, "_hash", hash((demands, self.scheduler, self.gated, self.claims_devices)))
        return self._hash

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """What stands between this placement and a certain verdict; empty in all but odd cases."""
        found = []
        if self.scheduler != DEFAULT_SCHEDULER:
            found.append(f"it is placed by scheduler {self.scheduler}, whose rules are not known")
        if self.gated:
            found.append("it has scheduling gates, and who removes them is not known")
        if self.claims_devices:
            found.append("it claims devices (dynamic resource allocation), which is not modelled")
        return tuple(found)


NOWHERE_SPECIAL = Placement()
"""A pod that asks for nothing: any schedulable node will do."""


# Volumes and claims, as far as they decide where a pod can go.


@frozen
class PersistentVolume:
    """`local`: its data lies on one node (a local or hostPath volume); `hostnames` are the nodes it names.

    `terms` is its required node affinity, None where it has none; `zone_labels` are its own labels that name a
    zone or region, with ``__`` between alternatives. `driver` is its CSI driver, or ``kubernetes.io/aws-ebs`` for an
    in-tree volume; `handle` what the driver calls it, as written.
    """

    name: str
    uid: str
    local: bool = False
    hostnames: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    driver: str = ""
    storage_class: str = ""
    terms: tuple[NodeTerm, ...] | None = None
    zone_labels: tuple[tuple[str, str], ...] = ()
    handle: str = ""


@frozen
class Claim:
    """`volume` is "" while the claim is not bound. `shared`: more than one node may use it at a time (one of its access
    modes is ReadWriteMany or ReadOnlyMany)."""

    namespace: str
    name: str
    volume: str = ""
    storage_class: str = ""
    shared: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@frozen
class StorageClass:
    name: str
    provisioner: str = ""
    binding_mode: str = "Immediate"


@frozen
class CSINode:
    """What the CSI drivers of a node say of it; it has the node's name.

    `limits` are (driver, how many of its volumes can be attached at a time); a driver without a limit is not there.
    """

    name: str
    limits: tuple[tuple[str, int], ...] = ()


@frozen
class VolumeAttachment:
    """That a volume is to be on a node; it is there until the volume is detached.

    `attacher` is the driver; `volume` the name of the PersistentVolume, "" for one that a pod holds inline.
    """

    name: str
    node: str
    attacher: str
    volume: str = ""
