"""Kubernetes objects that this tool creates (probe pods among them), and what a pod's spec and volumes require of a
node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from kubectl_eksdoc.frozen import frozen

from . import kinds
from .api_objects import Doc, nested_field, nested_string
from .kinds import Resource
from .selectors import Labels, Requirement, Selector, is_valid

RBAC = "rbac.authorization.k8s.io"
_CLUSTER_ROLES = Resource("ClusterRole", "clusterroles", RBAC, namespaced=False)
_CLUSTER_BINDINGS = Resource("ClusterRoleBinding", "clusterrolebindings", RBAC, namespaced=False)
_ROLES = Resource("Role", "roles", RBAC)
_BINDINGS = Resource("RoleBinding", "rolebindings", RBAC)

CREATED_KINDS = (
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

BY_KIND: Mapping[str, Resource] = {each.kind: each for each in CREATED_KINDS}


def object_reference(doc: Doc) -> str:
    """``configmap/eksdoc-drain-1 in kube-system``, with the kind as kubectl takes it."""
    resource, namespace = BY_KIND[doc["kind"]], nested_string(doc, "metadata", "namespace")
    kind = f"{resource.kind.lower()}.{resource.group}" if resource.group else resource.kind.lower()
    return f"{kind}/{nested_string(doc, 'metadata', 'name')}" + (f" in {namespace}" if namespace else "")


@frozen
class ObjectNotCreated:
    """An object was not created. `why` in a clause; `missing`: the missing right, "" if that is not the reason.
    `already_exists`: an object of that name exists; `lacks_dependency`: an object that it refers to does not exist.
    `is_uncertain`: no answer came, so it may have been created."""

    why: str
    missing: str = ""
    already_exists: bool = False
    lacks_dependency: bool = False
    is_uncertain: bool = False


# Short-lived pods that run a test on a node for this tool, and the object that owns them.


@frozen
class ProbeLabels:
    """How to find the pods of one test: the label on every object created for it, whose value is the ID of the test,
    and the name of the container that belongs to this tool (others may be injected). `log_bytes`: the most bytes of a
    log that are read."""

    label: str
    container: str
    log_bytes: int = 1 << 16


@frozen
class ProbePodStatus:
    """The state of one probe pod, as the API reports it. `reason` and `message` of the pod; `waiting` and
    `waiting_message` of a container that has not started, `running` once it has; `exit_code` of the container, None
    while it has none; `exit_reason`: the kubelet's reason for the end."""

    name: str
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    waiting: str = ""
    waiting_message: str = ""
    exit_code: int | None = None
    exit_reason: str = ""
    running: bool = False


@frozen
class ProbeOwner:
    """The object that owns the pods of a probe; `age_s` by the server's clock."""

    probe: str
    name: str
    uid: str
    age_s: float = 0.0


@frozen
class ProbeFailure:
    """An object was not created, or a request failed. `why` in a clause; `missing`: the missing right, "" if that is
    not the reason. `is_uncertain`: no answer came, so it may have happened; `may_retry`: the request may succeed later
    (429)."""

    why: str
    missing: str = ""
    is_uncertain: bool = False
    may_retry: bool = False


# What a pod's spec requires of its node and of the pods already there: everything that decides where it can be
# scheduled.


CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
DEFAULT_SCHEDULER = "default-scheduler"
NODE_NAME_FIELD = "metadata.name"


@frozen
class ResourceRequests:
    """The resources that the scheduler reserves on a node for the pod: CPU in millicores, memory and ephemeral storage
    in bytes.

    `others` are (resource, amount) sorted by name: huge pages in bytes, extended resources in units; none is 0.
    """

    cpu: int = 0
    memory: int = 0
    ephemeral: int = 0
    others: tuple[tuple[str, int], ...] = ()


@frozen
class NodeTerm:
    """One nodeSelectorTerm: all its requirements must hold; a term without requirements matches no node.

    A requirement that the scheduler cannot parse makes its term match nothing
    (component-helpers/scheduling/corev1/nodeaffinity).
    """

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def valid(self) -> bool:
        return all(is_valid(r, allow_comparison=True) for r in self.labels) and all(
            r.operator in ("In", "NotIn") and len(r.values) == 1 for r in self.fields
        )

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether the term matches the node with this name and these labels."""
        if not (self.labels or self.fields) or not self.valid:
            return False
        if not all(r.matches(labels) for r in self.labels):
            return False
        node_fields = {NODE_NAME_FIELD: name}
        return all((node_fields.get(r.key, "") == r.values[0]) is (r.operator == "In") for r in self.fields)


def any_term_matches(terms: Iterable[NodeTerm], name: str, labels: Labels) -> bool:
    """Match like a node selector: the terms are alternatives, and without terms no node matches."""
    return any(term.matches(name, labels) for term in terms)


NODE_AFFINITY, REQUIRED = "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
NODE_TERMS = "nodeSelectorTerms"


def required_node_terms(affinity: Doc) -> tuple[NodeTerm, ...] | None:
    """The terms of the required node affinity, None if there is none; entries that are not objects count as empty
    terms."""
    required = nested_field(affinity, NODE_AFFINITY, REQUIRED)
    if required is None:
        return None
    listed_terms = nested_field(required, NODE_TERMS)
    terms = [
        term if isinstance(term, dict) else {} for term in (listed_terms if isinstance(listed_terms, list) else ())
    ]
    return tuple(
        NodeTerm(_requirements(term.get("matchExpressions")), _requirements(term.get("matchFields"))) for term in terms
    )


def _requirements(entries: Any) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            str(each.get("key") or ""), str(each.get("operator") or ""), tuple(map(str, each.get("values") or ()))
        )
        for each in entries or ()
        if isinstance(each, dict)
    )


class NodeRequirements(NamedTuple):
    """The nodes a pod accepts: every pair of `selector` must match, and one of `terms` (None: no required node
    affinity)."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None

    def accepts(self, name: str, labels: Labels) -> bool:
        if not all(labels.get(key) == value for key, value in self.selector):
            return False
        return self.terms is None or any_term_matches(self.terms, name, labels)

    @property
    def label_keys(self) -> frozenset[str]:
        """The node labels that decide."""
        selector_keys = {key for key, _ in self.selector}
        return frozenset(selector_keys | {r.key for term in self.terms or () for r in term.labels})

    @property
    def uses_node_name(self) -> bool:
        """Whether a node's name decides."""
        return any(term.fields for term in self.terms or ())


