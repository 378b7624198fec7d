"""The registry of finding codes: one for the whole tool, and the docs are generated from it.

A code names a question that was judged; the finding's status says how it was answered. `needs` are
the resources without which the answer is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.kinds import Resource


@dataclass(frozen=True, slots=True)
class Code:
    """`name` is what ``--accept-unknown`` takes; `about` is one or two sentences for the docs."""

    name: str
    title: str
    about: str
    needs: tuple[Resource, ...] = ()


_SCALES = (kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS)

# Budgets -------------------------------------------------------------------------------------
POD_BUDGET = Code(
    "pod-budget",
    "Which budget guards a pod",
    "Without the budgets of a namespace nobody can say whether its pods may be evicted.",
    (kinds.BUDGETS,),
)
BUDGET_NEVER = Code(
    "budget-never-allows",
    "A budget allows no eviction, ever",
    "Even with all pods healthy the budget allows none to go: maxUnavailable 0, minAvailable of all "
    "replicas, 100 %, or a percentage that rounds up to all of them.",
    (kinds.BUDGETS,),
)
BUDGET_SYNC_FAILED = Code(
    "budget-sync-failed",
    "The disruption controller cannot compute a budget",
    "A percentage or maxUnavailable over pods whose owner has no scale (Jobs, DaemonSets, some custom "
    "resources) fails to sync: the eviction API refuses for ever, with a message that sounds temporary.",
    (kinds.BUDGETS,),
)
BUDGET_UNHEALTHY = Code(
    "budget-unhealthy",
    "A budget blocks because its application is not healthy",
    "Fewer pods are Ready than the budget wants, so no pod may go, the unready ones included, unless "
    "unhealthyPodEvictionPolicy is AlwaysAllow.",
    (kinds.BUDGETS, kinds.PODS),
)
BUDGET_EXHAUSTED = Code(
    "budget-exhausted",
    "A budget allows no eviction now",
    "Its pods are healthy enough to allow some in general, but at the moment all of it is in use.",
    (kinds.BUDGETS,),
)
BUDGET_STALE = Code(
    "budget-stale",
    "A budget's status is behind its spec",
    "observedGeneration lags behind generation: the API answers 429 until the controller catches up.",
    (kinds.BUDGETS,),
)
BUDGET_DISAGREES = Code(
    "budget-disagrees",
    "A budget's status does not match its pods",
    "Our recomputation from pods and owners gives another number of allowed disruptions than the status.",
    (kinds.BUDGETS, kinds.PODS, *_SCALES),
)
SEVERAL_BUDGETS = Code(
    "pod-several-budgets",
    "A pod is under more than one budget",
    "The eviction API refuses such a pod with 500, whatever the budgets allow.",
    (kinds.BUDGETS, kinds.PODS),
)

PAST_BUDGET = Code(
    "past-budget",
    "A pod is deleted past its budget",
    "Its budget, or several of them, does not let it go, and --delete-past-budget names it: it is deleted with its own "
    "grace period, and nobody is asked. Without the flag it blocks its node.",
)

# Pods ----------------------------------------------------------------------------------------
POD_UNMANAGED = Code(
    "pod-unmanaged",
    "A pod without a controller",
    "Nothing creates it again after its eviction; kubectl drain wants --force for it.",
)
POD_EMPTYDIR = Code(
    "pod-emptydir",
    "A pod with emptyDir data",
    "The data is deleted with the pod; kubectl drain wants --delete-emptydir-data.",
)
DAEMONSET_MISSING = Code(
    "pod-daemonset-missing",
    "A DaemonSet's pod without its DaemonSet",
    "The owner is gone, so nothing creates the pod again; kubectl drain wants --force for it.",
    (kinds.DAEMON_SETS,),
)
POD_DAEMONSET = Code(
    "pod-daemonset",
    "A DaemonSet's pod",
    "It tolerates the cordon and would come straight back, so it stays unless the node goes.",
    (kinds.DAEMON_SETS,),
)
POD_STUCK = Code(
    "pod-stuck-terminating",
    "A pod that should have stopped",
    "Its deletion deadline has passed: a finalizer holds it, or the kubelet does not answer.",
)
POD_RETURNS = Code(
    "pod-returns",
    "A pod that comes back to the node it left",
    "Its template names the node, or it tolerates the cordon: eviction succeeds and the node is never empty.",
    _SCALES,
)
JOB_LOSES_WORK = Code(
    "job-loses-work",
    "A running Job's pod",
    "Its work is lost, and the eviction counts against backoffLimit unless podFailurePolicy ignores it.",
    (kinds.JOBS,),
)
JOB_WOULD_FAIL = Code(
    "job-would-fail",
    "An eviction would fail the Job",
    "The evictions planned here use up its backoffLimit, an index has no failure left, or podFailurePolicy fails "
    "it on a disruption: the Job ends as failed and is not tried again.",
    (kinds.JOBS,),
)
SINGLE_REPLICA = Code(
    "single-replica",
    "A workload with one replica",
    "Its eviction is downtime until the replacement is Ready, unless a rollout replaces it (--surge-singles).",
    _SCALES,
)
NO_PLACE = Code(
    "no-place",
    "A replacement finds no node",
    "With the targets cordoned and the places of those before it taken, every other node refuses it; the reasons "
    "are the scheduler's.",
    (kinds.NODES, kinds.PODS),
)
NEEDS_NODES = Code(
    "needs-nodes",
    "Replacements wait for new nodes",
    "There is not enough room for them now. Where something adds nodes by itself they are Pending until then; where "
    "nothing does they block, and where that was not read it is unknown.",
    (kinds.NODES, kinds.PODS, kinds.NODE_POOLS),
)
LANDING_UNSURE = Code(
    "landing-unsure",
    "Whether a replacement finds a node cannot be told for certain",
    "Something that decides about it is not modelled (another scheduler, scheduling gates, device claims) or was not "
    "read (claims, volumes, what nodes can attach, namespaces), or a node does not say what room it has.",
    (
        kinds.NODES,
        kinds.CLAIMS,
        kinds.VOLUMES,
        kinds.STORAGE_CLASSES,
        kinds.CSI_NODES,
        kinds.VOLUME_ATTACHMENTS,
        kinds.NAMESPACES,
    ),
)
LANDING_PREEMPTS = Code(
    "landing-preempts",
    "Pods without a place push others out",
    "A pod that fits nowhere has the scheduler delete pods of lower priority, unless its preemptionPolicy is Never; it "
    "prefers victims whose budgets allow it, but no budget protects them. It fails where this plan evicts such a pod, "
    "which then waits for a new node.",
    (kinds.NODES, kinds.PODS, kinds.BUDGETS),
)
ALL_AT_ONCE = Code(
    "all-replicas-at-once",
    "All ready replicas of a workload go in one round",
    "No budget guards it, and all its ready pods are on the targets: nothing keeps them from being away together.",
    (kinds.BUDGETS, kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS),
)
POD_HOSTPATH = Code(
    "pod-hostpath",
    "A pod with data on its node",
    "What it wrote to a hostPath stays behind on the drained node.",
)
POD_LOCAL_VOLUME = Code(
    "pod-local-volume",
    "A pod bound to its node by a local volume",
    "The volume exists on one node only: the replacement stays Pending while that node is cordoned.",
    (kinds.CLAIMS, kinds.VOLUMES),
)
POD_EPHEMERAL_VOLUME = Code(
    "pod-ephemeral-volume",
    "A pod with a generic ephemeral volume",
    "Its claim was made for it and is deleted with it, and so is the data; kubectl drain does not ask. The pod that "
    "comes next gets a new claim.",
)
POD_PROTECTED = Code(
    "pod-protected",
    "A pod whose owner asks not to disrupt it",
    "karpenter.sh/do-not-disrupt (for ever, or for the duration it names) or cluster-autoscaler's "
    "safe-to-evict=false; the eviction API ignores both.",
)
POD_PENDING = Code(
    "pod-pending",
    "A pod waits for a node already",
    "The scheduler has no place for it before the drain begins: evicted pods may fare the same.",
    (kinds.PODS,),
)
ONLY_BACKEND = Code(
    "only-backend",
    "The only backend of something that replacements need",
    "A webhook that fails closed, the autoscaler, the load balancer controller or cluster DNS with a single "
    "ready pod: while it is away, replacements cannot be created, started or reached.",
    (kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS, kinds.SERVICES, kinds.ENDPOINT_SLICES),
)
NO_READINESS_GATE = Code(
    "no-readiness-gate",
    "Pods behind a load balancer without a readiness gate",
    "The pod is Ready before its target is healthy: a drain that is perfect by its budgets can leave only "
    "initial and draining targets.",
    (kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS),
)
NAMESPACE_TERMINATING = Code(
    "namespace-terminating",
    "A namespace is being deleted",
    "Its pods cannot be evicted (403) and are going anyway, so they are left to it.",
    (kinds.NAMESPACES,),
)

POD_NODE_MISSING = Code(
    "pod-node-missing",
    "A pod bound to a node that is not there",
    "Its node was removed, or the snapshot lacks it: budgets may still count the pod as healthy, until the control "
    "plane deletes it.",
    (kinds.NODES,),
)

OBJECTS_INVALID = Code(
    "objects-invalid",
    "Nodes or pods of the dump are not valid",
    "An object that no API server would have stored is left out. A node that it may have been on is not drained, and "
    "what the other pods and nodes need of it is unknown.",
)

# Nodes ---------------------------------------------------------------------------------------
NODE_FARGATE = Code(
    "node-fargate",
    "A Fargate node is not drained",
    "It exists for its one pod: restart the pod's owner and a new node comes with the control plane's version.",
)
NODE_AUTO_MODE = Code(
    "node-auto-mode",
    "An EKS Auto Mode node is not drained by hand",
    "EKS replaces it itself after an upgrade and respects budgets; draining it by hand fights that.",
)
NODE_HYBRID = Code(
    "node-hybrid",
    "A hybrid node",
    "It can be drained, but nothing in AWS replaces or removes the machine: that is yours to do.",
)
NODE_NOT_READY = Code(
    "node-not-ready",
    "A target that is not Ready",
    "Ready=Unknown: its kubelet does not answer, and evicted pods would stay Terminating, because only the kubelet "
    "can confirm that they stopped; it is not drained. Ready=False: the kubelet answers, so it can be drained.",
)
NODE_FOREIGN_DRAIN = Code(
    "node-foreign-drain",
    "Somebody else is draining a target",
    "Karpenter, the Cluster Autoscaler, the AWS Node Termination Handler, kured or a deletion already empties this "
    "node.",
)
NODE_ENDS_SOON = Code(
    "node-ends-soon",
    "A target whose instance is about to end",
    "The AWS Node Termination Handler has tainted it, with a taint (aws-node-termination-handler/…) of which we do not "
    "know whether it drains the node itself: its pods may be gone soon, budgets or not.",
)
NODE_SLOW = Code(
    "node-slow",
    "A target that takes longer than its group's own update waits",
    "The own update of a managed node group waits 15 minutes for the pods of a node and then fails with "
    "PodEvictionFailure, without saying which pod: a budget whose pods on it must take turns, or a long grace period, "
    "takes longer. A drain by this plan waits.",
    (kinds.BUDGETS, kinds.PODS),
)

ALL: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
BY_NAME: dict[str, Code] = {code.name: code for code in ALL}
