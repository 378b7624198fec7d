"""Software that runs in the cluster, recognised by images and labels, with its versions; and managed node groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kubectl_eksdoc.amazon.addon_needs import Software, installed_version, labelled, recognised
from kubectl_eksdoc.amazon.amis import CUSTOM, AmiFamily, family_of_type
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.eks import TemplateVersions
from kubectl_eksdoc.model.findings import ClauseName, Finding, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import NodeGroup, TemplateVersion
from kubectl_eksdoc.model.nodes import MANAGED_GROUP, ControllerOwner, Node, Pod
from kubectl_eksdoc.model.quantities import Version, parse
from kubectl_eksdoc.model.workloads import Job, Workload

from ..checking import (
    NOT_ASKED,
    CheckFacts,
    UpgradeCheck,
    aws,
    cluster_of,
    issue,
    name_of,
    unknown,
    unwell,
)

_DEEPEST = 5
"""The API does not validate owner references: they can form a circle."""


@frozen
class _Owners:
    """`owner_by_uid`: uid of a ReplicaSet or Job that was read → its own owner."""

    above: Mapping[str, ControllerOwner | None]

    def of_pod(self, pod: Pod) -> Subject:
        """The top owner; the pod itself where it has none, or where its node owns it (a static pod)."""
        if pod.owner is None or pod.owner.kind == "Node":
            return Subject("Pod", pod.name, pod.namespace)
        if pod.deployment and pod.owner.uid not in self.above:
            return Subject("Deployment", pod.deployment, pod.namespace)  # its ReplicaSet was not read
        top = self._top(pod.owner)
        return Subject(top.kind, top.name, pod.namespace)

    def of(self, made: Workload | Job) -> Subject:
        """The top owner of the workload or Job, or itself."""
        kind = made.kind if isinstance(made, Workload) else "Job"
        top = self._top(ControllerOwner(kind, made.name, made.uid))
        return Subject(top.kind, top.name, made.namespace)

    def _top(self, owner: ControllerOwner) -> ControllerOwner:
        for _ in range(_DEEPEST):
            above = self.above.get(owner.uid)
            if above is None:
                break
            owner = above
        return owner


def owners(cluster: Cluster) -> _Owners:
    """Complete only as far as ReplicaSets and Jobs were read."""
    sets = {each.uid: each.owner for each in cluster.workloads if each.kind == "ReplicaSet"}
    return _Owners(sets | {each.uid: each.owner for each in cluster.jobs})


def maker(pod: Pod) -> Subject:
    """The owner by the data of the pod alone: for a ReplicaSet the Deployment, whose name is that of the ReplicaSet
    without the hash that the controller appends."""
    if pod.owner is None:
        return Subject("Pod", pod.name, pod.namespace)
    if pod.owner.kind == "ReplicaSet" and "-" in pod.owner.name:
        return Subject("Deployment", pod.owner.name.rpartition("-")[0], pod.namespace)
    return Subject(pod.owner.kind, pod.owner.name, pod.namespace)


@frozen
class RunningVersion:
    """One version of some software. `subject`: the likely owner of its pods; `nodes`: the nodes of its pods. `image` is
    "" where it was recognised by labels only."""

    software: Software
    version: Version | Unknown
    image: str
    subject: Subject
    nodes: tuple[str, ...]


def running(pods: Iterable[Pod], of: Software | None = None) -> tuple[RunningVersion, ...]:
    """All software that is recognised, or `only_software`; by name and version. Finished pods do not count."""
    found: dict[tuple[str, str, Subject], list[Pod]] = defaultdict(list)
    programs: dict[str, Software] = {}
    by_image: dict[str, Software | None] = {}  # thousands of pods have only a few images
    for pod in pods:
        if pod.finished:
            continue
        for software, image in _programs(pod, by_image):
            if of is None or software == of:
                programs[software.name] = software
                found[software.name, image, maker(pod)].append(pod)
    return tuple(_running(programs[key[0]], *key[1:], found[key]) for key in sorted(found, key=_place))


def installations(found: Iterable[RunningVersion]) -> tuple[RunningVersion, ...]:
    """One for each image in a namespace: controller and agent of a CSI driver, for example, are updated together."""
    return tuple(
        {
            (each.software.name, each.image, each.subject.namespace, "" if each.image else each.subject): each
            for each in found
        }.values()
    )


def _place(key: tuple[str, str, Subject]) -> tuple[str, ...]:
    name, image, by = key
    return name, image, by.namespace, by.kind, by.name


def _running(software: Software, image: str, by: Subject, pods: Iterable[Pod]) -> RunningVersion:
    told = installed_version(software, image) if image else Unknown("its images do not tell: they have other names")
    return RunningVersion(software, told, image, by, tuple(sorted({pod.node for pod in pods if pod.node})))


def _programs(pod: Pod, by_image: dict[str, Software | None]) -> list[tuple[Software, str]]:
    """By image, each once; by labels only where no image is recognised."""
    found: dict[str, tuple[Software, str]] = {}
    for image in pod.calls.images:
        if image not in by_image:
            by_image[image] = recognised(image)
        if (software := by_image[image]) is not None:
            found[software.name] = software, image
    if found:
        return list(found.values())
    told = labelled(pod.labels)
    return [(told, "")] if told is not None else []


# Managed node groups as EKS describes them: their health, and newer launch templates and AMI releases.


_WELL = ("ACTIVE", "UPDATING")


def node_groups(facts: CheckFacts) -> tuple[NodeGroup, ...]:
    """The groups that could be described, by name."""
    told = facts.aws.node_groups
    if isinstance(told, Unknown):
        return ()
    return tuple(each for _, each in sorted(told.items()) if isinstance(each, NodeGroup))


def nodes_of(facts: CheckFacts, name: str) -> list[Node]:
    """The nodes of one group, as far as nodes were read."""
    return [each for each in facts.cluster.nodes if each.labels.get(MANAGED_GROUP) == name]


def groups_unknown(facts: CheckFacts, asked: ClauseName, severity: Severity = Severity.MEDIUM) -> Iterator[Finding]:
    """One finding where the groups are unknown, or one for each that was not described. `clause_name`: the question
    about a group."""
    told = facts.aws.node_groups
    if isinstance(told, Unknown):
        code, what = asked.partition("/")[0], clause(asked)
        yield unknown(f"{code}/of-each-group", cluster_of(facts), told, severity, what=what)
        return
    for name, each in sorted(told.items()):
        if isinstance(each, Unknown):
            yield unknown(asked, subject(name), each, severity)


def subject(name: str) -> Subject:
    return Subject("Nodegroup", name)


def command(facts: CheckFacts, operation: str, name: str, *words: str) -> str:
    """An awscli command about one group."""
    return aws(facts, "eks", operation, "--cluster-name", name_of(facts), "--nodegroup-name", name, *words)


def _health(facts: CheckFacts) -> Iterator[Finding]:
    yield from groups_unknown(facts, "nodegroup-health")
    for group in node_groups(facts):
        if not group.status and not group.issues:
            why = Unknown("EKS does not tell its status")
            yield unknown("nodegroup-health", subject(group.name), why)
        elif group.issues or group.status not in _WELL:
            yield Finding.of(
                "nodegroup-health",
                subject(group.name),
                tuple(map(issue, group.issues)),
                unwell=unwell(group.status, _WELL, group.issues),
                command=command(facts, "describe-nodegroup", group.name, "--query", "nodegroup.[status,health]"),
            )


def _templates(facts: CheckFacts) -> Iterator[Finding]:
    yield from groups_unknown(facts, "nodegroup-template/newer", Severity.LOW)
    for group in node_groups(facts):
        if group.template is None:
            continue
        told = facts.aws.templates.get(group.template, NOT_ASKED)
        if isinstance(told, Unknown):
            yield unknown("nodegroup-template/newer", subject(group.name), told, Severity.LOW)
        elif isinstance(told, Absent):
            yield Finding.of("nodegroup-template/gone", subject(group.name), (told.said,), template=group.template)
        else:
            yield from _template(group, told)


def _template(group: NodeGroup, told: TemplateVersions) -> Iterator[Finding]:
    assert group.template is not None, "only those that have one"
    used = told.used
    if not isinstance(used, TemplateVersion):
        why = used if isinstance(used, Unknown) else Unknown(used.said)
        version = group.template.version
        yield unknown("nodegroup-template/version", subject(group.name), why, Severity.LOW, version=version)
        if not version.isdecimal():
            return
    number_used = used.number if isinstance(used, TemplateVersion) else int(group.template.version)
    if number_used >= told.latest.number:
        return
    yield Finding.of(
        "nodegroup-template/version",
        subject(group.name),
        (
            f"launch template {told.latest.name or told.latest.id}; version {told.default.number} is the default",
            *_images(used, told.latest),
        ),
        number_used=number_used,
        number=told.latest.number,
    )


def _images(used: TemplateVersion | Absent | Unknown, latest: TemplateVersion) -> Iterator[str]:
    before = used.image if isinstance(used, TemplateVersion) else ""
    if latest.image and latest.image != before:
        yield f"the newest names another AMI: {latest.image} instead of {before or 'one that EKS chooses'}"


def _releases(facts: CheckFacts) -> Iterator[Finding]:
    yield from groups_unknown(facts, "nodegroup-release", Severity.LOW)
    for group in node_groups(facts):
        if group.ami_type == CUSTOM:
            continue  # a custom AMI, which has no EKS releases
        told = facts.aws.releases.get((group.ami_type, group.version), NOT_ASKED)
        if isinstance(told, (Absent, Unknown)):
            yield from _untold(group, told)
            continue
        # By their numbers, ``1.33.1-20250610`` or ``1.42.0-7a3e5f1c``; None where the formats differ.
        ours, theirs = _numbers(group.release), _numbers(told)
        older = ours < theirs if len(ours) == len(theirs) > 1 else None
        if older is None:
            why = Unknown(f"{group.release or 'no release'} and {told} cannot be compared")
            yield unknown("nodegroup-release", subject(group.name), why, Severity.LOW)
        elif older:
            updated = (have := parse(group.version)) is not None and have < facts.way.target
            yield Finding.of(
                "nodegroup-release/updated" if updated else "nodegroup-release/older",
                subject(group.name),
                (f"amiType {group.ami_type}",),
                release=group.release,
                told=told,
                version=group.version,
                command=command(facts, "update-nodegroup-version", group.name, "--kubernetes-version", group.version),
            )


def _untold(group: NodeGroup, told: Absent | Unknown) -> Iterator[Finding]:
    """There is no source for Windows releases, and no new release of AL2: other codes report those groups."""
    if isinstance(told, Absent) and family_of_type(group.ami_type) is AmiFamily.AL2:
        return
    why = told if isinstance(told, Unknown) else Unknown(told.said)
    severity = Severity.LOW if why.missing else Severity.INFO
    yield unknown("nodegroup-release", subject(group.name), why, severity)


def _numbers(release: str) -> tuple[int, ...]:
    """The numbers of a release; the suffix of Bottlerocket is a commit, and left out."""
    version, _, day = release.partition("-")
    parts = [*version.split("."), *([day] if len(day) == len("20250610") and day.isdecimal() else [])]
    return tuple(int(each) for each in parts if each.isdecimal())


CHECKS = (
    UpgradeCheck.of("nodegroup-health", _health),
    UpgradeCheck.of("nodegroup-template", _templates),
    UpgradeCheck.of("nodegroup-release", _releases),
)
