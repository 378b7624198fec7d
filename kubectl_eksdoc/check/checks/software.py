"""Software that runs in the cluster, recognised by images and labels, with its versions; and managed node groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kubectl_eksdoc.amazon.addon_needs import Software, installed_version, software_of_image, software_of_labels
from kubectl_eksdoc.amazon.amis import CUSTOM, AmiFamily, family_of_type
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.eks import TemplateVersions
from kubectl_eksdoc.model.findings import ClauseName, Finding, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import NodeGroup, TemplateVersion
from kubectl_eksdoc.model.nodes import MANAGED_GROUP, ControllerOwner, Node, Pod
from kubectl_eksdoc.model.quantities import Version, parse_version
from kubectl_eksdoc.model.workloads import Job, Workload

from ..checking import (
    NOT_ASKED,
    CheckFacts,
    UpgradeCheck,
    aws_command,
    cluster_name_arg,
    cluster_subject,
    format_issue,
    health_problems,
    unknown_finding,
)

_MAX_OWNER_DEPTH = 5
"""The API does not validate owner references: they can form a circle."""


@frozen
class _OwnerIndex:
    """`owner_by_uid`: uid of a ReplicaSet or Job that was read → its own owner."""

    owner_by_uid: Mapping[str, ControllerOwner | None]

    def of_pod(self, pod: Pod) -> Subject:
        """The top owner; the pod itself where it has none, or where its node owns it (a static pod)."""
        if pod.owner is None or pod.owner.kind == "Node":
            return Subject("Pod", pod.name, pod.namespace)
        if pod.deployment and pod.owner.uid not in self.owner_by_uid:
            return Subject("Deployment", pod.deployment, pod.namespace)  # its ReplicaSet was not read
        top = self._top_owner(pod.owner)
        return Subject(top.kind, top.name, pod.namespace)

    def of_template(self, template: Workload | Job) -> Subject:
        """The top owner of the workload or Job, or itself."""
        kind = template.kind if isinstance(template, Workload) else "Job"
        top = self._top_owner(ControllerOwner(kind, template.name, template.uid))
        return Subject(top.kind, top.name, template.namespace)

    def _top_owner(self, owner: ControllerOwner) -> ControllerOwner:
        for _ in range(_MAX_OWNER_DEPTH):
            next_owner = self.owner_by_uid.get(owner.uid)
            if next_owner is None:
                break
            owner = next_owner
        return owner


def build_owner_index(cluster: Cluster) -> _OwnerIndex:
    """Complete only as far as ReplicaSets and Jobs were read."""
    replica_sets = {each.uid: each.owner for each in cluster.workloads if each.kind == "ReplicaSet"}
    return _OwnerIndex(replica_sets | {each.uid: each.owner for each in cluster.jobs})


def likely_owner(pod: Pod) -> Subject:
    """The owner by the data of the pod alone: for a ReplicaSet the Deployment, whose name is that of the ReplicaSet
    without the hash that the controller appends."""
    if pod.owner is None:
        return Subject("Pod", pod.name, pod.namespace)
    if pod.owner.kind == "ReplicaSet" and "-" in pod.owner.name:
        return Subject("Deployment", pod.owner.name.rpartition("-")[0], pod.namespace)
    return Subject(pod.owner.kind, pod.owner.name, pod.namespace)


@frozen
class RunningVersion:
    """One version of some software. `subject`: the likely owner of its pods; `nodes`: the nodes of its pods.
    `image` is "" where it was recognised by labels only."""

    software: Software
    version: Version | Unknown
    image: str
    subject: Subject
    nodes: tuple[str, ...]


def find_running_versions(pods: Iterable[Pod], only_software: Software | None = None) -> tuple[RunningVersion, ...]:
    """All software that is recognised, or `only_software`; by name and version. Finished pods do not count."""
    pods_by_key: dict[tuple[str, str, Subject], list[Pod]] = defaultdict(list)
    software_by_name: dict[str, Software] = {}
    by_image: dict[str, Software | None] = {}  # thousands of pods have only a few images
    for pod in pods:
        if pod.finished:
            continue
        for software, image in _software_in_pod(pod, by_image):
            if only_software is None or software == only_software:
                software_by_name[software.name] = software
                pods_by_key[software.name, image, likely_owner(pod)].append(pod)
    return tuple(
        _running_version(software_by_name[key[0]], *key[1:], pods_by_key[key])
        for key in sorted(pods_by_key, key=_sort_key)
    )


def distinct_installations(running_versions: Iterable[RunningVersion]) -> tuple[RunningVersion, ...]:
    """One for each image in a namespace: controller and agent of a CSI driver, for example, are updated together."""
    return tuple(
        {
            (each.software.name, each.image, each.subject.namespace, "" if each.image else each.subject): each
            for each in running_versions
        }.values()
    )


def _sort_key(key: tuple[str, str, Subject]) -> tuple[str, ...]:
    name, image, owner = key
    return name, image, owner.namespace, owner.kind, owner.name


def _running_version(software: Software, image: str, owner: Subject, pods: Iterable[Pod]) -> RunningVersion:
    version = installed_version(software, image) if image else Unknown("its images do not tell: they have other names")
    return RunningVersion(software, version, image, owner, tuple(sorted({pod.node for pod in pods if pod.node})))


def _software_in_pod(pod: Pod, by_image: dict[str, Software | None]) -> list[tuple[Software, str]]:
    """By image, each once; by labels only where no image is recognised."""
    by_name: dict[str, tuple[Software, str]] = {}
    for image in pod.calls.images:
        if image not in by_image:
            by_image[image] = software_of_image(image)
        if (software := by_image[image]) is not None:
            by_name[software.name] = software, image
    if by_name:
        return list(by_name.values())
    labelled_software = software_of_labels(pod.labels)
    return [(labelled_software, "")] if labelled_software is not None else []


# Managed node groups as EKS describes them: their health, and newer launch templates and AMI releases.


_HEALTHY_STATUSES = ("ACTIVE", "UPDATING")


def known_node_groups(facts: CheckFacts) -> tuple[NodeGroup, ...]:
    """The groups that could be described, by name."""
    node_groups = facts.aws.node_groups
    if isinstance(node_groups, Unknown):
        return ()
    return tuple(each for _, each in sorted(node_groups.items()) if isinstance(each, NodeGroup))


def nodes_in_group(facts: CheckFacts, name: str) -> list[Node]:
    """The nodes of one group, as far as nodes were read."""
    return [each for each in facts.cluster.nodes if each.labels.get(MANAGED_GROUP) == name]


def unknown_node_groups(
    facts: CheckFacts, clause_name: ClauseName, severity: Severity = Severity.MEDIUM
) -> Iterator[Finding]:
    """One finding where the groups are unknown, or one for each that was not described. `clause_name`: the question
    about a group."""
    node_groups = facts.aws.node_groups
    if isinstance(node_groups, Unknown):
        code, question = clause_name.partition("/")[0], clause(clause_name)
        yield unknown_finding(f"{code}/of-each-group", cluster_subject(facts), node_groups, severity, what=question)
        return
    for name, node_group in sorted(node_groups.items()):
        if isinstance(node_group, Unknown):
            yield unknown_finding(clause_name, node_group_subject(name), node_group, severity)


def node_group_subject(name: str) -> Subject:
    return Subject("Nodegroup", name)


def node_group_command(facts: CheckFacts, operation: str, name: str, *words: str) -> str:
    """An awscli command about one group."""
    return aws_command(
        facts, "eks", operation, "--cluster-name", cluster_name_arg(facts), "--nodegroup-name", name, *words
    )


def _check_group_health(facts: CheckFacts) -> Iterator[Finding]:
    yield from unknown_node_groups(facts, "nodegroup-health")
    for group in known_node_groups(facts):
        if not group.status and not group.issues:
            reason = Unknown("EKS does not tell its status")
            yield unknown_finding("nodegroup-health", node_group_subject(group.name), reason)
        elif group.issues or group.status not in _HEALTHY_STATUSES:
            yield Finding.of(
                "nodegroup-health",
                node_group_subject(group.name),
                tuple(map(format_issue, group.issues)),
                unwell=health_problems(group.status, _HEALTHY_STATUSES, group.issues),
                command=node_group_command(
                    facts, "describe-nodegroup", group.name, "--query", "nodegroup.[status,health]"
                ),
            )


def _check_templates(facts: CheckFacts) -> Iterator[Finding]:
    yield from unknown_node_groups(facts, "nodegroup-template/newer", Severity.LOW)
    for group in known_node_groups(facts):
        if group.template is None:
            continue
        template_versions = facts.aws.templates.get(group.template, NOT_ASKED)
        if isinstance(template_versions, Unknown):
            yield unknown_finding(
                "nodegroup-template/newer", node_group_subject(group.name), template_versions, Severity.LOW
            )
        elif isinstance(template_versions, Absent):
            yield Finding.of(
                "nodegroup-template/gone",
                node_group_subject(group.name),
                (template_versions.said,),
                template=group.template,
            )
        else:
            yield from _template_findings(group, template_versions)


def _template_findings(group: NodeGroup, template_versions: TemplateVersions) -> Iterator[Finding]:
    assert group.template is not None, "only those that have one"
    used_version = template_versions.used
    if not isinstance(used_version, TemplateVersion):
        reason = used_version if isinstance(used_version, Unknown) else Unknown(used_version.said)
        version = group.template.version
        yield unknown_finding(
            "nodegroup-template/version", node_group_subject(group.name), reason, Severity.LOW, version=version
        )
        if not version.isdecimal():
            return
    number_used = used_version.number if isinstance(used_version, TemplateVersion) else int(group.template.version)
    if number_used >= template_versions.latest.number:
        return
    yield Finding.of(
        "nodegroup-template/version",
        node_group_subject(group.name),
        (
            f"launch template {template_versions.latest.name or template_versions.latest.id}; version "
            f"{template_versions.default.number} is the default",
            *_image_evidence(used_version, template_versions.latest),
        ),
        number_used=number_used,
        number=template_versions.latest.number,
    )


def _image_evidence(used_version: TemplateVersion | Absent | Unknown, latest: TemplateVersion) -> Iterator[str]:
    used_image = used_version.image if isinstance(used_version, TemplateVersion) else ""
    if latest.image and latest.image != used_image:
        yield f"the newest names another AMI: {latest.image} instead of {used_image or 'one that EKS chooses'}"


def _check_releases(facts: CheckFacts) -> Iterator[Finding]:
    yield from unknown_node_groups(facts, "nodegroup-release", Severity.LOW)
    for group in known_node_groups(facts):
        if group.ami_type == CUSTOM:
            continue  # a custom AMI, which has no EKS releases
        latest_release = facts.aws.releases.get((group.ami_type, group.version), NOT_ASKED)
        if isinstance(latest_release, (Absent, Unknown)):
            yield from _unknown_release(group, latest_release)
            continue
        # By their numbers, ``1.33.1-20250610`` or ``1.42.0-7a3e5f1c``; None where the formats differ.
        current_numbers, latest_numbers = _release_numbers(group.release), _release_numbers(latest_release)
        is_older = current_numbers < latest_numbers if len(current_numbers) == len(latest_numbers) > 1 else None
        if is_older is None:
            reason = Unknown(f"{group.release or 'no release'} and {latest_release} cannot be compared")
            yield unknown_finding("nodegroup-release", node_group_subject(group.name), reason, Severity.LOW)
        elif is_older:
            is_updated_anyway = (
                current_version := parse_version(group.version)
            ) is not None and current_version < facts.path.target
            yield Finding.of(
                "nodegroup-release/updated" if is_updated_anyway else "nodegroup-release/older",
                node_group_subject(group.name),
                (f"amiType {group.ami_type}",),
                release=group.release,
                told=latest_release,
                version=group.version,
                command=node_group_command(
                    facts, "update-nodegroup-version", group.name, "--kubernetes-version", group.version
                ),
            )


def _unknown_release(group: NodeGroup, release: Absent | Unknown) -> Iterator[Finding]:
    """There is no source for Windows releases, and no new release of AL2: other codes report those groups."""
    if isinstance(release, Absent) and family_of_type(group.ami_type) is AmiFamily.AL2:
        return
    reason = release if isinstance(release, Unknown) else Unknown(release.said)
    severity = Severity.LOW if reason.missing else Severity.INFO
    yield unknown_finding("nodegroup-release", node_group_subject(group.name), reason, severity)


def _release_numbers(release: str) -> tuple[int, ...]:
    """The numbers of a release; the suffix of Bottlerocket is a commit, and left out."""
    version, _, day = release.partition("-")
    parts = [*version.split("."), *([day] if len(day) == len("20250610") and day.isdecimal() else [])]
    return tuple(int(each) for each in parts if each.isdecimal())


CHECKS = (
    UpgradeCheck.of("nodegroup-health", _check_group_health),
    UpgradeCheck.of("nodegroup-template", _check_templates),
    UpgradeCheck.of("nodegroup-release", _check_releases),
)
