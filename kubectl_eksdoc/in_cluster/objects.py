"""Kubernetes objects with which a command runs inside the cluster.

Belongs here: the documents of a Job, its pod, its rights and its files, from facts and options. Never here: the rights
of a command, API requests, output formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.guards import rules
from kubectl_eksdoc.model.api_objects import (
    COMPONENT,
    INSTANCE,
    MANAGED_BY,
    MANAGER,
    NAME,
    OF_NAMESPACE,
    PROGRAM,
    VERSION,
    Doc,
)
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, GROUP_LABELS, HOSTNAME, Node
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.placing import PLACED, RBAC

# The command to run inside a cluster, and the names and labels by which all its objects are found.


_TELLING = (MANAGED_BY, COMPONENT, INSTANCE, OF_NAMESPACE)
FOLDER = "/etc/eksdoc"
"""Mount path of the command's files."""


@frozen
class Fleet:
    """Other clusters: each has its kubeconfig under one of the `keys` of a Secret in the command's namespace."""

    secret: str
    keys: tuple[str, ...]


@frozen
class InClusterCommand:
    """A command that runs inside the cluster.

    `args`: its command line, without the program. `files`: contents in base64 by name. `final`: exit codes after which
    it is not retried. `role`: the ARN of an IAM role (IRSA), or "". `fleet`: None where it reads the cluster in which
    it runs.
    """

    name: str
    component: str
    instance: str
    namespace: str
    image: str
    version: str
    args: tuple[str, ...]
    final: tuple[int, ...]
    role: str = ""
    region: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    fleet: Fleet | None = None

    @property
    def labels(self) -> Doc:
        return {
            NAME: PROGRAM,
            INSTANCE: self.instance,
            VERSION: self.version,
            COMPONENT: self.component,
            MANAGED_BY: MANAGER,
            OF_NAMESPACE: self.namespace,
        }

    @property
    def selector(self) -> str:
        """The label selector that matches exactly the objects of this command."""
        return ",".join(f"{key}={self.labels[key]}" for key in _TELLING)

    def metadata(self, annotations: Doc | None = None) -> Doc:
        more = {"annotations": annotations} if annotations else {}
        return {"name": self.name, "namespace": self.namespace, "labels": self.labels, **more}

    def role_metadata(self, namespace: str) -> Doc:
        """Metadata of a role and its binding; `namespace` "" for a ClusterRole. Commands with the same name in several
        namespaces do not share roles, and `permissions` does not print this name."""
        where = {"namespace": namespace} if namespace else {}
        return {"name": f"{self.name}.{self.namespace}", **where, "labels": self.labels}


def is_ours(doc: Doc, errand: InClusterCommand) -> bool:
    """Whether `doc` has the labels of this command."""
    meta = doc.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    wanted = errand.labels
    return isinstance(labels, dict) and all(labels.get(key) == wanted[key] for key in _TELLING)


# The command's rights as RBAC objects: ClusterRoles, and Roles for a single namespace.


_API = f"{RBAC}/v1"
_IRSA = "eks.amazonaws.com/role-arn"


def granted(errand: InClusterCommand, permissions: Sequence[Permission]) -> tuple[Doc, ...]:
    """The ServiceAccount and its roles; each role comes before the binding that names it."""
    account = errand.metadata(annotations={_IRSA: errand.role} if errand.role else None)
    # The token is mounted only into pods that request it.
    found: list[Doc] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account, "automountServiceAccountToken": False}
    ]
    for where in sorted({each.namespace for each in permissions}):
        kind, meta = "Role" if where else "ClusterRole", errand.role_metadata(where)
        allowed = rules(each for each in permissions if each.namespace == where)
        found.append({"apiVersion": _API, "kind": kind, "metadata": meta, "rules": allowed})
        found.append(
            {
                "apiVersion": _API,
                "kind": f"{kind}Binding",
                "metadata": meta,
                "roleRef": {"apiGroup": RBAC, "kind": kind, "name": meta["name"]},
                "subjects": [{"kind": "ServiceAccount", "name": errand.name, "namespace": errand.namespace}],
            }
        )
    return tuple(found)


