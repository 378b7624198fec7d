"""Facts of instance metadata access: nodes, EC2 instances, launch templates, pod logs, pod commands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime

from kubectl_eksdoc.amazon.metadata_service import POD
from kubectl_eksdoc.aws.ec2 import last_accessed, no_wait, role_events
from kubectl_eksdoc.aws.machines import machines_told, nothing_told, v1_calls
from kubectl_eksdoc.errors import AwsDenied, AwsError, UsageError, maybe
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.kinds import Absent, Unknown, with_later
from kubectl_eksdoc.model.machines import (
    Instance,
    MachineFacts,
    MachineKeys,
    NodeGroup,
    RoleUses,
    ScalingGroup,
    TemplateVersion,
    V1Calls,
)
from kubectl_eksdoc.model.nodes import Container, LogOf, NodeOwner, Pod
from kubectl_eksdoc.ports import PodReader
from kubectl_eksdoc.probes.pods import owner_of
from kubectl_eksdoc.session.session import AwsUse, ClusterNeeds, ClusterSession

from .affected import Assumed, IntendedOptions, choose, inside, logs_of
from .evidence import may_use_role, worth_asking
from .plan import MetadataPlan, plan_metadata, worth_a_look
from .sources import BY_PARAMETER, EvidenceSource, MetadataFacts, instance_of

KINDS = (kinds.NODES, kinds.PODS, kinds.NODE_POOLS, kinds.NODE_CLASSES)
"""Kinds that are listed completely."""

NEEDS = ClusterNeeds("imds-probe", KINDS, aws=AwsUse.WITHOUT_LOGIN)


@frozen
class ProbeScope:
    """The scope of the check: one pod, the pods of one workload (its kind and name), some nodes, or all nodes."""

    pod: str = ""
    namespace: str = "default"
    nodes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    workload: tuple[str, str] | None = None

    def of(self, cluster: Cluster) -> Cluster:
        """The part of the cluster in the scope.

        Raises:
            UsageError: a named object does not exist.
        """
        if self.pod:
            return self._one_pod(cluster)
        if self.workload is not None:
            return self._one_workload(cluster, Subject(*self.workload, self.namespace))
        if not self.nodes and not self.groups:
            return cluster
        _check(self.nodes, {node.name for node in cluster.nodes}, "node")
        _check(self.groups, {name for node in cluster.nodes for name in node.groups}, "node group or NodePool")
        kept = tuple(node for node in cluster.nodes if node.name in self.nodes or node.groups & {*self.groups})
        there = {node.name for node in kept}
        return replace(cluster, nodes=kept, pods=tuple(pod for pod in cluster.pods if pod.node in there))

    def _one_workload(self, cluster: Cluster, named: Subject) -> Cluster:
        pods = tuple(pod for pod in cluster.pods if owner_of(pod) == named)
        if not pods:
            of_kind = {owner for owner in map(owner_of, cluster.pods) if owner.kind == named.kind}
            elsewhere = sorted(each.namespace for each in of_kind if each.name == named.name)
            hint = f"One of that name is in {', '.join(elsewhere)}: give it with -n." if elsewhere else ""
            raise UsageError(f"{named.kind} {named.name!r} has no pods in namespace {self.namespace}", hint)
        there = {pod.node for pod in pods}
        return replace(cluster, pods=pods, nodes=tuple(node for node in cluster.nodes if node.name in there))

    def _one_pod(self, cluster: Cluster) -> Cluster:
        key = f"{self.namespace}/{self.pod}"
        pods = tuple(pod for pod in cluster.pods if pod.key == key)
        if not pods:
            elsewhere = sorted({pod.namespace for pod in cluster.pods if pod.name == self.pod})
            hint = f"One of that name is in {', '.join(elsewhere)}: give it with -n." if elsewhere else ""
            raise UsageError(f"there is no pod {self.pod!r} in namespace {self.namespace}", hint)
        return replace(cluster, pods=pods, nodes=tuple(node for node in cluster.nodes if node.name == pods[0].node))


def _check(names: Iterable[str], known: Set[str], what: str) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"there is no {what} {name!r}{maybe(name, sorted(known))}")


def plan_imds(
    session: ClusterSession,
    hops: int = POD,
    cluster: Cluster | None = None,
    reach: CommandTarget = CommandTarget(),
    assumed: Assumed | None = None,
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
        intent = _by_tag(session, intent.tag)
    part = cluster or session.cluster
    asked = part if session.live else session.cluster
    facts = replace(metadata_facts(session, asked), cluster=part, assumed=assumed, intent=intent)
    facts = with_pods(facts, hops, session.inside)
    return plan_metadata(_with_evidence(session, facts, hops, evidence) if evidence else facts, hops, reach)


def _by_tag(session: ClusterSession, name: str) -> IntendedOptions:
    """The intended options in that tag of the cluster."""
    if not session.live:
        raise UsageError("--intent tag:NAME asks EKS: nothing else keeps all tags of a cluster", "Give the options.")
    eks = session.eks
    if isinstance(eks, Unknown):
        raise AwsDenied(f"tag {name} of the cluster is not known: {eks}", "Give the options.", eks.missing)
    said = dict(eks.tags).get(name)
    found = None if said is None else IntendedOptions.of(said)
    if found is None:
        what = "has no such tag" if said is None else f"has {said!r} there, which is no intent"
        raise UsageError(f"--intent tag:{name}: cluster {eks.name} {what}", "Give it hops=1, for example.")
    return found


def vpc_of(session: ClusterSession) -> str:
    """The ID of the cluster's VPC, "" if unknown."""
    return "" if isinstance(session.eks, Unknown) else session.eks.vpc


