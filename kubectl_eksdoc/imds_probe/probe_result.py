"""Pods, plan and result of the active probe, with its findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject, sort_findings
from kubectl_eksdoc.model.kinds import Unknown, missing_rights
from kubectl_eksdoc.model.metadata import CONTAINER, PROBE_LABEL, AddressFamily, PodNetwork
from kubectl_eksdoc.model.nodes import LAUNCH_TEMPLATE_LABEL, Node, NodeOwner
from kubectl_eksdoc.model.placement import ProbeOwner
from kubectl_eksdoc.probes.pods import (
    INTERRUPTED,
    ProbePurpose,
    not_removed_finding,
    probe_owner_manifest,
    probe_pod_manifest,
)

from .probe_diagnosis import ImdsCause, ProbeAnswers, ProbeDiagnosis, diagnose

# The script of the probe pods. It needs a POSIX shell and curl; busybox's wget cannot send a PUT. It requests the
# instance ID only: no credentials, and the token is not printed. The request without a token counts in CloudWatch as
# MetadataNoToken, or as MetadataNoTokenRejected.


CONNECT_S, ANSWER_S = 2, 3
"""Timeouts of a connection and of a whole request. The service normally answers in milliseconds."""

MAX_SCRIPT_S = 2 * 3 * ANSWER_S
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
        return int(self.wait_s) + SETTLE_S + MAX_SCRIPT_S + _MARGIN_S


@frozen
class ProbePod:
    """A pod to create, and the network it tests."""

    node: str
    network: PodNetwork
    name: str


def probe_pods(probe_id: str, nodes: Sequence[str], networks: Sequence[PodNetwork]) -> tuple[ProbePod, ...]:
    """Named by the probe ID and an index: a node name may be too long for a pod name."""
    return tuple(
        ProbePod(node, network, f"{owner_name(probe_id)}-{index}-{network.value}")
        for index, node in enumerate(nodes)
        for network in networks
    )


def owner_name(probe_id: str) -> str:
    return _purpose(probe_id, ProbeSettings()).owner_name


def _purpose(probe_id: str, settings: ProbeSettings) -> ProbePurpose:
    return ProbePurpose("imds-probe", PROBE_LABEL, probe_id, settings.namespace, settings.deadline_s)


def owner_manifest(probe_id: str, settings: ProbeSettings) -> Doc:
    about = "kubectl eksdoc imds-probe --active owns its pods by this; both go when it is deleted"
    return probe_owner_manifest(_purpose(probe_id, settings), {"data": {"about": about}})


def pod_manifest(probe_pod: ProbePod, probe_id: str, settings: ProbeSettings, owner_uid: str = "") -> Doc:
    """Without `owner_uid`: for a preview before the owner exists."""
    network = {"hostNetwork": True} if probe_pod.network is PodNetwork.HOST else {}
    return probe_pod_manifest(
        _purpose(probe_id, settings), probe_pod.name, probe_pod.node, _container(settings), owner_uid, **network
    )


def _container(settings: ProbeSettings) -> Doc:
    return {
        "name": CONTAINER,
        "image": settings.image,
        "command": ["sh", "-c", SCRIPT],
        "env": [{"name": "SETTLE_S", "value": str(SETTLE_S)}],
        "resources": {
            "requests": {"cpu": "5m", "memory": "16Mi"},
            "limits": {"cpu": "100m", "memory": "64Mi"},
        },
    }


def manifests(probe_id: str, pods: Sequence[ProbePod], settings: ProbeSettings) -> tuple[Doc, ...]:
    """All objects to create, in order; the owner reference of the pods is added after the owner is created."""
    pod_manifests = (pod_manifest(each, probe_id, settings) for each in pods)
    return (owner_manifest(probe_id, settings), *pod_manifests)


# Nodes to probe: one of each group that looks alike from within the cluster, unless nodes are named. Nodes of one node
# group or NodePool with the same version of the same template are alike: they have the same options unless an instance
# was changed, which only AWS or a probe of every node shows.


TEMPLATE_VERSION_LABEL = "eks.amazonaws.com/sourceLaunchTemplateVersion"
IMAGE_LABEL, NODE_CLASS_LABEL = "eks.amazonaws.com/nodegroup-image", "karpenter.k8s.aws/ec2nodeclass"
OS_LABEL = "kubernetes.io/os"

_FARGATE_REASON = "Fargate has no metadata service"
_HYBRID_REASON = "a hybrid node is no EC2 instance"

REASONS_WITHOUT_SERVICE = (_FARGATE_REASON, _HYBRID_REASON)
"""Reasons of nodes without a metadata service."""

_GROUPING_LABELS = (LAUNCH_TEMPLATE_LABEL, TEMPLATE_VERSION_LABEL, IMAGE_LABEL, NODE_CLASS_LABEL)


@frozen
class ProbeGroup:
    """Nodes that look alike; `why_not`: the reason why none is probed, "" if `chosen` are."""

    owner: NodeOwner
    group: str
    nodes: tuple[str, ...]
    chosen: tuple[str, ...] = ()
    why_not: str = ""


def probe_groups(
    nodes: Iterable[Node], node_names: Sequence[str] = (), is_every_node: bool = False
) -> tuple[ProbeGroup, ...]:
    """All groups, by owner and name; `node_names`: only these nodes, `is_every_node`: each node is its own.

    Raises:
        UsageError: a node does not exist.
    """
    nodes = tuple(nodes)
    if absent := sorted(set(node_names) - {node.name for node in nodes}):
        raise UsageError(f"there is no node {', '.join(absent)}", "kubectl get nodes lists them.")
    nodes_by_key: dict[tuple[str, ...], list[Node]] = defaultdict(list)
    for node in nodes:
        if not node_names or node.name in node_names:
            nodes_by_key[_group_key(node)].append(node)
    is_every_node = is_every_node or bool(node_names)
    return tuple(
        _probe_group(sorted(nodes_by_key[kind], key=lambda node: node.name), is_every_node)
        for kind in sorted(nodes_by_key)
    )


def _group_key(node: Node) -> tuple[str, ...]:
    return (
        node.owner.value,
        node.group,
        *(node.labels.get(label, "") for label in _GROUPING_LABELS),
        _reason_not_probed(node),
    )


def _probe_group(nodes: Sequence[Node], is_every_node: bool) -> ProbeGroup:
    first, names = nodes[0], tuple(node.name for node in nodes)
    if why_not := _reason_not_probed(first):
        return ProbeGroup(first.owner, first.group, names, (), why_not)
    chosen = names if is_every_node else (min(nodes, key=_preference).name,)
    return ProbeGroup(first.owner, first.group, names, chosen)


def _reason_not_probed(node: Node) -> str:
    """Why a pod on the node would measure nothing, "" if it would."""
    if node.owner is NodeOwner.FARGATE:
        return _FARGATE_REASON
    if node.owner is NodeOwner.HYBRID:
        return _HYBRID_REASON
    if node.labels.get(OS_LABEL, "linux") != "linux":
        return f"the probe is a shell script, and {node.labels[OS_LABEL]} runs none"
    if node.deletion_at is not None:
        return "it is being deleted"
    if node.ready != "True":
        return f"Ready is {node.ready}: its kubelet would start nothing"
    return ""


def _preference(node: Node) -> tuple[bool, int, str]:
    """Prefers a schedulable node with much room for pods."""
    return (node.unschedulable, -node.pods_allocatable, node.name)


# The plan of a probe, before any object is created.


_LEVELS_WITHOUT_HOST_NETWORK = ("baseline", "restricted")


@frozen
class ProbePlan:
    """`no_host`: why no pod runs in the host network, "" if one does. `stale`: owners of killed probes, deleted first;
    `other_owners`: of probes that may be running, left alone. `missing_rights`: rights that were missing when the
    namespace was checked."""

    probe: str
    settings: ProbeSettings
    likes: tuple[ProbeGroup, ...]
    pods: tuple[ProbePod, ...]
    no_host: str = ""
    stale: tuple[ProbeOwner, ...] = ()
    other_owners: tuple[ProbeOwner, ...] = ()
    missing_rights: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(pod.node for pod in self.pods))

    def group_of(self, node: str) -> ProbeGroup:
        """The group of a node."""
        return next(each for each in self.likes if node in each.nodes)


def plan_probe(
    nodes: Iterable[Node],
    level: str | Unknown,
    owners: Iterable[ProbeOwner] | Unknown,
    probe_id: str,
    settings: ProbeSettings,
    node_names: Sequence[str] = (),
    is_every_node: bool = False,
) -> ProbePlan:
    """`level`: pod security level of the namespace, "" for none; `owners`: of all existing probes. Unknown facts show
    when the pods are created.

    Raises:
        UsageError: a node of `node_names` does not exist.
    """
    groups = probe_groups(nodes, node_names, is_every_node)
    no_host = ""
    if level in _LEVELS_WITHOUT_HOST_NETWORK:
        no_host = f"namespace {settings.namespace} enforces pod security {level}, which allows no host network"
    networks = (PodNetwork.OWN,) if no_host else (PodNetwork.OWN, PodNetwork.HOST)
    chosen = [node for each in groups for node in each.chosen]
    known_owners = () if isinstance(owners, Unknown) else tuple(owners)
    stale = tuple(owner for owner in known_owners if owner.age_s > settings.deadline_s)
    other_owners = tuple(owner for owner in known_owners if owner not in stale)
    rights = missing_rights(level, owners)
    return ProbePlan(
        probe_id, settings, groups, probe_pods(probe_id, chosen, networks), no_host, stale, other_owners, rights
    )


@frozen
class ProbedNode:
    """Result of one node; `pod_answers` and `host_answers` are the output of the pods, or why there is none."""

    node: str
    pod_answers: ProbeAnswers
    host_answers: ProbeAnswers
    v4: ProbeDiagnosis
    v6: ProbeDiagnosis


@frozen
class ProbeRun:
    """`left`: names of pods that still existed at the end, of `owner`; `not_removed`: why the owner could not be
    deleted, "" if it was. `interrupted`: the user ended the probe before all pods had answered."""

    nodes: tuple[ProbedNode, ...]
    owner: str
    left: tuple[str, ...] = ()
    not_removed: str = ""
    interrupted: bool = False


def probed_nodes(plan: ProbePlan, answers: Mapping[str, ProbeAnswers]) -> tuple[ProbedNode, ...]:
    """`answers` by the names of the pods."""
    return tuple(_probed_node(name, plan, answers) for name in plan.nodes)


def _probed_node(name: str, plan: ProbePlan, answers: Mapping[str, ProbeAnswers]) -> ProbedNode:
    answers_by_network = {pod.network: answers.get(pod.name, INTERRUPTED) for pod in plan.pods if pod.node == name}
    pod_answers, host_answers = (
        answers_by_network[PodNetwork.OWN],
        answers_by_network.get(PodNetwork.HOST, Unknown(plan.no_host)),
    )
    v4 = diagnose(pod_answers, host_answers)
    if v4.cause is ImdsCause.BLOCKED:  # a pod in another namespace may have access
        v4 = replace(v4, why=f"{v4.why} (of a pod in namespace {plan.settings.namespace})")
    return ProbedNode(name, pod_answers, host_answers, v4, diagnose(pod_answers, host_answers, AddressFamily.V6))


def probe_findings(plan: ProbePlan, run: ProbeRun) -> tuple[Finding, ...]:
    """One finding for all nodes of a group with the same result."""
    findings: list[Finding] = [_result_finding(plan, nodes) for nodes in _group_by_result(plan, run.nodes)]
    findings += _not_probed_findings(plan)
    if run.not_removed or run.left:
        namespace = plan.settings.namespace
        findings.append(not_removed_finding("imds-probe-left", run.owner, namespace, run.left, run.not_removed))
    return sort_findings(findings)


def _group_by_result(plan: ProbePlan, nodes: Iterable[ProbedNode]) -> list[list[ProbedNode]]:
    groups: dict[object, list[ProbedNode]] = {}
    for each in nodes:
        group = plan.group_of(each.node)
        groups.setdefault((group.owner, group.nodes, each.v4.reach, each.v4.cause, each.v4.why), []).append(each)
    return list(groups.values())


def _result_finding(plan: ProbePlan, nodes: Sequence[ProbedNode]) -> Finding:
    first = nodes[0]
    subject, evidence, reach = _result_subject(plan, nodes), tuple(_result_evidence(plan, nodes)), first.v4.reach
    if reach is ImdsReach.UNKNOWN:
        missing = first.pod_answers.missing if isinstance(first.pod_answers, Unknown) else ""
        return Finding.of("imds-measured/unknown", subject, evidence, why=first.v4.why, lacking=missing)
    if reach is ImdsReach.REACHABLE:
        severity = Severity.LOW if first.v4.doubt else Severity.INFO
        return Finding.of("imds-measured/reachable", subject, evidence, severity=severity, why=first.v4.why)
    return Finding.of(
        "imds-measured/cut-off" if reach is ImdsReach.UNREACHABLE else "imds-measured/v1-only",
        subject,
        evidence,
        remedy=_remedies(plan, nodes),
        why=first.v4.why,
    )


def _result_subject(plan: ProbePlan, nodes: Sequence[ProbedNode]) -> Subject:
    """The group, if all its probed nodes have the same result."""
    group = plan.group_of(nodes[0].node)
    if group.group and len(nodes) == len(group.chosen):
        return Subject(_group_kind(group), group.group)
    return Subject("Node", nodes[0].node) if len(nodes) == 1 else Subject("Nodes", group.group or group.owner.value)


def _group_kind(group: ProbeGroup) -> str:
    return "NodePool" if group.owner in (NodeOwner.KARPENTER, NodeOwner.AUTO_MODE) else "NodeGroup"


def _result_evidence(plan: ProbePlan, nodes: Sequence[ProbedNode]) -> Iterator[str]:
    names, group = [each.node for each in nodes], plan.group_of(nodes[0].node)
    suffix = f" and {len(names) - _MAX_NODES} more" if len(names) > _MAX_NODES else ""
    verb = "tried" if nodes[0].v4.reach is ImdsReach.UNKNOWN else "measured"
    yield f"{verb} on {', '.join(names[:_MAX_NODES])}{suffix}, of {len(group.nodes)} that look alike"
    for doubt in dict.fromkeys(each.v4.doubt for each in nodes if each.v4.doubt):
        yield f"doubt: {doubt}"


_MAX_NODES = 5
_REMEDIES: Mapping[ImdsCause, tuple[Remedy, ...]] = {
    ImdsCause.BLOCKED: (Remedy.of("check-policies"),),
    ImdsCause.IN_BETWEEN: (Remedy.of("who-answers"),),
    ImdsCause.NODE: (Remedy.of("node-rule"),),
}


def _remedies(plan: ProbePlan, nodes: Sequence[ProbedNode]) -> tuple[Remedy, ...]:
    """Remedies of the cause. The command without --active shows EC2's options, the affected pods, and the smallest
    fix."""
    cause = nodes[0].v4.cause
    if cause not in (ImdsCause.HOP_LIMIT, ImdsCause.DISABLED):
        return _REMEDIES.get(cause, ())
    group = plan.group_of(nodes[0].node)
    scope_words = ("--nodegroup", group.group) if group.group else tuple(f"node/{each.node}" for each in nodes)
    command = shell("kubectl", "eksdoc", "imds-probe", *scope_words)
    if cause is ImdsCause.DISABLED:
        return (Remedy.of("enable-endpoint", command=command),)
    return Remedy.of("keep-hop-limit", command=command), Remedy.of("own-role")


def _not_probed_findings(plan: ProbePlan) -> Iterator[Finding]:
    for group in plan.likes:
        if group.chosen or group.why_not in REASONS_WITHOUT_SERVICE:
            continue
        subject = Subject(_group_kind(group), group.group) if group.group else Subject("Node", group.nodes[0])
        yield Finding.of("imds-measured/not-probed", subject, count=len(group.nodes), why=group.why_not)