# Nodes on which the pod of a drain must not run, and whether other nodes remain.


_OS = "kubernetes.io/os"
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


@frozen
class AvoidedNodes:
    """Nodes that the pod must avoid.

    `hosts`: values of the label `HOSTNAME`; `unlabeled`: names of nodes without that label. `groups`: by label, names
    of node groups of which every node is a target: a new node of such a group may be drained soon, too.
    """

    hosts: tuple[str, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    bare: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.hosts) + len(self.bare)


def avoided(targets: Iterable[Node], nodes: Sequence[Node]) -> AvoidedNodes:
    """The nodes to avoid; `nodes` are all nodes of the cluster. A group with other nodes is not avoided, because there
    may be no other group."""
    going = tuple(targets)
    names = {node.name for node in going}
    staying = [node for node in nodes if node.name not in names]
    groups = []
    for label in GROUP_LABELS:
        left = {node.labels.get(label) for node in staying}
        gone = sorted({node.labels[label] for node in going if label in node.labels} - left - {""})
        groups += [(label, tuple(gone))] if gone else []
    hosts = {node.labels[HOSTNAME] for node in going if HOSTNAME in node.labels}
    bare = {node.name for node in going if HOSTNAME not in node.labels}
    return AvoidedNodes(tuple(sorted(hosts)), tuple(groups), tuple(sorted(bare)))


def affinity(what: AvoidedNodes) -> Doc:
    """Node affinity. Required: Linux, no Fargate, no target node. Preferred: other node groups.

    The group is only a preference: new nodes of a cluster's only group join it, so a required term could never be met.
    """
    keeps: list[tuple[str, str, tuple[str, ...]]] = [("In", _OS, ("linux",)), ("NotIn", COMPUTE_TYPE, ("fargate",))]
    keeps += [("NotIn", HOSTNAME, what.hosts)] if what.hosts else []
    # NotIn matches nodes without the label; a matchFields requirement takes one value only (pkg/apis/core/validation).
    fields = [_asked("NotIn", "metadata.name", (name,)) for name in what.bare]
    term = {"matchExpressions": [_asked(*each) for each in keeps], **({"matchFields": fields} if fields else {})}
    found: Doc = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    if what.groups:
        liked = {"matchExpressions": [_asked("NotIn", label, names) for label, names in what.groups]}
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": 100, "preference": liked}]
    return {"nodeAffinity": found}


def _asked(operator: str, key: str, values: Sequence[str]) -> Doc:
    return {"key": key, "operator": operator, "values": list(values)}


def rooms(nodes: Iterable[Node], what: AvoidedNodes) -> int:
    """Number of nodes on which the pod can run now: Ready, not cordoned, and without a blocking taint."""
    return sum(
        node.labels.get(_OS) == "linux"
        and node.labels.get(COMPUTE_TYPE) != "fargate"
        and node.ready == "True"
        and not node.unschedulable
        and all(taint.effect not in _KEEPS_AWAY for taint in node.taints)
        and node.labels.get(HOSTNAME) not in what.hosts
        and node.name not in what.bare
        for node in nodes
    )


# The plan that is passed to a run where the complete plan is too large: the part that the run is checked against.


_WHOLE = ("apiVersion", "kind", "metadata", "rounds", "options", "estimate", "lowerBound", "gap", "waves", "budgets")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "targets": ("name", "uid", "verdict"),
    "evictions": ("uid", "namespace", "name", "ownerUid", "means"),
    "findings": ("code", "subject", "severity", "status", "message"),
}


