"""What EKS says of managed node groups, and of roles that pods have by EKS Pod Identity. Source of the shapes: botocore
1.44.5, eks/2017-11-01."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.aws.asking import Json, at_once, found, known, name_of, number, text, texts, there
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.aws.ec2 import template_ref
from kubectl_eksdoc.aws.health import issues
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.machines import NodeGroup, PodIdentity


def names(of: Believed) -> tuple[str, ...] | Unknown:
    """Sorted."""
    wanted = {"clusterName": of.cluster.name}
    return there(of.aws, questions.NODE_GROUPS, wanted, lambda said: tuple(sorted(texts(said, "nodegroups"))))


def node_groups(of: Believed, wanted: tuple[str, ...]) -> Mapping[str, NodeGroup | Absent | Unknown]:
    """By name; one question each."""
    return dict(at_once(wanted, lambda name: node_group(of, name)))


def node_group(of: Believed, name: str) -> NodeGroup | Absent | Unknown:
    wanted = {"clusterName": of.cluster.name, "nodegroupName": name}
    return found(of.aws, questions.NODE_GROUP, wanted, lambda said: _group(said["nodegroup"]))


def _group(said: Json) -> NodeGroup:
    sizes = said.get("scalingConfig") or {}
    return NodeGroup(
        name=name_of(said, "nodegroupName"),
        ami_type=text(said, "amiType"),
        release=text(said, "releaseVersion"),
        version=text(said, "version"),
        status=text(said, "status"),
        template=template_ref(said.get("launchTemplate") or {}),
        scaling_groups=tuple(
            name_of(each, "name") for each in (said.get("resources") or {}).get("autoScalingGroups") or ()
        ),
        created=said.get("createdAt"),
        at_once=_at_once(said.get("updateConfig") or {}),
        issues=issues(said),
        subnets=texts(said, "subnets"),
        size=number(sizes, "desiredSize"),
        least=number(sizes, "minSize"),
        most=number(sizes, "maxSize"),
        capacity=text(said, "capacityType"),
        instance_types=texts(said, "instanceTypes"),
        strategy=text(said.get("updateConfig") or {}, "updateStrategy"),
        disk=number(said, "diskSize"),
    )


def _at_once(said: Json) -> str:
    part = said.get("maxUnavailablePercentage")
    return f"{part} %" if part is not None else str(said.get("maxUnavailable", ""))


def pod_identities(of: Believed) -> tuple[PodIdentity, ...] | Unknown:
    """Of all service accounts that have a role so, sorted."""

    def made(said: Json) -> tuple[PodIdentity, ...]:
        return tuple(
            sorted(
                PodIdentity(name_of(each, "namespace"), name_of(each, "serviceAccount"))
                for each in said["associations"]
            )
        )

    return known(of.aws, questions.POD_IDENTITIES, {"clusterName": of.cluster.name}, made)
