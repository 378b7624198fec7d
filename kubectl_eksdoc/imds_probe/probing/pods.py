"""The pods of a probe, as they are sent to the cluster, and the object that owns them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.metadata import CONTAINER, PROBE_LABEL, Network
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.probes import ProbePurpose, owner, pod

# The script that the probe's pods run. It needs a POSIX shell and curl; busybox's wget cannot send a PUT.
#
# It asks for the id of the instance and nothing else: no credentials, and the token is not printed. The request without
# a token counts in CloudWatch as MetadataNoToken, or as MetadataNoTokenRejected.


CONNECT_S, ANSWER_S = 2, 3
"""So long a connection, and a whole request, is waited for. The service answers in milliseconds, where it does."""

LONGEST_S = 2 * 3 * ANSWER_S
"""So long the script takes at most, besides what it waits at first."""

SETTLE_S = 5
"""So long a pod waits before it asks: network policies of the VPC CNI hold for a new pod only after a moment (EKS user
guide, "Limit Pod traffic with Kubernetes network policies", standard mode)."""

SCRIPT = f"""\
# Who answers at the instance metadata service? One line for each request:
# FAMILY REQUEST CURL-EXIT-CODE HTTP-CODE SECONDS-TO-CONNECT SECONDS
newline='
'
ask() {{
    name="$1 $2"; shift 2
    told=$(curl -sg --noproxy '*' --connect-timeout {CONNECT_S} --max-time {ANSWER_S} \\
        -w '\\n%{{http_code}} %{{time_connect}} %{{time_total}}' "$@" 2>/dev/null)
    echo "$name $? ${{told##*"$newline"}}"
    body=${{told%"$newline"*}}
    code=${{told##*"$newline"}}; code=${{code%% *}}
}}

echo 'imds-probe 1'
command -v curl >/dev/null || {{ echo 'no curl'; exit 0; }}
sleep "${{SETTLE_S:-0}}"
for family in v4 v6; do
    case $family in
        v4) service=http://169.254.169.254/latest ;;
        v6) service=http://[fd00:ec2::254]/latest ;;
    esac
    ask $family v1 "$service/meta-data/instance-id"
    id=$body
    ask $family token -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$service/api/token"
    if [ "$code" = 200 ]; then
        ask $family v2 -H "X-aws-ec2-metadata-token: $body" "$service/meta-data/instance-id"
        id=$body
    fi
    case $id in
        i-*[!0-9a-f]*) ;;
        i-*) echo "$family id $id" ;;
    esac
done
echo end
"""


IMAGE = "public.ecr.aws/amazonlinux/amazonlinux:2023"
"""Has a shell and curl (Amazon Linux 2023 user guide, "Package changes for curl and libcurl"), and every node of EKS in
a region of the public partition can pull it without credentials."""

NAMESPACE = "default"

_MARGIN_S = 30


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """`wait_s`: so long the pods are waited for, images that are pulled included."""

    image: str = IMAGE
    namespace: str = NAMESPACE
    wait_s: float = 90.0

    @property
    def deadline_s(self) -> int:
        """After so long the kubelet ends a pod of which nobody took care."""
        return int(self.wait_s) + SETTLE_S + LONGEST_S + _MARGIN_S


@dataclass(frozen=True, slots=True)
class ProbePod:
    """One pod that is to be made, and what it is to tell."""

    node: str
    network: Network
    name: str


def probe_pods(probe: str, nodes: Sequence[str], networks: Sequence[Network]) -> tuple[ProbePod, ...]:
    """Named by the probe's id and their place: a node's name may be too long for a pod's."""
    return tuple(
        ProbePod(node, network, f"{owner_name(probe)}-{place}-{network.value}")
        for place, node in enumerate(nodes)
        for network in networks
    )


def owner_name(probe: str) -> str:
    return _errand(probe, ProbeSettings()).owner_name


def _errand(probe: str, manner: ProbeSettings) -> ProbePurpose:
    return ProbePurpose("imds-probe", PROBE_LABEL, probe, manner.namespace, manner.deadline_s)


def owner_manifest(probe: str, manner: ProbeSettings) -> Doc:
    about = "kubectl eksdoc imds-probe --active owns its pods by this; both go when it is deleted"
    return owner(_errand(probe, manner), {"data": {"about": about}})


