"""Kubernetes objects with which a command runs inside the cluster.

Belongs here: the documents of a Job, its pod, its rights and its files, from facts and options. Never here: the rights
of a command, API requests, output formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.guards import policy_rules
from kubectl_eksdoc.model.api_objects import (
    COMPONENT_LABEL,
    FIELD_MANAGER,
    INSTANCE_LABEL,
    MANAGED_BY_LABEL,
    NAME_LABEL,
    NAMESPACE_LABEL,
    PROGRAM,
    VERSION_LABEL,
    Doc,
)
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, GROUP_LABELS, HOSTNAME, Node
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.placement import CREATED_KINDS, RBAC

# The command to run inside a cluster, and the names and labels by which all its objects are found.


_SELECTOR_LABELS = (MANAGED_BY_LABEL, COMPONENT_LABEL, INSTANCE_LABEL, NAMESPACE_LABEL)
FOLDER = "/etc/eksdoc"
"""Mount path of the command's files."""


@frozen
class FleetSecret:
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
    fleet: FleetSecret | None = None

    @property
    def labels(self) -> Doc:
        return {
            NAME_LABEL: PROGRAM,
            INSTANCE_LABEL: self.instance,
            VERSION_LABEL: self.version,
            COMPONENT_LABEL: self.component,
            MANAGED_BY_LABEL: FIELD_MANAGER,
            NAMESPACE_LABEL: self.namespace,
        }

    @property
    def selector(self) -> str:
        """The label selector that matches exactly the objects of this command."""
        return ",".join(f"{key}={self.labels[key]}" for key in _SELECTOR_LABELS)

    def metadata(self, annotations: Doc | None = None) -> Doc:
        annotations_field = {"annotations": annotations} if annotations else {}
        return {"name": self.name, "namespace": self.namespace, "labels": self.labels, **annotations_field}

    def role_metadata(self, namespace: str) -> Doc:
        """Metadata of a role and its binding; `namespace` "" for a ClusterRole. Commands with the same name in several
        namespaces do not share roles, and `permissions` does not print this name."""
        namespace_field = {"namespace": namespace} if namespace else {}
        return {"name": f"{self.name}.{self.namespace}", **namespace_field, "labels": self.labels}


def belongs_to(doc: Doc, errand: InClusterCommand) -> bool:
    """Whether `doc` has the labels of this command."""
    meta = doc.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    expected = errand.labels
    return isinstance(labels, dict) and all(labels.get(key) == expected[key] for key in _SELECTOR_LABELS)


# The command's rights as RBAC objects: ClusterRoles, and Roles for a single namespace.


_API = f"{RBAC}/v1"
_IRSA = "eks.amazonaws.com/role-arn"


def service_account_and_roles(command: InClusterCommand, permissions: Sequence[Permission]) -> tuple[Doc, ...]:
    """The ServiceAccount and its roles; each role comes before the binding that names it."""
    account = command.metadata(annotations={_IRSA: command.role} if command.role else None)
    # The token is mounted only into pods that request it.
    docs: list[Doc] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account, "automountServiceAccountToken": False}
    ]
    for namespace in sorted({each.namespace for each in permissions}):
        kind, meta = "Role" if namespace else "ClusterRole", command.role_metadata(namespace)
        allowed_rules = policy_rules(each for each in permissions if each.namespace == namespace)
        docs.append({"apiVersion": _API, "kind": kind, "metadata": meta, "rules": allowed_rules})
        docs.append(
            {
                "apiVersion": _API,
                "kind": f"{kind}Binding",
                "metadata": meta,
                "roleRef": {"apiGroup": RBAC, "kind": kind, "name": meta["name"]},
                "subjects": [{"kind": "ServiceAccount", "name": command.name, "namespace": command.namespace}],
            }
        )
    return tuple(docs)


# Nodes on which the pod of a drain must not run, and whether other nodes remain.


_OS = "kubernetes.io/os"
_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


@frozen
class AvoidedNodes:
    """Nodes that the pod must avoid.

    `hosts`: values of the label `HOSTNAME`; `unlabeled`: names of nodes without that label. `groups`: by label, names
    of node groups of which every node is a target: a new node of such a group may be drained soon, too.
    """

    hosts: tuple[str, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unlabeled: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.hosts) + len(self.unlabeled)


