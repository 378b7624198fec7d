"""Plan of a DNS measurement: what would be created and done."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import field
from enum import Enum

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.coredns import (
    LOAD_GENERATOR_LABELS,
    MEASURE_LABEL,
    NAME,
    POD_SELECTOR,
    SERVICE,
    SYSTEM_NAMESPACE,
    CoreDnsDeployment,
    CoreDnsPod,
    CoreDnsState,
    DnsService,
    QueryStream,
    QueryTarget,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown, missing_rights
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.placement import ProbeOwner
from kubectl_eksdoc.probes.pods import ProbePurpose, probe_owner_manifest, probe_pod_manifest

# The node in each zone from which DNS is queried: a node that stays, preferably without a CoreDNS pod.
#
# A query that does not leave its node does not test the network, and a probe pod on a node that is being drained would
# end with it.


OS = "kubernetes.io/os"


@frozen
class MeasurementZone:
    """`name` "" for nodes without a zone; `node` "" where no node can send queries, with the reason in
    `why_not`."""

    name: str
    node: str = ""
    why_not: str = ""

    @property
    def label(self) -> str:
        return self.name or "(no zone)"


def zones(nodes: Iterable[Node], dns_nodes: Collection[str]) -> tuple[MeasurementZone, ...]:
    """Every zone with nodes, sorted; `dns_nodes`: nodes on which CoreDNS runs."""
    nodes_by_zone: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        nodes_by_zone[node.zone].append(node)
    return tuple(_zone(name, nodes_by_zone[name], dns_nodes) for name in sorted(nodes_by_zone))


def _zone(name: str, nodes: list[Node], dns_nodes: Collection[str]) -> MeasurementZone:
    usable = [node for node in nodes if not exclusion_reason(node)]
    if not usable:
        reasons = sorted({exclusion_reason(node) for node in nodes})
        return MeasurementZone(name, why_not="; ".join(reasons))
    best = min(usable, key=lambda node: (node.name in dns_nodes, -node.pods_allocatable, node.name))
    return MeasurementZone(name, best.name)


def exclusion_reason(node: Node) -> str:
    """Why the node cannot send queries, or ""."""
    if node.owner is NodeOwner.FARGATE:
        return "Fargate runs no pod that is bound to its node"
    if node.labels.get(OS, "linux") != "linux":
        return f"the image does not run on {node.labels[OS]}"
    if node.deletion_at is not None:
        return "the node is being deleted"
    if node.unschedulable:
        return "the node is cordoned: it may be drained"
    if node.ready != "True":
        return f"Ready is {node.ready}: its kubelet would start nothing"
    return ""


# Settings of a measurement: duration, rate, image, and the change of CoreDNS during it.


class MeasuredChange(str, Enum):
    """The change of CoreDNS during the measurement."""

    WATCH = "watch"  # none: the user changes something
    ROLLOUT = "rollout"  # the Deployment's pods are replaced, as by kubectl rollout restart
    EVICTION = "eviction"  # one pod is evicted, as its budget allows

    @property
    def changes(self) -> bool:
        return self is not MeasuredChange.WATCH


IMAGE = "public.ecr.aws/docker/library/python:3.12-alpine"
"""It contains Python 3.10 or later, and nodes in the public partition can pull it without credentials."""

NAMESPACE = "default"
QUERY_NAME = "kubernetes.default.svc.cluster.local."
"""CoreDNS answers names below it by itself, so upstream servers are not measured. The names do not exist, so no cache
has them."""

RATE = 10.0
TIMEOUT_S = 5.0
LATE_S = 1.0
"""resolv.conf(5): a resolver waits 5 s by default. The limit of 1 s for late answers is this tool's choice."""

WATCH_S, CHANGE_S = 60.0, 180.0
BEFORE_S = 5.0
"""Seconds of queries before the change: answers lost then are not caused by the end of a pod."""
AFTER_S = 10.0
"""Seconds of queries after the last pod has ended: kube-proxy is updated within 1 to 10 s (EKS best practices, cluster
services)."""
LONGEST_FOR_S, LONGEST_WAIT_S, LONGEST_TIMEOUT_S = 900.0, 600.0, 30.0
MAX_QUERIES_PER_SECOND = 2000
"""Maximum queries per second of each pod, as the load generator enforces it: more would be a flood."""

_SETTLE_MARGIN_S = 2.0
_MARGIN_S = 60


