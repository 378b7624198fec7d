"""Facts of instance metadata access: nodes, EC2 instances, launch templates, pod logs, pod commands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime

from kubectl_eksdoc.amazon.metadata_service import POD_HOPS
from kubectl_eksdoc.aws.ec2 import no_wait, role_events, services_last_accessed
from kubectl_eksdoc.aws.machines import read_machine_facts, unknown_machine_facts, v1_calls
from kubectl_eksdoc.errors import AwsDenied, AwsError, UsageError, did_you_mean
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.kinds import Absent, Unknown, merge_answers
from kubectl_eksdoc.model.machines import (
    Imdsv1Requests,
    Instance,
    MachineFacts,
    MachineQuery,
    NodeGroup,
    RoleUses,
    ScalingGroup,
    TemplateVersion,
)
from kubectl_eksdoc.model.nodes import Container, LogKey, NodeOwner, Pod
from kubectl_eksdoc.ports import PodReader
from kubectl_eksdoc.probes.pods import owner_of
from kubectl_eksdoc.session.session import AwsRequirement, ClusterNeeds, ClusterSession

from .affected import AssumedOptions, IntendedOptions, logs_of, read_evidence, select_pods
from .evidence import nodes_to_ask, workloads_using_role
from .plan import MetadataPlan, plan_metadata, pods_to_read
from .sources import BY_PARAMETER, EvidenceSource, MetadataFacts, instance_id

KINDS = (kinds.NODES, kinds.PODS, kinds.NODE_POOLS, kinds.NODE_CLASSES)
"""Kinds that are listed completely."""

NEEDS = ClusterNeeds("imds-probe", KINDS, aws=AwsRequirement.WITHOUT_LOGIN)


@frozen
class ProbeScope:
    """The scope of the check: one pod, the pods of one workload (its kind and name), some nodes, or all nodes."""

    pod: str = ""
    namespace: str = "default"
    nodes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    workload: tuple[str, str] | None = None

    def restrict(self, cluster: Cluster) -> Cluster:
        """The part of the cluster in the scope.

        Raises:
            UsageError: a named object does not exist.
        """
        if self.pod:
            return self._restrict_to_pod(cluster)
        if self.workload is not None:
            return self._restrict_to_workload(cluster, Subject(*self.workload, self.namespace))
        if not self.nodes and not self.groups:
            return cluster
        _check_names(self.nodes, {node.name for node in cluster.nodes}, "node")
        _check_names(self.groups, {name for node in cluster.nodes for name in node.groups}, "node group or NodePool")
        nodes = tuple(node for node in cluster.nodes if node.name in self.nodes or node.groups & {*self.groups})
        node_names = {node.name for node in nodes}
        return replace(cluster, nodes=nodes, pods=tuple(pod for pod in cluster.pods if pod.node in node_names))

    def _restrict_to_workload(self, cluster: Cluster, workload: Subject) -> Cluster:
        pods = tuple(pod for pod in cluster.pods if owner_of(pod) == workload)
        if not pods:
            of_kind = {owner for owner in map(owner_of, cluster.pods) if owner.kind == workload.kind}
            namespaces = sorted(each.namespace for each in of_kind if each.name == workload.name)
            hint = f"One of that name is in {', '.join(namespaces)}: give it with -n." if namespaces else ""
            raise UsageError(f"{workload.kind} {workload.name!r} has no pods in namespace {self.namespace}", hint)
        node_names = {pod.node for pod in pods}
        return replace(cluster, pods=pods, nodes=tuple(node for node in cluster.nodes if node.name in node_names))

    def _restrict_to_pod(self, cluster: Cluster) -> Cluster:
        key = f"{self.namespace}/{self.pod}"
        pods = tuple(pod for pod in cluster.pods if pod.key == key)
        if not pods:
            namespaces = sorted({pod.namespace for pod in cluster.pods if pod.name == self.pod})
            hint = f"One of that name is in {', '.join(namespaces)}: give it with -n." if namespaces else ""
            raise UsageError(f"there is no pod {self.pod!r} in namespace {self.namespace}", hint)
        return replace(cluster, pods=pods, nodes=tuple(node for node in cluster.nodes if node.name == pods[0].node))


def _check_names(names: Iterable[str], existing: Set[str], kind: str) -> None:
    for name in names:
        if name not in existing:
            raise UsageError(f"there is no {kind} {name!r}{did_you_mean(name, sorted(existing))}")


def plan_imds_access(
    session: ClusterSession,
    hops: int = POD_HOPS,
    cluster: Cluster | None = None,
    target: CommandTarget = CommandTarget(),
    assumed: AssumedOptions | None = None,
    intent: IntendedOptions | None = None,
    evidence: Collection[EvidenceSource] = (),
) -> MetadataPlan:
    """Read the facts and plan. `cluster`: the part to judge; a snapshot has the AWS responses for the whole cluster.
    `target` as in `plan_metadata`. `evidence`: additional AWS sources.

    Raises:
        AwsError: no request is possible.
        ClusterError: the cluster cannot be reached.
    """
    if intent is not None and intent.tag:
        intent = _intent_from_tag(session, intent.tag)
    judged_part = cluster or session.cluster
    asked_part = judged_part if session.live else session.cluster
    facts = replace(read_metadata_facts(session, asked_part), cluster=judged_part, assumed=assumed, intent=intent)
    facts = add_pod_evidence(facts, hops, session.pod_reader)
    return plan_metadata(_add_evidence(session, facts, hops, evidence) if evidence else facts, hops, target)


def _intent_from_tag(session: ClusterSession, name: str) -> IntendedOptions:
    """The intended options in that tag of the cluster."""
    if not session.live:
        raise UsageError("--intent tag:NAME asks EKS: nothing else keeps all tags of a cluster", "Give the options.")
    eks = session.eks
    if isinstance(eks, Unknown):
        raise AwsDenied(f"tag {name} of the cluster is not known: {eks}", "Give the options.", eks.missing)
    tag_value = dict(eks.tags).get(name)
    intent = None if tag_value is None else IntendedOptions.parse(tag_value)
    if intent is None:
        problem = "has no such tag" if tag_value is None else f"has {tag_value!r} there, which is no intent"
        raise UsageError(f"--intent tag:{name}: cluster {eks.name} {problem}", "Give it hops=1, for example.")
    return intent


def vpc_id(session: ClusterSession) -> str:
    """The ID of the cluster's VPC, "" if unknown."""
    return "" if isinstance(session.eks, Unknown) else session.eks.vpc