def needed(plan: Doc) -> Doc:
    """The plan without the parts for readers: reasons why nodes and pods stay, evidence, remedies. It is still a saved
    plan for ``drain run --plan``."""
    kept = {key: plan[key] for key in _WHOLE}
    for key, names in _PARTS.items():
        kept[key] = [{name: each[name] for name in names if name in each} for each in plan[key]]
    kept["targets"] = [{**each, "why": []} for each in kept["targets"]]
    return {**kept, "left": []}


# The pod of a command: restricted, with writable directories, and not disrupted by autoscalers.
#
# It meets the pod security level "restricted" (Pod Security Standards), and its root file system is read-only.
# Autoscalers: karpenter.sh/docs/concepts/disruption (do-not-disrupt), cluster-autoscaler's FAQ (safe-to-evict).


CONTAINER = "eksdoc"
USER = 65532
HOME = "/home/eksdoc"
SETTLES_S = 90
"""How long a run that is told to end may wait for requests that it has already sent."""

_ALONE = {"karpenter.sh/do-not-disrupt": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
_REQUESTS = {"cpu": "100m", "memory": "256Mi"}
_LIMITS = {"cpu": "1", "memory": "1Gi"}
"""A plan of 150,000 pods takes less than 400 MiB (bench/results)."""
_WRITABLE = (("tmp", "/tmp", "256Mi"), ("home", HOME, "512Mi"))
_FILES = "files"
_CONFIG, _CONFIG_PATH = "kubeconfig", "/etc/eksdoc-kubeconfig"
_INDEX = "$(JOB_COMPLETION_INDEX)"
"""The Job controller sets it in each container of an Indexed Job (pkg/controller/job/indexed_job_utils.go)."""


def template(errand: InClusterCommand, avoid: AvoidedNodes = AvoidedNodes()) -> Doc:
    """The pod template. The kubelet never restarts the container; the Job controller creates a new pod instead, unless
    the exit code is final."""
    return {
        "metadata": {"labels": errand.labels, "annotations": dict(_ALONE)},
        "spec": {
            "serviceAccountName": errand.name,
            "automountServiceAccountToken": errand.fleet is None,
            "enableServiceLinks": False,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": SETTLES_S,
            "affinity": affinity(avoid),
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(errand)],
            "volumes": _volumes(errand),
        },
    }