@frozen
class MeasurementSettings:
    """In seconds. `rate`: queries per second to each address over each transport; `for_s`: longest time of queries once
    every pod runs; `wait_s`: longest wait for the pods, image pull included."""

    happening: MeasuredChange = MeasuredChange.WATCH
    for_s: float = WATCH_S
    timeout_s: float = TIMEOUT_S
    image: str = IMAGE
    namespace: str = NAMESPACE
    wait_s: float = 120.0
    rate: float = RATE

    @property
    def settle_s(self) -> float:
        """Time after the end until the last second is reported."""
        return self.timeout_s + _SETTLE_MARGIN_S

    @property
    def query_s(self) -> float:
        """The load generator's deadline: the first pod to run also waits for the last one."""
        return self.wait_s + BEFORE_S + self.for_s + self.settle_s

    @property
    def deadline_s(self) -> int:
        """Time after which the kubelet ends a pod that was not removed, image pull included."""
        return int(self.wait_s + self.query_s + self.settle_s) + _MARGIN_S


STALE_AFTER_S = int(2 * (LONGEST_WAIT_S + LONGEST_TIMEOUT_S) + LONGEST_FOR_S) + 2 * _MARGIN_S
"""Older probes were left by a measurement that was killed."""


# Targets of the queries: the service, as clients use it, and each endpoint, to tell which one did not answer.


MAX_ENDPOINTS = 12
"""Maximum number of pod addresses that are queried: the first ones by name."""


def query_targets(service: DnsService, state: CoreDnsState) -> tuple[QueryTarget, ...]:
    """The service's addresses first."""
    service_targets = [
        QueryTarget(f"service-{_family(address)}", address, service.port) for address in service.addresses
    ]
    return (*service_targets, *list(_endpoints(service, state))[:MAX_ENDPOINTS])


def _endpoints(service: DnsService, state: CoreDnsState) -> Iterator[QueryTarget]:
    """Pod addresses of the service's IP families: clients use no other address of a pod."""
    families = {_family(address) for address in service.addresses}
    for each in sorted(state.pods, key=lambda each: each.name):
        for address in each.addresses:
            serving_addresses = state.serving if not isinstance(state.serving, Unknown) else {address}
            if each.ready and not each.ended and address in serving_addresses and _family(address) in families:
                yield QueryTarget(f"{each.name}-{_family(address)}", address, state.port, each.name)


def absent_families(service: DnsService) -> dict[str, str]:
    """Families that do not apply, and why."""
    present = {_family(address) for address in service.addresses}
    family_names = {"v4": "IPv4", "v6": "IPv6"}
    return {each: f"the service has no {family_names[each]} address" for each in ("v4", "v6") if each not in present}


def _family(address: str) -> str:
    return "v6" if ":" in address else "v4"


@frozen
class MeasurementPod:
    """A pod to create."""

    zone: str
    node: str
    name: str


@frozen
class MeasurementPlan:
    """The plan of a measurement.

    `absent_families`: IP families that do not apply, and why. `affected`: CoreDNS pods that would be replaced or
    evicted. `stale`: owners that killed measurements left, which are removed first; `other_owners`: owners of
    measurements that may be running. `missing_rights`: rights that were missing to find these.
    """

    ident: str
    settings: MeasurementSettings
    zones: tuple[MeasurementZone, ...]
    pods: tuple[MeasurementPod, ...]
    targets: tuple[QueryTarget, ...]
    absent_families: dict[str, str] = field(default_factory=dict)
    affected: tuple[CoreDnsPod, ...] = ()
    workload: CoreDnsDeployment | None = None
    stale: tuple[ProbeOwner, ...] = ()
    other_owners: tuple[ProbeOwner, ...] = ()
    missing_rights: tuple[str, ...] = ()

    @property
    def changes(self) -> int:
        """The number in the typed confirmation: pods that are created, and CoreDNS pods that end."""
        return len(self.pods) + len(self.affected)

    @property
    def streams(self) -> tuple[QueryStream, ...]:
        return tuple(QueryStream(target.name, transport) for target in self.targets for transport in target.transports)


@frozen
class MeasurementFacts:
    """The facts for a plan. `workload` None: not requested, because it is not restarted."""

    service: DnsService | Absent
    state: CoreDnsState
    workload: CoreDnsDeployment | Absent | None = None
    owners: tuple[ProbeOwner, ...] | Unknown = ()


def plan_measurement(
    nodes: Iterable[Node], facts: MeasurementFacts, ident: str, settings: MeasurementSettings
) -> MeasurementPlan:
    """Plan the measurement.

    Raises:
        UsageError: there is no DNS to measure, the rate is too high, or the requested change is not possible.
    """
    service, state = facts.service, facts.state
    service_text = f"Service {SERVICE} of namespace {SYSTEM_NAMESPACE}"
    if isinstance(service, Absent) or not service.addresses:
        raise UsageError(f"there is no {service_text} with an address: nothing can be measured", _AUTO_MODE_HINT)
    all_zones = zones(nodes, {pod.node for pod in state.pods})
    usable_zones = [zone for zone in all_zones if zone.node]
    pods = tuple(
        MeasurementPod(zone.name, zone.node, f"eksdoc-dns-measure-{ident}-{index}")
        for index, zone in enumerate(usable_zones)
    )
    owners = () if isinstance(facts.owners, Unknown) else facts.owners
    stale = tuple(owner for owner in owners if owner.age_s > STALE_AFTER_S)
    others = tuple(owner for owner in owners if owner not in stale)
    workload = facts.workload if isinstance(facts.workload, CoreDnsDeployment) else None
    affected = _affected_pods(settings.happening, state, facts.workload) if pods else ()
    query_targets_of_plan, absent = query_targets(service, state), absent_families(service)
    plan = MeasurementPlan(
        ident,
        settings,
        all_zones,
        pods,
        query_targets_of_plan,
        absent,
        affected,
        workload,
        stale,
        others,
        missing_rights(facts.owners),
    )
    if settings.rate * len(plan.streams) > MAX_QUERIES_PER_SECOND:
        rate_text = f"{settings.rate * len(plan.streams):g} questions a second from each pod"
        raise UsageError(f"{rate_text} are too many: at most {MAX_QUERIES_PER_SECOND}")
    return plan