@frozen
class PodAffinityTerm:
    """One required term of pod affinity or anti-affinity, as the pod's spec has it.

    Empty `namespaces` and `namespace_selector` None mean the pod's own namespace. `match_keys` and `mismatch_keys` are
    labels whose value the pod itself supplies. An API server from 1.31 on has merged them into `selector` already;
    merging them again changes nothing.
    """

    topology_key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None
    match_keys: tuple[str, ...] = ()
    mismatch_keys: tuple[str, ...] = ()


@frozen
class TopologySpread:
    """One topology spread constraint with whenUnsatisfiable DoNotSchedule; the defaults are those of the API.

    `honours_affinity`, `honours_taints`: whether nodes that the pod could not use anyway are excluded from the count.
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
    """A port of the node that the pod uses; `address` 0.0.0.0 is every address."""

    port: int
    protocol: str = "TCP"
    address: str = "0.0.0.0"


@frozen
class Placement:
    """Everything in a pod's spec that decides where it may run, except volumes and tolerations; replicas share one
    object.

    `gated` and `claims_devices` (DRA) mark features that are not modeled.
    """

    requests: ResourceRequests = field(default=ResourceRequests())
    nodes: NodeRequirements = field(default=NodeRequirements())
    affinity: tuple[PodAffinityTerm, ...] = ()
    anti_affinity: tuple[PodAffinityTerm, ...] = ()
    spread: tuple[TopologySpread, ...] = ()
    ports: tuple[HostPort, ...] = ()
    scheduler: str = DEFAULT_SCHEDULER
    gated: bool = False
    claims_devices: bool = False
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Cached: it covers many fields, and every class of pods is looked up by it."""
        if not self._hash:
            demands = (self.requests, self.nodes, self.affinity, self.anti_affinity, self.spread, self.ports)
            object.__setattr__(self, "_hash", hash((demands, self.scheduler, self.gated, self.claims_devices)))
        return self._hash

    @property
    def unmodeled_constraints(self) -> tuple[str, ...]:
        """Why a verdict on this placement is not certain; empty for almost all pods."""
        reasons = []
        if self.scheduler != DEFAULT_SCHEDULER:
            reasons.append(f"it is placed by scheduler {self.scheduler}, whose rules are not known")
        if self.gated:
            reasons.append("it has scheduling gates, and who removes them is not known")
        if self.claims_devices:
            reasons.append("it claims devices (dynamic resource allocation), which is not modelled")
        return tuple(reasons)


ANY_NODE = Placement()
"""The placement of a pod without requirements: any schedulable node will do."""


# Volumes and claims: the fields that decide where a pod can be scheduled.


@frozen
class PersistentVolume:
    """A PersistentVolume. `local`: its data is on one node (a local or hostPath volume); `hostnames` are the nodes it
    names.

    `terms` is its required node affinity, None if it has none; `zone_labels` are its own labels that name a zone or
    region, with ``__`` between alternatives. `driver` is its CSI driver, or ``kubernetes.io/aws-ebs`` for an in-tree
    volume; `handle` is the driver's name for it, as written.
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
class PersistentVolumeClaim:
    """A PersistentVolumeClaim. `volume` is "" while it is not bound. `shared`: several nodes may use it at a time (one
    of its access modes is ReadWriteMany or ReadOnlyMany)."""

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
    """The CSI drivers of a node; it has the node's name.

    `limits` are (driver, volumes that can be attached at a time); a driver without a limit is not included.
    """

    name: str
    limits: tuple[tuple[str, int], ...] = ()


@frozen
class VolumeAttachment:
    """A request to attach a volume to a node; it exists until the volume is detached.

    `attacher` is the driver; `volume` the name of the PersistentVolume, "" for an inline volume of a pod.
    """

    name: str
    node: str
    attacher: str
    volume: str = ""