def _container(errand: InClusterCommand) -> Doc:
    region = {"AWS_REGION": errand.region} if errand.region else {}
    environ = {"HOME": HOME, "TMPDIR": "/tmp", "USER": "eksdoc", "PYTHONDONTWRITEBYTECODE": "1", **region}
    if errand.fleet is not None:
        environ["KUBECONFIG"] = _CONFIG_PATH
    mounts: list[Doc] = [{"name": name, "mountPath": path} for name, path, _ in _WRITABLE]
    if errand.files:
        mounts.append({"name": _FILES, "mountPath": FOLDER, "readOnly": True})
    if errand.fleet is not None:
        mounts.append({"name": _CONFIG, "mountPath": _CONFIG_PATH, "subPathExpr": _INDEX, "readOnly": True})
    return {
        "name": CONTAINER,
        "image": errand.image,
        "imagePullPolicy": "IfNotPresent",
        "command": [PROGRAM],
        # Kubernetes would expand $(NAME) to the value of a variable (EnvVar expansion: $$ is one $).
        "args": [each.replace("$", "$$") for each in errand.args],
        "env": [{"name": name, "value": value} for name, value in environ.items()],
        "resources": {"requests": dict(_REQUESTS), "limits": dict(_LIMITS)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def _volumes(errand: InClusterCommand) -> list[Doc]:
    found: list[Doc] = [{"name": name, "emptyDir": {"sizeLimit": most}} for name, _, most in _WRITABLE]
    found += [{"name": _FILES, "configMap": {"name": errand.name}}] if errand.files else []
    if errand.fleet is not None:
        items = [{"key": key, "path": str(index)} for index, key in enumerate(errand.fleet.keys)]
        secret = {"secretName": errand.fleet.secret, "items": items, "defaultMode": 0o440}
        found.append({"name": _CONFIG, "secret": secret})
    return found


# The Job or CronJob of a command: a pod that ended with an answer is not retried, a killed or disrupted pod is.
#
# Source: pkg/controller/job (podFailurePolicy requires restartPolicy Never), Kubernetes v1.36; the policy is stable
# since 1.31 and on by default since 1.26.


AGAIN = 12
"""How often a run's pod may fail, for example by running out of memory or while the API server does not answer: 45
minutes with the back-off delays, which grow to six minutes."""

AGAIN_LOOKING = 2
AT_ONCE = 8
"""Number of clusters of a fleet that are checked at the same time."""

LONGEST_LOOK_S = 3600
"""Longest time to check a cluster, image pull included. A Job that waits forever would keep the next one from starting
(concurrencyPolicy Forbid), even after its CronJob was fixed."""

KEPT_S = 7 * 86400
"""How long an ended Job and its log are kept."""

LONGEST_CRON_NAME = 52
"""The controller adds eleven characters to it for the name of a Job, which has at most 63 (validateCronJob)."""


@frozen
class CronSchedule:
    """`zone`: an IANA time zone, or "" for the controller's, which is UTC on EKS."""

    schedule: str
    zone: str = ""


def job(errand: InClusterCommand, pod: Doc) -> Doc:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": errand.metadata(), "spec": _spec(errand, pod, AGAIN)}


def cron_job(errand: InClusterCommand, pod: Doc, when: CronSchedule) -> Doc:
    """A CronJob with one Job at a time; a Job that could not be started within an hour is skipped."""
    made = {key: value for key, value in _spec(errand, pod, AGAIN_LOOKING).items() if key != "ttlSecondsAfterFinished"}
    turns = 1 if errand.fleet is None else -(-len(errand.fleet.keys) // AT_ONCE)
    made["activeDeadlineSeconds"] = LONGEST_LOOK_S * turns
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": errand.metadata(),
        "spec": {
            "schedule": when.schedule,
            **({"timeZone": when.zone} if when.zone else {}),
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 3600,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"metadata": {"labels": errand.labels}, "spec": made},
        },
    }


def _spec(errand: InClusterCommand, pod: Doc, again: int) -> Doc:
    disturbed = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    codes = {"containerName": CONTAINER, "operator": "In", "values": sorted(errand.final)}
    ends = {"action": "FailJob" if errand.fleet is None else "FailIndex", "onExitCodes": codes}
    completions: Doc = {"parallelism": 1, "completions": 1, "backoffLimit": again}
    if errand.fleet is not None:
        # One index for each cluster; an index does not end the others (backoffLimitPerIndex, stable since 1.33).
        count = len(errand.fleet.keys)
        indexed = {"completionMode": "Indexed", "backoffLimitPerIndex": again}
        completions = {"parallelism": min(count, AT_ONCE), "completions": count, **indexed}
    return {
        **completions,
        "podFailurePolicy": {"rules": [disturbed, ends]},
        "ttlSecondsAfterFinished": KEPT_S,
        "template": pod,
    }


# All objects of a command in the order of creation: the workload comes last.


LARGEST = 1 << 20
"""Maximum bytes of all values of a ConfigMap together (MaxSecretSize, pkg/apis/core/validation)."""

KINDS = tuple(each.full_name for each in reversed(PLACED))
"""Resource names for kubectl, in the order of deletion."""


def objects(
    errand: InClusterCommand,
    permissions: Sequence[Permission],
    avoid: AvoidedNodes = AvoidedNodes(),
    when: CronSchedule | None = None,
) -> tuple[Doc, ...]:
    """All objects; without `cron_schedule` a Job that runs once, now."""
    pod = template(errand, avoid)
    runs = job(errand, pod) if when is None else cron_job(errand, pod, when)
    files = {"immutable": True, "binaryData": dict(errand.files)}  # the files do not change during a run
    held = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": errand.metadata(), **files}] if errand.files else []
    return (*granted(errand, permissions), *held, runs)