def nodes_to_avoid(targets: Iterable[Node], nodes: Sequence[Node]) -> AvoidedNodes:
    """The nodes to avoid; `nodes` are all nodes of the cluster. A group with other nodes is not avoided, because there
    may be no other group."""
    target_nodes = tuple(targets)
    names = {node.name for node in target_nodes}
    remaining = [node for node in nodes if node.name not in names]
    groups = []
    for label in GROUP_LABELS:
        remaining_groups = {node.labels.get(label) for node in remaining}
        avoided_groups = sorted(
            {node.labels[label] for node in target_nodes if label in node.labels} - remaining_groups - {""}
        )
        groups += [(label, tuple(avoided_groups))] if avoided_groups else []
    hosts = {node.labels[HOSTNAME] for node in target_nodes if HOSTNAME in node.labels}
    unlabeled = {node.name for node in target_nodes if HOSTNAME not in node.labels}
    return AvoidedNodes(tuple(sorted(hosts)), tuple(groups), tuple(sorted(unlabeled)))


def affinity(avoided_nodes: AvoidedNodes) -> Doc:
    """Node affinity. Required: Linux, no Fargate, no target node. Preferred: other node groups.

    The group is only a preference: new nodes of a cluster's only group join it, so a required term could never be met.
    """
    requirements: list[tuple[str, str, tuple[str, ...]]] = [
        ("In", _OS, ("linux",)),
        ("NotIn", COMPUTE_TYPE, ("fargate",)),
    ]
    requirements += [("NotIn", HOSTNAME, avoided_nodes.hosts)] if avoided_nodes.hosts else []
    # NotIn matches nodes without the label; a matchFields requirement takes one value only (pkg/apis/core/validation).
    fields = [_requirement("NotIn", "metadata.name", (name,)) for name in avoided_nodes.unlabeled]
    term = {
        "matchExpressions": [_requirement(*each) for each in requirements],
        **({"matchFields": fields} if fields else {}),
    }
    result: Doc = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    if avoided_nodes.groups:
        preference = {
            "matchExpressions": [_requirement("NotIn", label, names) for label, names in avoided_nodes.groups]
        }
        result["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": 100, "preference": preference}]
    return {"nodeAffinity": result}


def _requirement(operator: str, key: str, values: Sequence[str]) -> Doc:
    return {"key": key, "operator": operator, "values": list(values)}


def count_usable_nodes(nodes: Iterable[Node], avoided_nodes: AvoidedNodes) -> int:
    """Number of nodes on which the pod can run now: Ready, not cordoned, and without a blocking taint."""
    return sum(
        node.labels.get(_OS) == "linux"
        and node.labels.get(COMPUTE_TYPE) != "fargate"
        and node.ready == "True"
        and not node.unschedulable
        and all(taint.effect not in _BLOCKING_EFFECTS for taint in node.taints)
        and node.labels.get(HOSTNAME) not in avoided_nodes.hosts
        and node.name not in avoided_nodes.unlabeled
        for node in nodes
    )


# The plan that is passed to a run where the complete plan is too large: the part that the run is checked against.


_COMPLETE_KEYS = (
    "apiVersion",
    "kind",
    "metadata",
    "rounds",
    "options",
    "estimate",
    "lowerBound",
    "gap",
    "waves",
    "budgets",
)
_REDUCED_KEYS: Mapping[str, tuple[str, ...]] = {
    "targets": ("name", "uid", "verdict"),
    "evictions": ("uid", "namespace", "name", "ownerUid", "means"),
    "findings": ("code", "subject", "severity", "status", "message"),
}


def reduced_plan(plan: Doc) -> Doc:
    """The plan without the parts for readers: reasons why nodes and pods stay, evidence, remedies. It is still a saved
    plan for ``drain run --plan``."""
    reduced = {key: plan[key] for key in _COMPLETE_KEYS}
    for key, names in _REDUCED_KEYS.items():
        reduced[key] = [{name: each[name] for name in names if name in each} for each in plan[key]]
    reduced["targets"] = [{**each, "why": []} for each in reduced["targets"]]
    return {**reduced, "left": []}