def _add_evidence(
    session: ClusterSession, facts: MetadataFacts, hops: int, sources: Collection[EvidenceSource]
) -> MetadataFacts:
    """The use of the node role is read only for nodes whose pods may use it, by the other facts."""
    if EvidenceSource.CLOUDWATCH in sources:
        facts = replace(facts, v1_calls=_read_v1_calls(session, _instance_ids(facts.cluster)))
    if not {EvidenceSource.CLOUDTRAIL, EvidenceSource.IAM} & {*sources}:
        return facts
    plan = plan_metadata(facts, hops)
    workloads = workloads_using_role(
        ((each.node_set, each.affected) for each in (*plan.groups, *plan.successors)), facts
    )
    instances = {node.name: ident for node in facts.cluster.nodes if (ident := instance_id(node))}
    instances_by_node = {node: instances[node] for node in sorted(workloads) if node in instances}
    role_uses: dict[EvidenceSource, Mapping[str, RoleUses | Unknown]] = {}
    if EvidenceSource.CLOUDTRAIL in sources:
        chosen_nodes = nodes_to_ask({node: workloads[node] for node in instances_by_node})
        role_uses[EvidenceSource.CLOUDTRAIL] = _read_role_events(
            session, {node: instances_by_node[node] for node in chosen_nodes}
        )
    if EvidenceSource.IAM in sources:
        role_uses[EvidenceSource.IAM] = _read_last_accessed(session, facts, instances_by_node)
    unknown_nodes = dict.fromkeys(workloads.keys() - instances_by_node.keys(), Unknown("its instance is not known"))
    return replace(facts, role_uses={source: {**unknown_nodes, **uses} for source, uses in role_uses.items()})


def _wait_argument(session: ClusterSession) -> dict[str, Callable[[float], object]]:
    return {} if session.live else {"wait": no_wait}


def _read_role_events(session: ClusterSession, instances: Mapping[str, str]) -> Mapping[str, RoleUses | Unknown]:
    """By node."""
    events = session.ask(role_events, tuple(instances.values()), session.cluster.observed_at, **_wait_argument(session))
    if isinstance(events, Unknown):
        return dict.fromkeys(instances, events)
    return {node: events[ident] for node, ident in instances.items()}


_MAX_ROLES = 10


