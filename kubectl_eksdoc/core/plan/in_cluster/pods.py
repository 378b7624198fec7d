"""The pod of an errand: it may nothing that it need not, has a place to write to, and is left alone by autoscalers.

It keeps to the pod security level "restricted" (Pod Security Standards), and to a root that is read only. Autoscalers:
karpenter.sh/docs/concepts/disruption (do-not-disrupt), cluster-autoscaler's FAQ (safe-to-evict).
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.plan.in_cluster.errand import FOLDER, PROGRAM, Errand
from kubectl_eksdoc.core.plan.in_cluster.places import Avoided, affinity

CONTAINER = "eksdoc"
USER = 65532
HOME = "/home/eksdoc"
SETTLES_S = 90
"""So long a run that is told to end may wait for what it has asked for already."""

_ALONE = {"karpenter.sh/do-not-disrupt": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
_REQUESTS = {"cpu": "100m", "memory": "256Mi"}
_LIMITS = {"cpu": "1", "memory": "1Gi"}
"""A plan of 150,000 pods takes less than 400 MiB (bench/results)."""
_WRITABLE = (("tmp", "/tmp", "256Mi"), ("home", HOME, "512Mi"))
_FILES = "files"
_CONFIG, _CONFIG_PATH = "kubeconfig", "/etc/eksdoc-kubeconfig"
_INDEX = "$(JOB_COMPLETION_INDEX)"
"""The Job controller sets it in each container of an Indexed Job (pkg/controller/job/indexed_job_utils.go)."""


def template(errand: Errand, avoid: Avoided = Avoided()) -> Doc:
    """Its container is never started again in its place: a new pod comes for one that failed, if its exit code may."""
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


def _container(errand: Errand) -> Doc:
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
        "args": [_as_written(each) for each in errand.args],
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


def _as_written(arg: str) -> str:
    """Kubernetes would put a variable's value in the place of ``$(NAME)`` (EnvVar expansion: ``$$`` is one ``$``)."""
    return arg.replace("$", "$$")


def _volumes(errand: Errand) -> list[Doc]:
    found: list[Doc] = [{"name": name, "emptyDir": {"sizeLimit": most}} for name, _, most in _WRITABLE]
    found += [{"name": _FILES, "configMap": {"name": errand.name}}] if errand.files else []
    if errand.fleet is not None:
        items = [{"key": key, "path": str(index)} for index, key in enumerate(errand.fleet.keys)]
        secret = {"secretName": errand.fleet.secret, "items": items, "defaultMode": 0o440}
        found.append({"name": _CONFIG, "secret": secret})
    return found