def _with_evidence(
    session: ClusterSession, facts: MetadataFacts, hops: int, sources: Collection[EvidenceSource]
) -> MetadataFacts:
    """The use of the node role is read only for nodes whose pods may use it, by the other facts."""
    if EvidenceSource.CLOUDWATCH in sources:
        facts = replace(facts, v1_calls=_v1_calls(session, _instances(facts.cluster)))
    if not {EvidenceSource.CLOUDTRAIL, EvidenceSource.IAM} & {*sources}:
        return facts
    plan = plan_metadata(facts, hops)
    workloads = may_use_role(((each.alike, each.affected) for each in (*plan.groups, *plan.successors)), facts)
    instances = {node.name: ident for node in facts.cluster.nodes if (ident := instance_of(node))}
    known = {node: instances[node] for node in sorted(workloads) if node in instances}
    found: dict[EvidenceSource, Mapping[str, RoleUses | Unknown]] = {}
    if EvidenceSource.CLOUDTRAIL in sources:
        asked = worth_asking({node: workloads[node] for node in known})
        found[EvidenceSource.CLOUDTRAIL] = _events(session, {node: known[node] for node in asked})
    if EvidenceSource.IAM in sources:
        found[EvidenceSource.IAM] = _accessed(session, facts, known)
    lost = dict.fromkeys(workloads.keys() - known.keys(), Unknown("its instance is not known"))
    return replace(facts, role_uses={source: {**lost, **told} for source, told in found.items()})


def _pace(session: ClusterSession) -> dict[str, Callable[[float], object]]:
    return {} if session.live else {"wait": no_wait}


def _events(session: ClusterSession, instances: Mapping[str, str]) -> Mapping[str, RoleUses | Unknown]:
    """By node."""
    found = session.ask(role_events, tuple(instances.values()), session.cluster.observed_at, **_pace(session))
    if isinstance(found, Unknown):
        return dict.fromkeys(instances, found)
    return {node: found[ident] for node, ident in instances.items()}


_MOST_ROLES = 10


def _accessed(
    session: ClusterSession, facts: MetadataFacts, instances: Mapping[str, str]
) -> Mapping[str, RoleUses | Unknown]:
    """By node."""
    told = {node: facts.told.instances.get(ident) for node, ident in instances.items()}
    profiles = {node: each.profile for node, each in told.items() if isinstance(each, Instance) and each.profile}
    asked = tuple(dict.fromkeys(profiles.values()))[:_MOST_ROLES]
    found = session.ask(last_accessed, asked, **_pace(session))
    if isinstance(found, Unknown):
        return dict.fromkeys(instances, found)
    none = Unknown("the instance profile of its instance is not known")
    most = Unknown(f"more than {_MOST_ROLES} roles were not asked about")
    return {node: found.get(profiles[node], most) if node in profiles else none for node in instances}