_PODS_COMMAND = f"kubectl get pods -n {SYSTEM_NAMESPACE} -l {POD_SELECTOR}"
_AUTO_MODE_HINT = "EKS Auto Mode runs DNS on each node: there is no CoreDNS that could be rolled out."


def _affected_pods(
    happening: MeasuredChange, state: CoreDnsState, workload: CoreDnsDeployment | Absent | None
) -> tuple[CoreDnsPod, ...]:
    """The CoreDNS pods that the change ends.

    Raises:
        UsageError: the change is not possible.
    """
    running = [pod for pod in state.pods if pod.deletion_requested_at is None and not pod.ended]
    sorted_pods = tuple(sorted(running, key=lambda pod: pod.name))
    if happening is MeasuredChange.ROLLOUT:
        if not isinstance(workload, CoreDnsDeployment):
            raise UsageError(f"there is no Deployment {NAME} in namespace {SYSTEM_NAMESPACE} to restart")
        return sorted_pods
    if happening is MeasuredChange.EVICTION:
        ready = [pod for pod in sorted_pods if pod.ready]
        if not ready:
            raise UsageError("no CoreDNS pod is ready: evicting one would show nothing", _PODS_COMMAND)
        return (ready[0],)
    return ()


# Manifests of the pods that send queries, and of the ConfigMap that owns them and contains their program.


FILE = "dns-load.pyz"
_FOLDER = "/eksdoc"
_INTENT_TEXTS = {
    MeasuredChange.WATCH: "it changes nothing",
    MeasuredChange.ROLLOUT: "it restarts the rollout of Deployment coredns, as kubectl rollout restart does",
    MeasuredChange.EVICTION: "it evicts one pod of CoreDNS",
}


def probe_purpose(plan: MeasurementPlan) -> ProbePurpose:
    settings = plan.settings
    return ProbePurpose("dns-measure", MEASURE_LABEL, plan.ident, settings.namespace, settings.deadline_s)


def owner_manifest(plan: MeasurementPlan, program: bytes) -> Doc:
    """The ConfigMap; it describes the intended change before anything is done."""
    affected_names = ", ".join(each.name for each in plan.affected) or "no pod goes by it"
    description = (
        "kubectl eksdoc coredns-lameduck --measure owns its pods by this; both go when it is deleted. "
        f"While they ask DNS, {_INTENT_TEXTS[plan.settings.happening]}: {affected_names}."
    )
    program_data = {FILE: base64.b64encode(program).decode("ascii")}
    return probe_owner_manifest(probe_purpose(plan), {"data": {"about": description}, "binaryData": program_data})


def pod_manifest(measurement_pod: MeasurementPod, plan: MeasurementPlan, load_plan: str, owner_uid: str = "") -> Doc:
    """`load_plan`: the plan for the load generator; `owner_uid` "": the manifest is shown before the owner exists."""
    purpose = probe_purpose(plan)
    container = {
        "name": LOAD_GENERATOR_LABELS.container,
        "image": plan.settings.image,
        "command": ["python3", "-I", "-B", f"{_FOLDER}/{FILE}", "--plan", load_plan],
        # A limit below one CPU would throttle the load generator.
        "resources": {"requests": {"cpu": "50m", "memory": "48Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
        "volumeMounts": [{"name": "program", "mountPath": _FOLDER, "readOnly": True}],
    }
    volumes = [{"name": "program", "configMap": {"name": purpose.owner_name, "items": [{"key": FILE, "path": FILE}]}}]
    return probe_pod_manifest(
        purpose, measurement_pod.name, measurement_pod.node, container, owner_uid, volumes=volumes, dnsPolicy="Default"
    )


def manifests(plan: MeasurementPlan, program: bytes, load_plan: str) -> tuple[Doc, ...]:
    """All objects to create, in order; the UID of the pods' owner is known once the owner exists."""
    return (owner_manifest(plan, program), *(pod_manifest(each, plan, load_plan) for each in plan.pods))