# The pod of a command: restricted, with writable directories, and not disrupted by autoscalers.
#
# It meets the pod security level "restricted" (Pod Security Standards), and its root file system is read-only.
# Autoscalers: karpenter.sh/docs/concepts/disruption (do-not-disrupt), cluster-autoscaler's FAQ (safe-to-evict).


CONTAINER = "eksdoc"
USER = 65532
HOME = "/home/eksdoc"
GRACE_PERIOD_S = 90
"""How long a run that is told to end may wait for requests that it has already sent."""

_NO_DISRUPTION = {"karpenter.sh/do-not-disrupt": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
_REQUESTS = {"cpu": "100m", "memory": "256Mi"}
_LIMITS = {"cpu": "1", "memory": "1Gi"}
"""A plan of 150,000 pods takes less than 400 MiB (bench/results)."""
_WRITABLE_DIRS = (("tmp", "/tmp", "256Mi"), ("home", HOME, "512Mi"))
_FILES = "files"
_CONFIG, _CONFIG_PATH = "kubeconfig", "/etc/eksdoc-kubeconfig"
_INDEX = "$(JOB_COMPLETION_INDEX)"
"""The Job controller sets it in each container of an Indexed Job (pkg/controller/job/indexed_job_utils.go)."""


def pod_template(command: InClusterCommand, avoided_nodes: AvoidedNodes = AvoidedNodes()) -> Doc:
    """The pod template. The kubelet never restarts the container; the Job controller creates a new pod instead, unless
    the exit code is final."""
    return {
        "metadata": {"labels": command.labels, "annotations": dict(_NO_DISRUPTION)},
        "spec": {
            "serviceAccountName": command.name,
            "automountServiceAccountToken": command.fleet is None,
            "enableServiceLinks": False,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": GRACE_PERIOD_S,
            "affinity": affinity(avoided_nodes),
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(command)],
            "volumes": _volumes(command),
        },
    }


def _container(command: InClusterCommand) -> Doc:
    region = {"AWS_REGION": command.region} if command.region else {}
    environ = {"HOME": HOME, "TMPDIR": "/tmp", "USER": "eksdoc", "PYTHONDONTWRITEBYTECODE": "1", **region}
    if command.fleet is not None:
        environ["KUBECONFIG"] = _CONFIG_PATH
    mounts: list[Doc] = [{"name": name, "mountPath": path} for name, path, _ in _WRITABLE_DIRS]
    if command.files:
        mounts.append({"name": _FILES, "mountPath": FOLDER, "readOnly": True})
    if command.fleet is not None:
        mounts.append({"name": _CONFIG, "mountPath": _CONFIG_PATH, "subPathExpr": _INDEX, "readOnly": True})
    return {
        "name": CONTAINER,
        "image": command.image,
        "imagePullPolicy": "IfNotPresent",
        "command": [PROGRAM],
        # Kubernetes would expand $(NAME) to the value of a variable (EnvVar expansion: $$ is one $).
        "args": [each.replace("$", "$$") for each in command.args],
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


def _volumes(command: InClusterCommand) -> list[Doc]:
    volumes: list[Doc] = [
        {"name": name, "emptyDir": {"sizeLimit": size_limit}} for name, _, size_limit in _WRITABLE_DIRS
    ]
    volumes += [{"name": _FILES, "configMap": {"name": command.name}}] if command.files else []
    if command.fleet is not None:
        items = [{"key": key, "path": str(index)} for index, key in enumerate(command.fleet.keys)]
        secret = {"secretName": command.fleet.secret, "items": items, "defaultMode": 0o440}
        volumes.append({"name": _CONFIG, "secret": secret})
    return volumes


# The Job or CronJob of a command: a pod that ended with an answer is not retried, a killed or disrupted pod is.
#
# Source: pkg/controller/job (podFailurePolicy requires restartPolicy Never), Kubernetes v1.36; the policy is stable
# since 1.31 and on by default since 1.26.


BACKOFF_LIMIT = 12
"""How often a run's pod may fail, for example by running out of memory or while the API server does not answer: 45
minutes with the back-off delays, which grow to six minutes."""

CRON_BACKOFF_LIMIT = 2
FLEET_PARALLELISM = 8
"""Number of clusters of a fleet that are checked at the same time."""

CHECK_DEADLINE_S = 3600
"""Longest time to check a cluster, image pull included. A Job that waits forever would keep the next one from starting
(concurrencyPolicy Forbid), even after its CronJob was fixed."""

TTL_AFTER_FINISHED_S = 7 * 86400
"""How long an ended Job and its log are kept."""

MAX_CRON_NAME = 52
"""The controller adds eleven characters to it for the name of a Job, which has at most 63 (validateCronJob)."""


@frozen
class CronSchedule:
    """`zone`: an IANA time zone, or "" for the controller's, which is UTC on EKS."""

    schedule: str
    zone: str = ""


def job(command: InClusterCommand, pod: Doc) -> Doc:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": command.metadata(),
        "spec": _job_spec(command, pod, BACKOFF_LIMIT),
    }


