"""Short-lived pods that ask something for us, as they are sent to the cluster, and the ConfigMap that owns them.

They are bound to their node by spec.nodeName, as kubectl debug does it, and not by way of the scheduler: a pod that the
scheduler finds no room for may preempt others where a PriorityClass is the default of the cluster, and may wake an
autoscaler. The kubelet refuses instead what does not fit (OutOfcpu, OutOfpods), and nobody has to go. They tolerate
every taint, have no service account's token, and keep to the pod security level "restricted", but for the host's
network, which "baseline" forbids already (Pod Security Standards, Host Namespaces).
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc

NOBODY = 65534


@dataclass(frozen=True, slots=True)
class Errand:
    """What pods are made for: `name` in names and labels, the label that carries its id, where, and for how long at
    most (the kubelet ends a pod after `deadline_s` of which nobody took care)."""

    name: str
    label: str
    ident: str
    namespace: str
    deadline_s: int

    @property
    def owner_name(self) -> str:
        return f"eksdoc-{self.name}-{self.ident}"

    @property
    def labels(self) -> Doc:
        name = f"eksdoc-{self.name}"
        return {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "eksdoc", self.label: self.ident}


def owner(errand: Errand, content: Doc) -> Doc:
    """A ConfigMap, which is made first and deleted at the end: the garbage collector takes the pods away with it."""
    meta = {"name": errand.owner_name, "namespace": errand.namespace, "labels": errand.labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **content}


def pod(errand: Errand, name: str, node: str, container: Doc, owner_uid: str = "", **spec: object) -> Doc:
    """`owner_uid` "": as it is shown before there is an owner. `spec`: what it has besides."""
    of = {"apiVersion": "v1", "kind": "ConfigMap", "name": errand.owner_name, "uid": owner_uid}
    owners = {"ownerReferences": [of]} if owner_uid else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": errand.namespace, "labels": errand.labels, **owners},
        "spec": {
            "nodeName": node,
            **spec,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": errand.deadline_s,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": NOBODY,
                "runAsGroup": NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{**container, "securityContext": _OF_CONTAINER}],
        },
    }


_OF_CONTAINER: Doc = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