def _read_last_accessed(
    session: ClusterSession, facts: MetadataFacts, instances: Mapping[str, str]
) -> Mapping[str, RoleUses | Unknown]:
    """By node."""
    instances_by_node = {node: facts.machines.instances.get(ident) for node, ident in instances.items()}
    profiles = {
        node: each.profile for node, each in instances_by_node.items() if isinstance(each, Instance) and each.profile
    }
    profiles_to_ask = tuple(dict.fromkeys(profiles.values()))[:_MAX_ROLES]
    accessed = session.ask(services_last_accessed, profiles_to_ask, **_wait_argument(session))
    if isinstance(accessed, Unknown):
        return dict.fromkeys(instances, accessed)
    without_profile = Unknown("the instance profile of its instance is not known")
    beyond_limit = Unknown(f"more than {_MAX_ROLES} roles were not asked about")
    return {
        node: accessed.get(profiles[node], beyond_limit) if node in profiles else without_profile for node in instances
    }


def _read_v1_calls(session: ClusterSession, instances: Sequence[str]) -> Mapping[str, Imdsv1Requests | Unknown]:
    try:
        calls = session.ask(v1_calls, instances, session.cluster.observed_at)
    except AwsError as error:  # the other facts are known all the same
        calls = Unknown(error.message)
    return dict.fromkeys(instances, calls) if isinstance(calls, Unknown) else calls


def _read_machines(session: ClusterSession, keys: MachineQuery) -> MachineFacts:
    facts = session.ask(read_machine_facts, keys)
    return unknown_machine_facts(facts, keys) if isinstance(facts, Unknown) else facts


def read_metadata_facts(session: ClusterSession, cluster: Cluster) -> MetadataFacts:
    """Read in rounds of concurrent requests: each response may name the next objects to read (instance → auto scaling
    group → launch template → AMI). No object is read twice."""
    nodes = cluster.nodes
    requested = MachineQuery(
        instances=_instance_ids(cluster),
        node_groups=tuple(sorted({node.group for node in nodes if node.owner is NodeOwner.MANAGED})),
        account=True,
    )
    facts = _read_machines(session, requested)
    scaled_instances = {instance_id(node) for node in nodes if node.owner in _SCALING_GROUP_OWNERS}
    while (new_keys := _referenced_keys(facts, scaled_instances).without(requested)).has_any:
        facts, requested = merge_answers(facts, _read_machines(session, new_keys)), requested.union(new_keys)
    return MetadataFacts(cluster, facts)


def _instance_ids(cluster: Cluster) -> tuple[str, ...]:
    return tuple(sorted({ident for node in cluster.nodes if (ident := instance_id(node))}))


_SCALING_GROUP_OWNERS = (NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED)


def _referenced_keys(facts: MachineFacts, scaled_instances: Set[str]) -> MachineQuery:
    """Objects that the known ones refer to. `scaled_instances`: instances whose auto scaling group is decisive. Images
    of instances and managed nodes are read only if a custom template names none."""
    instances = [each for each in facts.instances.values() if isinstance(each, Instance)]
    groups = [each for each in facts.node_groups.values() if isinstance(each, NodeGroup)]
    scaling_groups = [each for each in facts.scaling_groups.values() if isinstance(each, ScalingGroup)]
    templates = [each for each in facts.templates.values() if isinstance(each, TemplateVersion)]
    template_refs = [*(each.template for each in groups), *(each.template for each in scaling_groups)]
    template_refs += [ref for each in scaling_groups for ref in each.others]
    templates += [each for each in facts.configurations.values() if isinstance(each, TemplateVersion)]
    images = {each.image for each in templates}
    if "" in images:
        images |= {each.image for each in instances}
    return MachineQuery(
        scaling_groups=_sorted_names(each.scaling_group for each in instances if each.id in scaled_instances),
        templates=tuple(dict.fromkeys(filter(None, template_refs))),
        configurations=_sorted_names(each.configuration for each in scaling_groups if each.template is None),
        images=_sorted_names(image for image in images if not image.startswith(BY_PARAMETER)),
    )


def _sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}))


def add_pod_evidence(facts: MetadataFacts, hops: int, reader: PodReader) -> MetadataFacts:
    """Add the evidence in pods that may lack the service.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    now = facts.cluster.observed_at
    selection = select_pods(pods_to_read(facts, hops), now, can_read_logs=reader.has_logs)
    containers = reader.containers([pod.key for pod in selection.pods])
    logs_by_pod = {pod.key: _logs_to_read(pod, containers[pod.key], now) for pod in selection.pods}
    logs = reader.logs([log for pod_logs in logs_by_pod.values() for log in pod_logs])
    return replace(
        facts,
        evidence_by_pod={key: read_evidence(containers[key], pod_logs, logs) for key, pod_logs in logs_by_pod.items()},
        pods_not_read=selection.not_selected,
    )


def _logs_to_read(pod: Pod, containers: tuple[Container, ...] | Absent | Unknown, now: datetime) -> tuple[LogKey, ...]:
    return logs_of(pod, containers, now) if isinstance(containers, tuple) else ()
