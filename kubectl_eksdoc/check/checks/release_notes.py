"""Release notes of the versions on the upgrade path, and whether their warnings concern this cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import image_repository
from kubectl_eksdoc.amazon.amis import (
    ConcernedObjects,
    KnownReleaseNote,
    NoteEffect,
    ReleaseNoteConcern,
    UpgradeHalf,
    family_of_os,
    notes_between,
)
from kubectl_eksdoc.amazon.versions import format_version, minor_of
from kubectl_eksdoc.drain.nodes import natural_key
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes import guards
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Code, CodeName, Finding, Severity, Subject
from kubectl_eksdoc.model.kinds import CheckNeed, Unknown
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Pod
from kubectl_eksdoc.model.quantities import Version

from ..checking import (
    NOT_ASKED,
    CheckFacts,
    Gate,
    UpgradeCheck,
    cluster_subject,
    join_names,
    pluralize,
    unknown_finding,
    unread_lists,
)
from .software import find_running_versions

JUDGED_ELSEWHERE = frozenset(
    (
        "beta-removals-1.22",
        "dockershim",
        "pod-security-policy",
        "vpc-cni-1.12",
        "al2-last",
        "al2-none",
    )
)
"""Removed APIs, requirements of software, sockets, AMIs and the metadata service have checks of their own."""


@frozen
class _ClusterTraits:
    """Traits of the cluster that notes are compared with: the software that runs, and the nodes it runs on."""

    images: Mapping[str, str]  # repository → a pod that has it
    software: Mapping[str, str]  # name → the workload that runs it
    families: Mapping[str, str]  # family → a node
    types: Mapping[str, str]  # instance type → a node
    kube_proxy_mode: str  # the mode of kube-proxy, "" where it is not known
    fields: Mapping[str, str | None]  # `_POD_FIELDS` and `_EXTERNAL_IPS` → an object with it, or None; unknown: absent


def _check_notes(facts: CheckFacts, when: UpgradeHalf) -> Iterator[Finding]:
    yield from unread_lists(facts, "release-note", when=when.value)
    traits = _cluster_traits(facts)
    for note in _notes_on_path(facts, when):
        if note.id not in JUDGED_ELSEWHERE and (finding := _note_finding(note, traits)) is not None:
            yield finding


def _notes_on_path(facts: CheckFacts, when: UpgradeHalf) -> tuple[KnownReleaseNote, ...]:
    """Notes for the control plane from its current version on; for nodes from the oldest kubelet on."""
    kubelets = [minor_of(node.kubelet) for node in facts.cluster.nodes if node.kubelet is not None]
    from_version = facts.path.now if when is UpgradeHalf.CONTROL_PLANE else min(kubelets, default=facts.path.now)
    return notes_between(from_version, facts.path.target, when)


def _note_finding(note: KnownReleaseNote, traits: _ClusterTraits) -> Finding | None:
    """None where it is known that it does not concern the cluster."""
    judged_concerns = [
        each for each in note.concerns if each.about in _EVIDENCE_BY_OBJECT and not _cannot_judge(each, traits)
    ]
    evidence_lines = [
        evidence for each in judged_concerns for evidence in _EVIDENCE_BY_OBJECT[each.about](each, traits)
    ]
    has_unjudged = len(judged_concerns) < len(note.concerns)
    if not evidence_lines and not has_unjudged:
        return None
    return Finding.of(
        "release-note/unknown"
        if not evidence_lines
        else "release-note/breaks"
        if note.effect is NoteEffect.BREAKS
        else "release-note/unsure"
        if note.effect is NoteEffect.UNSURE
        else "release-note/later",
        Subject("ReleaseNote", f"{format_version(note.version)} {note.id}"),
        (
            *evidence_lines[:3],
            *(_concern_text(each) for each in note.concerns if each not in judged_concerns),
            str(note.source),
        ),
        when=note.when.value,
        what=note.what,
        do=note.do,
    )


def _concern_text(concern: ReleaseNoteConcern) -> str:
    if concern.about is ConcernedObjects.EVERYBODY:
        return "nothing here tells whom it concerns"
    return f"concerns users of ({concern.about.value}): {', '.join(concern.names)}"


def _cluster_traits(facts: CheckFacts) -> _ClusterTraits:
    running_pods = [pod for pod in facts.cluster.pods if not pod.finished]
    images = {image_repository(image): pod.key for pod in running_pods for image in pod.calls.images}
    software = {each.software.name: str(each.subject) for each in find_running_versions(facts.cluster.pods)}
    families = {family_of_os(node.os_image).value: node.name for node in facts.cluster.nodes}
    types = {node.instance_type: node.name for node in facts.cluster.nodes if node.instance_type}
    kube_proxy_mode = (
        guards.kube_proxy_mode(facts.kube_proxy_config) if isinstance(facts.kube_proxy_config, str) else ""
    )
    return _ClusterTraits(images, software, families, types, kube_proxy_mode, dict(_field_uses(facts, running_pods)))


_POD_FIELDS = {
    "Pod spec.securityContext.appArmorProfile": "appArmorProfile",
    "Pod spec.securityContext.seLinuxOptions": "seLinuxOptions",
    "Pod spec.volumes[*].gitRepo": "gitRepo",
}
_EXTERNAL_IPS = "Service spec.externalIPs"
_IN_TREE_VOLUME = "PersistentVolume spec.awsElasticBlockStore"
_IN_TREE_EBS, _EBS_CSI = "kubernetes.io/aws-ebs", "aws-ebs-csi-driver"
_APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
_TEMPLATE_KINDS = Code.of("runtime-socket").needs
"""Lists of pods, and of all objects with pod templates."""
_APP_ARMOR_FIELD_SINCE = Version(1, 30)
"""Since this version the API server copies the annotation of a new pod into the field
(pkg/registry/core/pod/strategy.go: applyAppArmorVersionSkew)."""


def _field_uses(facts: CheckFacts, running_pods: Sequence[Pod]) -> Iterator[tuple[str, str | None]]:
    cluster = facts.cluster
    has_idle_templates = (
        cluster.not_read(*_TEMPLATE_KINDS)
        or cluster.cron_jobs
        or any(not each.replicas for each in cluster.workloads if each.owner is None)
        or any(not each.finished and not each.active for each in cluster.jobs)
    )
    for path, name in _POD_FIELDS.items():
        # A pod without a claim has no volume that another pod could have labelled.
        pods = (
            each
            for each in running_pods
            if name in each.noted and (name != "seLinuxOptions" or any(volume.has_claim for volume in each.volumes))
        )
        example = next((f"pod {each.key} has {name}" for each in pods), None)
        if example is not None or not has_idle_templates:
            yield path, example  # only live pods are read, and a template without pods may have the field
    kubelets = (minor_of(node.kubelet) for node in facts.cluster.nodes if node.kubelet is not None)
    if not min((facts.path.now, *kubelets)) < _APP_ARMOR_FIELD_SINCE:
        yield _APP_ARMOR_ANNOTATION, None
    if not facts.cluster.not_read(kinds.SERVICES):
        services = (each for each in facts.cluster.services if each.external_ips)
        yield _EXTERNAL_IPS, next((f"Service {each.key} has externalIPs" for each in services), None)
    if not facts.cluster.not_read(kinds.VOLUMES):
        has_csi_driver = any(each.software.name == _EBS_CSI for each in find_running_versions(running_pods))
        volumes = (each for each in cluster.volumes if each.driver == _IN_TREE_EBS and not has_csi_driver)
        yield _IN_TREE_VOLUME, next((f"PersistentVolume {each.name} is of {_IN_TREE_EBS}" for each in volumes), None)


def _cannot_judge(concern: ReleaseNoteConcern, traits: _ClusterTraits) -> bool:
    """Of ConfigMaps only the one of kube-proxy, or its flags, is read; another component may replace kube-proxy."""
    if concern.about in (ConcernedObjects.FIELD, ConcernedObjects.ANNOTATION):
        return not traits.fields.keys() >= set(concern.names)
    return concern.about is ConcernedObjects.CONFIG and (
        concern.names != (_KUBE_PROXY_CONFIG,)
        or traits.kube_proxy_mode not in (guards.IPVS, *guards.CONNTRACK_DELETING_MODES)
    )


def _image_uses(concern: ReleaseNoteConcern, traits: _ClusterTraits) -> Iterator[str]:
    for suffix in concern.names:
        for path, pod in traits.images.items():
            if path == suffix or path.endswith(f"/{suffix}"):
                yield f"pod {pod} runs {path}"


def _software_uses(concern: ReleaseNoteConcern, traits: _ClusterTraits) -> Iterator[str]:
    yield from (f"{traits.software[name]} is {name}" for name in concern.names if name in traits.software)


def _family_uses(concern: ReleaseNoteConcern, traits: _ClusterTraits) -> Iterator[str]:
    yield from (f"node {traits.families[name]} has {name}" for name in concern.names if name in traits.families)


def _instance_type_uses(concern: ReleaseNoteConcern, traits: _ClusterTraits) -> Iterator[str]:
    for prefix in concern.names:
        yield from (f"node {node} is {kind}" for kind, node in traits.types.items() if kind.startswith(prefix))


_KUBE_PROXY_CONFIG = f"{guards.KUBE_PROXY_CONFIG.namespace}/{guards.KUBE_PROXY_CONFIG.name}"


def _config_uses(concern: ReleaseNoteConcern, traits: _ClusterTraits) -> Iterator[str]:
    if traits.kube_proxy_mode == guards.IPVS:
        yield f"kube-proxy is in {traits.kube_proxy_mode} mode"


def _fields_in_use(concern: ReleaseNoteConcern, traits: _ClusterTraits) -> Iterator[str]:
    yield from filter(None, (traits.fields[name] for name in concern.names))


_EVIDENCE_BY_OBJECT: Mapping[ConcernedObjects, Callable[[ReleaseNoteConcern, _ClusterTraits], Iterator[str]]] = {
    ConcernedObjects.IMAGE: _image_uses,
    ConcernedObjects.SOFTWARE: _software_uses,
    ConcernedObjects.AMI: _family_uses,
    ConcernedObjects.INSTANCE: _instance_type_uses,
    ConcernedObjects.CONFIG: _config_uses,
    ConcernedObjects.FIELD: _fields_in_use,
    ConcernedObjects.ANNOTATION: _fields_in_use,
}

_GATE_BY_HALF = {
    UpgradeHalf.CONTROL_PLANE: Gate.BEFORE_CONTROL_PLANE,
    UpgradeHalf.NODES: Gate.BEFORE_NODES,
    UpgradeHalf.NEW_GROUPS: None,
}
_JUDGED_KINDS = (kinds.NODES, *_TEMPLATE_KINDS, kinds.SERVICES, kinds.VOLUMES)
CHECKS = tuple(
    replace(UpgradeCheck.of("release-note", partial(_check_notes, when=when), *_JUDGED_KINDS), gate=gate)
    for when, gate in _GATE_BY_HALF.items()
)


# Nodes by node group: nodes that are upgraded together are reported together.


_GROUP_KINDS = {
    NodeOwner.MANAGED: "Nodegroup",
    NodeOwner.EKSCTL: "Nodegroup",
    NodeOwner.KARPENTER: "NodePool",
    NodeOwner.AUTO_MODE: "NodePool",
}


@frozen
class NodeGroupNodes:
    """`name`: of the node group or NodePool, "" for nodes without one."""

    owner: NodeOwner
    name: str
    nodes: tuple[Node, ...]

    @property
    def subject(self) -> Subject:
        """The group; for nodes without one their kind (``self-managed nodes``)."""
        if self.name:
            return Subject(_GROUP_KINDS.get(self.owner, "Nodegroup"), self.name)
        return Subject("Nodes", self.owner.value)


def group_nodes(nodes: Iterable[Node]) -> tuple[NodeGroupNodes, ...]:
    """The nodes by owner and group name, in natural order."""
    nodes_by_group: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in nodes:
        nodes_by_group[node.owner.value, node.group].append(node)
    return tuple(
        NodeGroupNodes(NodeOwner(owner), name, tuple(sorted(each, key=lambda node: natural_key(node.name))))
        for (owner, name), each in sorted(nodes_by_group.items())
    )


def node_count(nodes: Sequence[object]) -> str:
    """``1 node``, ``8 nodes``."""
    return pluralize(len(nodes), "node")


def node_names(nodes: Sequence[Node]) -> str:
    """``blue-1, blue-2 and 6 more``."""
    return join_names([node.name for node in nodes])


# Findings of other commands, taken over unchanged: drains, add-ons, credentials, DNS, interruption.


def _command_findings(facts: CheckFacts, need: CheckNeed, code: CodeName) -> Iterator[Finding]:
    findings = facts.command_findings.get(need, NOT_ASKED)
    if isinstance(findings, Unknown):
        subject = Subject("Command", need.value)
        yield unknown_finding(f"{code}/command", subject, findings, Severity.HIGH, command=need.value)
    else:
        cluster = cluster_subject(facts)  # some of the commands do not know the cluster's name
        yield from (replace(each, subject=cluster) if each.subject.kind == cluster.kind else each for each in findings)


def _summary_check(code: CodeName, area: str) -> UpgradeCheck:
    """A check with the findings of another command; `check.read` has the lists that the command reads."""
    (need_name,) = Code.of(code).asks
    check = UpgradeCheck.of(code, partial(_command_findings, need=CheckNeed(need_name), code=code))
    return replace(check, codes=(*check.codes, *Code.of_areas(area)))


SUMMARY_CHECKS = (
    _summary_check("check-drain", "drain"),
    _summary_check("check-addons", "addon"),
    _summary_check("check-imds", "imds"),
    _summary_check("check-dns", "dns"),
    _summary_check("check-interruption", "interruption"),
)
