"""Release notes of the versions on the upgrade path, and whether their warnings concern this cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import repository
from kubectl_eksdoc.amazon.amis import (
    ConcernedObjects,
    KnownReleaseNote,
    NoteEffect,
    ReleaseNoteConcern,
    UpgradeHalf,
    family_of_os,
    on_the_way,
)
from kubectl_eksdoc.amazon.versions import in_words, minor_of
from kubectl_eksdoc.drain.nodes import natural
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
    cluster_of,
    listed,
    number,
    unknown,
    unread,
)
from .software import running

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
class _There:
    """Traits of the cluster that notes are compared with: the software that runs, and the nodes it runs on."""

    images: Mapping[str, str]  # repository → a pod that has it
    programs: Mapping[str, str]  # name → the workload that runs it
    families: Mapping[str, str]  # family → a node
    types: Mapping[str, str]  # instance type → a node
    proxy: str  # the mode of kube-proxy, "" where it is not known
    fields: Mapping[str, str | None]  # `_POD_FIELDS` and `_EXTERNAL_IPS` → an object with it, or None; unknown: absent


def _notes(facts: CheckFacts, when: UpgradeHalf) -> Iterator[Finding]:
    yield from unread(facts, "release-note", when=when.value)
    there = _there(facts)
    for note in _on_the_way(facts, when):
        if note.id not in JUDGED_ELSEWHERE and (found := _concerned(note, there)) is not None:
            yield found


def _on_the_way(facts: CheckFacts, when: UpgradeHalf) -> tuple[KnownReleaseNote, ...]:
    """Notes for the control plane from its current version on; for nodes from the oldest kubelet on."""
    kubelets = [minor_of(node.kubelet) for node in facts.cluster.nodes if node.kubelet is not None]
    now = facts.way.now if when is UpgradeHalf.CONTROL_PLANE else min(kubelets, default=facts.way.now)
    return on_the_way(now, facts.way.target, when)


def _concerned(note: KnownReleaseNote, there: _There) -> Finding | None:
    """None where it is known that it does not concern the cluster."""
    judged = [each for each in note.concerns if each.about in _JUDGES and not _blind(each, there)]
    seen = [evidence for each in judged for evidence in _JUDGES[each.about](each, there)]
    blind = len(judged) < len(note.concerns)
    if not seen and not blind:
        return None
    return Finding.of(
        "release-note/unknown"
        if not seen
        else "release-note/breaks"
        if note.effect is NoteEffect.BREAKS
        else "release-note/unsure"
        if note.effect is NoteEffect.UNSURE
        else "release-note/later",
        Subject("ReleaseNote", f"{in_words(note.version)} {note.id}"),
        (*seen[:3], *(_whom(each) for each in note.concerns if each not in judged), str(note.source)),
        when=note.when.value,
        what=note.what,
        do=note.do,
    )


def _whom(concern: ReleaseNoteConcern) -> str:
    if concern.about is ConcernedObjects.EVERYBODY:
        return "nothing here tells whom it concerns"
    return f"concerns users of ({concern.about.value}): {', '.join(concern.names)}"


def _there(facts: CheckFacts) -> _There:
    alive = [pod for pod in facts.cluster.pods if not pod.finished]
    images = {repository(image): pod.key for pod in alive for image in pod.calls.images}
    programs = {each.software.name: str(each.subject) for each in running(facts.cluster.pods)}
    families = {family_of_os(node.os_image).value: node.name for node in facts.cluster.nodes}
    types = {node.instance_type: node.name for node in facts.cluster.nodes if node.instance_type}
    proxy = guards.mode(facts.proxy) if isinstance(facts.proxy, str) else ""
    return _There(images, programs, families, types, proxy, dict(_fields(facts, alive)))


_POD_FIELDS = {
    "Pod spec.securityContext.appArmorProfile": "appArmorProfile",
    "Pod spec.securityContext.seLinuxOptions": "seLinuxOptions",
    "Pod spec.volumes[*].gitRepo": "gitRepo",
}
_EXTERNAL_IPS = "Service spec.externalIPs"
_IN_TREE = "PersistentVolume spec.awsElasticBlockStore"
_IN_TREE_EBS, _EBS_CSI = "kubernetes.io/aws-ebs", "aws-ebs-csi-driver"
_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_TEMPLATES = Code.of("runtime-socket").needs
"""Lists of pods, and of all objects with pod templates."""
_ARMOR_AS_FIELD = Version(1, 30)
"""Since this version the API server copies the annotation of a new pod into the field
(pkg/registry/core/pod/strategy.go: applyAppArmorVersionSkew)."""


def _fields(facts: CheckFacts, alive: Sequence[Pod]) -> Iterator[tuple[str, str | None]]:
    cluster = facts.cluster
    idle = (
        cluster.unread(*_TEMPLATES)
        or cluster.cron_jobs
        or any(not each.replicas for each in cluster.workloads if each.owner is None)
        or any(not each.finished and not each.active for each in cluster.jobs)
    )
    for path, name in _POD_FIELDS.items():
        # A pod without a claim has no volume that another pod could have labelled.
        pods = (
            each
            for each in alive
            if name in each.noted and (name != "seLinuxOptions" or any(volume.has_claim for volume in each.volumes))
        )
        found = next((f"pod {each.key} has {name}" for each in pods), None)
        if found is not None or not idle:
            yield path, found  # only live pods are read, and a template without pods may have the field
    kubelets = (minor_of(node.kubelet) for node in facts.cluster.nodes if node.kubelet is not None)
    if not min((facts.way.now, *kubelets)) < _ARMOR_AS_FIELD:
        yield _ARMOR, None
    if not facts.cluster.unread(kinds.SERVICES):
        services = (each for each in facts.cluster.services if each.external_ips)
        yield _EXTERNAL_IPS, next((f"Service {each.key} has externalIPs" for each in services), None)
    if not facts.cluster.unread(kinds.VOLUMES):
        served = any(each.software.name == _EBS_CSI for each in running(alive))
        volumes = (each for each in cluster.volumes if each.driver == _IN_TREE_EBS and not served)
        yield _IN_TREE, next((f"PersistentVolume {each.name} is of {_IN_TREE_EBS}" for each in volumes), None)


def _blind(concern: ReleaseNoteConcern, there: _There) -> bool:
    """Of ConfigMaps only the one of kube-proxy, or its flags, is read; another component may replace kube-proxy."""
    if concern.about in (ConcernedObjects.FIELD, ConcernedObjects.ANNOTATION):
        return not there.fields.keys() >= set(concern.names)
    return concern.about is ConcernedObjects.CONFIG and (
        concern.names != (_PROXY,) or there.proxy not in (guards.IPVS, *guards.DELETING)
    )


def _by_image(concern: ReleaseNoteConcern, there: _There) -> Iterator[str]:
    for end in concern.names:
        for path, pod in there.images.items():
            if path == end or path.endswith(f"/{end}"):
                yield f"pod {pod} runs {path}"


def _by_program(concern: ReleaseNoteConcern, there: _There) -> Iterator[str]:
    yield from (f"{there.programs[name]} is {name}" for name in concern.names if name in there.programs)


def _by_family(concern: ReleaseNoteConcern, there: _There) -> Iterator[str]:
    yield from (f"node {there.families[name]} has {name}" for name in concern.names if name in there.families)


def _by_type(concern: ReleaseNoteConcern, there: _There) -> Iterator[str]:
    for begin in concern.names:
        yield from (f"node {node} is {kind}" for kind, node in there.types.items() if kind.startswith(begin))


_PROXY = f"{guards.CONFIG.namespace}/{guards.CONFIG.name}"


def _by_config(concern: ReleaseNoteConcern, there: _There) -> Iterator[str]:
    if there.proxy == guards.IPVS:
        yield f"kube-proxy is in {there.proxy} mode"


def _by_field(concern: ReleaseNoteConcern, there: _There) -> Iterator[str]:
    yield from filter(None, (there.fields[name] for name in concern.names))


_JUDGES: Mapping[ConcernedObjects, Callable[[ReleaseNoteConcern, _There], Iterator[str]]] = {
    ConcernedObjects.IMAGE: _by_image,
    ConcernedObjects.SOFTWARE: _by_program,
    ConcernedObjects.AMI: _by_family,
    ConcernedObjects.INSTANCE: _by_type,
    ConcernedObjects.CONFIG: _by_config,
    ConcernedObjects.FIELD: _by_field,
    ConcernedObjects.ANNOTATION: _by_field,
}

_GATES = {
    UpgradeHalf.CONTROL_PLANE: Gate.BEFORE_CONTROL_PLANE,
    UpgradeHalf.NODES: Gate.BEFORE_NODES,
    UpgradeHalf.NEW_GROUPS: None,
}
_READ = (kinds.NODES, *_TEMPLATES, kinds.SERVICES, kinds.VOLUMES)
CHECKS = tuple(
    replace(UpgradeCheck.of("release-note", partial(_notes, when=when), *_READ), gate=gate)
    for when, gate in _GATES.items()
)


# Nodes by node group: nodes that are upgraded together are reported together.


_KINDS = {
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
            return Subject(_KINDS.get(self.owner, "Nodegroup"), self.name)
        return Subject("Nodes", self.owner.value)


def groups(nodes: Iterable[Node]) -> tuple[NodeGroupNodes, ...]:
    """The nodes by owner and group name, in natural order."""
    found: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in nodes:
        found[node.owner.value, node.group].append(node)
    return tuple(
        NodeGroupNodes(NodeOwner(owner), name, tuple(sorted(each, key=lambda node: natural(node.name))))
        for (owner, name), each in sorted(found.items())
    )


def counted(nodes: Sequence[object]) -> str:
    """``1 node``, ``8 nodes``."""
    return number(len(nodes), "node")


def named(nodes: Sequence[Node]) -> str:
    """``blue-1, blue-2 and 6 more``."""
    return listed([node.name for node in nodes])


# Findings of other commands, taken over unchanged: drains, add-ons, credentials, DNS, interruption.


def _sum(facts: CheckFacts, need: CheckNeed, code: CodeName) -> Iterator[Finding]:
    found = facts.summed.get(need, NOT_ASKED)
    if isinstance(found, Unknown):
        subject = Subject("Command", need.value)
        yield unknown(f"{code}/command", subject, found, Severity.HIGH, command=need.value)
    else:
        here = cluster_of(facts)  # some of the commands do not know the cluster's name
        yield from (replace(each, subject=here) if each.subject.kind == here.kind else each for each in found)


def _check(code: CodeName, area: str) -> UpgradeCheck:
    """A check with the findings of another command; `check.read` has the lists that the command reads."""
    (ask,) = Code.of(code).asks
    check = UpgradeCheck.of(code, partial(_sum, need=CheckNeed(ask), code=code))
    return replace(check, codes=(*check.codes, *Code.of_area(area)))


SUMMARY_CHECKS = (
    _check("check-drain", "drain"),
    _check("check-addons", "addon"),
    _check("check-imds", "imds"),
    _check("check-dns", "dns"),
    _check("check-interruption", "interruption"),
)