def pod_manifest(made: ProbePod, probe: str, manner: ProbeSettings, owner_uid: str = "") -> Doc:
    """`owner_uid` "": as it is shown before there is an owner."""
    network = {"hostNetwork": True} if made.network is Network.HOST else {}
    return pod(_errand(probe, manner), made.name, made.node, _container(manner), owner_uid, **network)


def _container(manner: ProbeSettings) -> Doc:
    return {
        "name": CONTAINER,
        "image": manner.image,
        "command": ["sh", "-c", SCRIPT],
        "env": [{"name": "SETTLE_S", "value": str(SETTLE_S)}],
        "resources": {
            "requests": {"cpu": "5m", "memory": "16Mi"},
            "limits": {"cpu": "100m", "memory": "64Mi"},
        },
    }


def manifests(probe: str, pods: Sequence[ProbePod], manner: ProbeSettings) -> tuple[Doc, ...]:
    """All that would be made, in its order; whose the pods are is known once their owner is made."""
    made = (pod_manifest(each, probe, manner) for each in pods)
    return (owner_manifest(probe, manner), *made)


# On which nodes a probe runs: one of each kind that looks alike from within the cluster, unless others are named.
#
# Alike are nodes of one node group or NodePool that come from the same version of the same template: what EC2 gave them
# is the same, unless somebody changed an instance by hand, which only AWS tells, or a probe of every node.


TEMPLATE, TEMPLATE_VERSION = "eks.amazonaws.com/sourceLaunchTemplateId", "eks.amazonaws.com/sourceLaunchTemplateVersion"
PROBE_IMAGE, NODE_CLASS = "eks.amazonaws.com/nodegroup-image", "karpenter.k8s.aws/ec2nodeclass"
OS = "kubernetes.io/os"

_FARGATE = "Fargate has no metadata service"
_HYBRID = "a hybrid node is no EC2 instance"

NOTHING_TO_ASK = (_FARGATE, _HYBRID)
"""Why nodes are not probed of which there is nothing to know."""

_SAME = (TEMPLATE, TEMPLATE_VERSION, PROBE_IMAGE, NODE_CLASS)


@dataclass(frozen=True, slots=True)
class AlikeNodes:
    """Nodes that are alike; `why_not`: why none of them is probed, "" if `chosen` are."""

    owner: NodeOwner
    group: str
    nodes: tuple[str, ...]
    chosen: tuple[str, ...] = ()
    why_not: str = ""


def likes(nodes: Iterable[Node], named: Sequence[str] = (), every: bool = False) -> tuple[AlikeNodes, ...]:
    """All that are alike, by owner and group; `named`: exactly those nodes, `every`: each one.

    Raises:
        UsageError: there is no such node.
    """
    nodes = tuple(nodes)
    if absent := sorted(set(named) - {node.name for node in nodes}):
        raise UsageError(f"there is no node {', '.join(absent)}", "kubectl get nodes lists them.")
    alike: dict[tuple[str, ...], list[Node]] = defaultdict(list)
    for node in nodes:
        if not named or node.name in named:
            alike[_kind(node)].append(node)
    every = every or bool(named)
    return tuple(_likes(sorted(alike[kind], key=lambda node: node.name), every) for kind in sorted(alike))


def _kind(node: Node) -> tuple[str, ...]:
    return (node.owner.value, node.group, *(node.labels.get(label, "") for label in _SAME), _why_not(node))


def _likes(nodes: Sequence[Node], every: bool) -> AlikeNodes:
    first, names = nodes[0], tuple(node.name for node in nodes)
    if why_not := _why_not(first):
        return AlikeNodes(first.owner, first.group, names, (), why_not)
    chosen = names if every else (min(nodes, key=_least_busy).name,)
    return AlikeNodes(first.owner, first.group, names, chosen)


def _why_not(node: Node) -> str:
    """Why a pod there would tell nothing, "" where it would."""
    if node.owner is NodeOwner.FARGATE:
        return _FARGATE
    if node.owner is NodeOwner.HYBRID:
        return _HYBRID
    if node.labels.get(OS, "linux") != "linux":
        return f"the probe is a shell script, and {node.labels[OS]} runs none"
    if node.deletion_at is not None:
        return "it is being deleted"
    if node.ready != "True":
        return f"Ready is {node.ready}: its kubelet would start nothing"
    return ""


def _least_busy(node: Node) -> tuple[bool, int, str]:
    """One that takes pods, and that has much room for them."""
    return (node.unschedulable, -node.pods_allocatable, node.name)