def cron_job(command: InClusterCommand, pod: Doc, cron_schedule: CronSchedule) -> Doc:
    """A CronJob with one Job at a time; a Job that could not be started within an hour is skipped."""
    spec = {
        key: value
        for key, value in _job_spec(command, pod, CRON_BACKOFF_LIMIT).items()
        if key != "ttlSecondsAfterFinished"
    }
    batches = 1 if command.fleet is None else -(-len(command.fleet.keys) // FLEET_PARALLELISM)
    spec["activeDeadlineSeconds"] = CHECK_DEADLINE_S * batches
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": command.metadata(),
        "spec": {
            "schedule": cron_schedule.schedule,
            **({"timeZone": cron_schedule.zone} if cron_schedule.zone else {}),
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 3600,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"metadata": {"labels": command.labels}, "spec": spec},
        },
    }


def _job_spec(command: InClusterCommand, pod: Doc, backoff_limit: int) -> Doc:
    ignore_disruption = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    codes = {"containerName": CONTAINER, "operator": "In", "values": sorted(command.final)}
    fail_on_exit_code = {"action": "FailJob" if command.fleet is None else "FailIndex", "onExitCodes": codes}
    completions: Doc = {"parallelism": 1, "completions": 1, "backoffLimit": backoff_limit}
    if command.fleet is not None:
        # One index for each cluster; an index does not end the others (backoffLimitPerIndex, stable since 1.33).
        count = len(command.fleet.keys)
        indexed = {"completionMode": "Indexed", "backoffLimitPerIndex": backoff_limit}
        completions = {"parallelism": min(count, FLEET_PARALLELISM), "completions": count, **indexed}
    return {
        **completions,
        "podFailurePolicy": {"rules": [ignore_disruption, fail_on_exit_code]},
        "ttlSecondsAfterFinished": TTL_AFTER_FINISHED_S,
        "template": pod,
    }


# All objects of a command in the order of creation: the workload comes last.


MAX_CONFIG_MAP_BYTES = 1 << 20
"""Maximum bytes of all values of a ConfigMap together (MaxSecretSize, pkg/apis/core/validation)."""

KINDS = tuple(each.full_name for each in reversed(CREATED_KINDS))
"""Resource names for kubectl, in the order of deletion."""


def all_objects(
    command: InClusterCommand,
    permissions: Sequence[Permission],
    avoided_nodes: AvoidedNodes = AvoidedNodes(),
    cron_schedule: CronSchedule | None = None,
) -> tuple[Doc, ...]:
    """All objects; without `cron_schedule` a Job that runs once, now."""
    pod = pod_template(command, avoided_nodes)
    workload = job(command, pod) if cron_schedule is None else cron_job(command, pod, cron_schedule)
    files = {"immutable": True, "binaryData": dict(command.files)}  # the files do not change during a run
    config_maps = (
        [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": command.metadata(), **files}] if command.files else []
    )
    return (*service_account_and_roles(command, permissions), *config_maps, workload)