def _v1_calls(session: ClusterSession, instances: Sequence[str]) -> Mapping[str, V1Calls | Unknown]:
    try:
        found = session.ask(v1_calls, instances, session.cluster.observed_at)
    except AwsError as error:  # the other facts are known all the same
        found = Unknown(error.message)
    return dict.fromkeys(instances, found) if isinstance(found, Unknown) else found


def _tell(session: ClusterSession, keys: MachineKeys) -> MachineFacts:
    found = session.ask(machines_told, keys)
    return nothing_told(found, keys) if isinstance(found, Unknown) else found


def metadata_facts(session: ClusterSession, cluster: Cluster) -> MetadataFacts:
    """Read in rounds of concurrent requests: each response may name the next objects to read (instance → auto scaling
    group → launch template → AMI). No object is read twice."""
    nodes = cluster.nodes
    asked = MachineKeys(
        instances=_instances(cluster),
        node_groups=tuple(sorted({node.group for node in nodes if node.owner is NodeOwner.MANAGED})),
        account=True,
    )
    told = _tell(session, asked)
    scaled = {instance_of(node) for node in nodes if node.owner in _BY_SCALING_GROUP}
    while (more := _named(told, scaled).without(asked)).any:
        told, asked = with_later(told, _tell(session, more)), asked.and_also(more)
    return MetadataFacts(cluster, told)


def _instances(cluster: Cluster) -> tuple[str, ...]:
    return tuple(sorted({ident for node in cluster.nodes if (ident := instance_of(node))}))


_BY_SCALING_GROUP = (NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED)


def _named(told: MachineFacts, scaled: Set[str]) -> MachineKeys:
    """Objects that the known ones refer to. `scaled_instances`: instances whose auto scaling group is decisive. Images
    of instances and managed nodes are read only if a custom template names none."""
    instances = [each for each in told.instances.values() if isinstance(each, Instance)]
    groups = [each for each in told.node_groups.values() if isinstance(each, NodeGroup)]
    scaling = [each for each in told.scaling_groups.values() if isinstance(each, ScalingGroup)]
    templates = [each for each in told.templates.values() if isinstance(each, TemplateVersion)]
    launched_from = [*(each.template for each in groups), *(each.template for each in scaling)]
    launched_from += [ref for each in scaling for ref in each.others]
    templates += [each for each in told.configurations.values() if isinstance(each, TemplateVersion)]
    images = {each.image for each in templates}
    if "" in images:
        images |= {each.image for each in instances}
    return MachineKeys(
        scaling_groups=_sorted(each.scaling_group for each in instances if each.id in scaled),
        templates=tuple(dict.fromkeys(filter(None, launched_from))),
        configurations=_sorted(each.configuration for each in scaling if each.template is None),
        images=_sorted(image for image in images if not image.startswith(BY_PARAMETER)),
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}))


def with_pods(facts: MetadataFacts, hops: int, port: PodReader) -> MetadataFacts:
    """Add the evidence in pods that may lack the service.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    now = facts.cluster.observed_at
    chosen = choose(worth_a_look(facts, hops), now, logs=port.has_logs)
    containers = port.containers([pod.key for pod in chosen.pods])
    asked = {pod.key: _logs(pod, containers[pod.key], now) for pod in chosen.pods}
    logs = port.logs([log for each in asked.values() for log in each])
    return replace(
        facts,
        inside={key: inside(containers[key], each, logs) for key, each in asked.items()},
        not_looked_into=chosen.left,
    )


def _logs(pod: Pod, containers: tuple[Container, ...] | Absent | Unknown, now: datetime) -> tuple[LogOf, ...]:
    return logs_of(pod, containers, now) if isinstance(containers, tuple) else ()
