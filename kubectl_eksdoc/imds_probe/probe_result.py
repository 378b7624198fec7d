"""Pods, plan and result of the active probe, with its findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject, in_order
from kubectl_eksdoc.model.kinds import Unknown, missing_rights
from kubectl_eksdoc.model.metadata import CONTAINER, PROBE_LABEL, AddressFamily, Network
from kubectl_eksdoc.model.nodes import LAUNCH_TEMPLATE, Node, NodeOwner
from kubectl_eksdoc.model.placing import ProbeOwner
from kubectl_eksdoc.probes.pods import INTERRUPTED, ProbePurpose, left_finding, owner, pod

from .probe_diagnosis import Answers, Cause, ProbeDiagnosis, diagnosis

# The script of the probe pods. It needs a POSIX shell and curl; busybox's wget cannot send a PUT. It requests the
# instance ID only: no credentials, and the token is not printed. The request without a token counts in CloudWatch as
# MetadataNoToken, or as MetadataNoTokenRejected.


CONNECT_S, ANSWER_S = 2, 3
"""Timeouts of a connection and of a whole request. The service normally answers in milliseconds."""

LONGEST_S = 2 * 3 * ANSWER_S
"""Maximum duration of the script, without its initial delay."""

SETTLE_S = 5
"""Delay of a pod before its requests: network policies of the VPC CNI apply to a new pod after a moment (EKS user
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
"""Has a shell and curl (Amazon Linux 2023 user guide, "Package changes for curl and libcurl"); EKS nodes in regions of
the public partition can pull it without credentials."""

NAMESPACE = "default"

_MARGIN_S = 30


# Manifests of the probe's pods, and of the object that owns them.


@frozen
class ProbeSettings:
    """`wait_s`: timeout for the pods, including image pulls."""

    image: str = IMAGE
    namespace: str = NAMESPACE
    wait_s: float = 90.0

    @property
    def deadline_s(self) -> int:
        """The kubelet ends an abandoned pod after this time."""
        return int(self.wait_s) + SETTLE_S + LONGEST_S + _MARGIN_S


@frozen
class ProbePod:
    """A pod to create, and the network it tests."""

    node: str
    network: Network
    name: str


def probe_pods(probe: str, nodes: Sequence[str], networks: Sequence[Network]) -> tuple[ProbePod, ...]:
    """Named by the probe ID and an index: a node name may be too long for a pod name."""
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
    """Without `owner_uid`: for a preview before the owner exists."""
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
    """All objects to create, in order; the owner reference of the pods is added after the owner is created."""
    made = (pod_manifest(each, probe, manner) for each in pods)
    return (owner_manifest(probe, manner), *made)


# Nodes to probe: one of each group that looks alike from within the cluster, unless nodes are named. Nodes of one node
# group or NodePool with the same version of the same template are alike: they have the same options unless an instance
# was changed, which only AWS or a probe of every node shows.


TEMPLATE_VERSION = "eks.amazonaws.com/sourceLaunchTemplateVersion"
PROBE_IMAGE, NODE_CLASS = "eks.amazonaws.com/nodegroup-image", "karpenter.k8s.aws/ec2nodeclass"
OS = "kubernetes.io/os"

_FARGATE = "Fargate has no metadata service"
_HYBRID = "a hybrid node is no EC2 instance"

NOTHING_TO_ASK = (_FARGATE, _HYBRID)
"""Reasons of nodes without a metadata service."""

_SAME = (LAUNCH_TEMPLATE, TEMPLATE_VERSION, PROBE_IMAGE, NODE_CLASS)


@frozen
class AlikeNodes:
    """Nodes that look alike; `why_not`: the reason why none is probed, "" if `chosen` are."""

    owner: NodeOwner
    group: str
    nodes: tuple[str, ...]
    chosen: tuple[str, ...] = ()
    why_not: str = ""


def likes(nodes: Iterable[Node], named: Sequence[str] = (), every: bool = False) -> tuple[AlikeNodes, ...]:
    """All groups, by owner and name; `node_names`: only these nodes, `is_every_node`: each node is its own.

    Raises:
        UsageError: a node does not exist.
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
    """Why a pod on the node would measure nothing, "" if it would."""
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
    """Prefers a schedulable node with much room for pods."""
    return (node.unschedulable, -node.pods_allocatable, node.name)


# The plan of a probe, before any object is created.


_NO_HOST_NETWORK = ("baseline", "restricted")


@frozen
class ProbePlan:
    """`no_host`: why no pod runs in the host network, "" if one does. `stale`: owners of killed probes, deleted first;
    `other_owners`: of probes that may be running, left alone. `missing_rights`: rights that were missing when the
    namespace was checked."""

    probe: str
    manner: ProbeSettings
    likes: tuple[AlikeNodes, ...]
    pods: tuple[ProbePod, ...]
    no_host: str = ""
    stale: tuple[ProbeOwner, ...] = ()
    others: tuple[ProbeOwner, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(pod.node for pod in self.pods))

    def likes_of(self, node: str) -> AlikeNodes:
        """The group of a node."""
        return next(each for each in self.likes if node in each.nodes)


def plan_probe(
    nodes: Iterable[Node],
    level: str | Unknown,
    owners: Iterable[ProbeOwner] | Unknown,
    probe: str,
    manner: ProbeSettings,
    named: Sequence[str] = (),
    every: bool = False,
) -> ProbePlan:
    """`level`: pod security level of the namespace, "" for none; `owners`: of all existing probes. Unknown facts show
    when the pods are created.

    Raises:
        UsageError: a node of `node_names` does not exist.
    """
    alike = likes(nodes, named, every)
    no_host = ""
    if level in _NO_HOST_NETWORK:
        no_host = f"namespace {manner.namespace} enforces pod security {level}, which allows no host network"
    networks = (Network.OWN,) if no_host else (Network.OWN, Network.HOST)
    chosen = [node for each in alike for node in each.chosen]
    there = () if isinstance(owners, Unknown) else tuple(owners)
    stale = tuple(owner for owner in there if owner.age_s > manner.deadline_s)
    others = tuple(owner for owner in there if owner not in stale)
    unread = missing_rights(level, owners)
    return ProbePlan(probe, manner, alike, probe_pods(probe, chosen, networks), no_host, stale, others, unread)


@frozen
class ProbedNode:
    """Result of one node; `pod_answers` and `host_answers` are the output of the pods, or why there is none."""

    node: str
    own: Answers
    host: Answers
    v4: ProbeDiagnosis
    v6: ProbeDiagnosis


@frozen
class Probed:
    """`left`: names of pods that still existed at the end, of `owner`; `not_removed`: why the owner could not be
    deleted, "" if it was. `interrupted`: the user ended the probe before all pods had answered."""

    nodes: tuple[ProbedNode, ...]
    owner: str
    left: tuple[str, ...] = ()
    not_removed: str = ""
    interrupted: bool = False


def probed_nodes(plan: ProbePlan, heard: Mapping[str, Answers]) -> tuple[ProbedNode, ...]:
    """`answers` by the names of the pods."""
    return tuple(_node(name, plan, heard) for name in plan.nodes)


def _node(name: str, plan: ProbePlan, heard: Mapping[str, Answers]) -> ProbedNode:
    by = {pod.network: heard.get(pod.name, INTERRUPTED) for pod in plan.pods if pod.node == name}
    own, host = by[Network.OWN], by.get(Network.HOST, Unknown(plan.no_host))
    v4 = diagnosis(own, host)
    if v4.cause is Cause.BLOCKED:  # a pod in another namespace may have access
        v4 = replace(v4, why=f"{v4.why} (of a pod in namespace {plan.manner.namespace})")
    return ProbedNode(name, own, host, v4, diagnosis(own, host, AddressFamily.V6))


def findings_of(plan: ProbePlan, probed: Probed) -> tuple[Finding, ...]:
    """One finding for all nodes of a group with the same result."""
    found: list[Finding] = [_finding(plan, same) for same in _together(plan, probed.nodes)]
    found += _unprobed(plan)
    if probed.not_removed or probed.left:
        namespace = plan.manner.namespace
        found.append(left_finding("imds-probe-left", probed.owner, namespace, probed.left, probed.not_removed))
    return in_order(found)


def _together(plan: ProbePlan, nodes: Iterable[ProbedNode]) -> list[list[ProbedNode]]:
    found: dict[object, list[ProbedNode]] = {}
    for each in nodes:
        likes = plan.likes_of(each.node)
        found.setdefault((likes.owner, likes.nodes, each.v4.reach, each.v4.cause, each.v4.why), []).append(each)
    return list(found.values())


def _finding(plan: ProbePlan, same: Sequence[ProbedNode]) -> Finding:
    first = same[0]
    subject, evidence, reach = _subject(plan, same), tuple(_evidence(plan, same)), first.v4.reach
    if reach is Reach.UNKNOWN:
        missing = first.own.missing if isinstance(first.own, Unknown) else ""
        return Finding.of("imds-measured/unknown", subject, evidence, why=first.v4.why, lacking=missing)
    if reach is Reach.REACHABLE:
        severity = Severity.LOW if first.v4.doubt else Severity.INFO
        return Finding.of("imds-measured/reachable", subject, evidence, severity=severity, why=first.v4.why)
    return Finding.of(
        "imds-measured/cut-off" if reach is Reach.CUT_OFF else "imds-measured/v1-only",
        subject,
        evidence,
        remedy=_remedies(plan, same),
        why=first.v4.why,
    )


def _subject(plan: ProbePlan, same: Sequence[ProbedNode]) -> Subject:
    """The group, if all its probed nodes have the same result."""
    likes = plan.likes_of(same[0].node)
    if likes.group and len(same) == len(likes.chosen):
        return Subject(_result_kind(likes), likes.group)
    return Subject("Node", same[0].node) if len(same) == 1 else Subject("Nodes", likes.group or likes.owner.value)


def _result_kind(likes: AlikeNodes) -> str:
    return "NodePool" if likes.owner in (NodeOwner.KARPENTER, NodeOwner.AUTO_MODE) else "NodeGroup"


def _evidence(plan: ProbePlan, same: Sequence[ProbedNode]) -> Iterator[str]:
    names, likes = [each.node for each in same], plan.likes_of(same[0].node)
    more = f" and {len(names) - _SOME} more" if len(names) > _SOME else ""
    how = "tried" if same[0].v4.reach is Reach.UNKNOWN else "measured"
    yield f"{how} on {', '.join(names[:_SOME])}{more}, of {len(likes.nodes)} that look alike"
    for doubt in dict.fromkeys(each.v4.doubt for each in same if each.v4.doubt):
        yield f"doubt: {doubt}"


_SOME = 5
_REMEDIES: Mapping[Cause, tuple[Remedy, ...]] = {
    Cause.BLOCKED: (Remedy.of("check-policies"),),
    Cause.IN_BETWEEN: (Remedy.of("who-answers"),),
    Cause.NODE: (Remedy.of("node-rule"),),
}


def _remedies(plan: ProbePlan, same: Sequence[ProbedNode]) -> tuple[Remedy, ...]:
    """Remedies of the cause. The command without --active shows EC2's options, the affected pods, and the smallest
    fix."""
    cause = same[0].v4.cause
    if cause not in (Cause.HOP_LIMIT, Cause.DISABLED):
        return _REMEDIES.get(cause, ())
    likes = plan.likes_of(same[0].node)
    which = ("--nodegroup", likes.group) if likes.group else tuple(f"node/{each.node}" for each in same)
    probe = shell("kubectl", "eksdoc", "imds-probe", *which)
    if cause is Cause.DISABLED:
        return (Remedy.of("enable-endpoint", command=probe),)
    return Remedy.of("keep-hop-limit", command=probe), Remedy.of("own-role")


def _unprobed(plan: ProbePlan) -> Iterator[Finding]:
    for each in plan.likes:
        if each.chosen or each.why_not in NOTHING_TO_ASK:
            continue
        subject = Subject(_result_kind(each), each.group) if each.group else Subject("Node", each.nodes[0])
        yield Finding.of("imds-measured/not-probed", subject, count=len(each.nodes), why=each.why_not)
