"""The merge keys of a pod and of what holds pod templates: enough of them to try patches with."""

from __future__ import annotations

KEYS = {
    ("metadata", "ownerReferences"): "uid",
    ("containers",): "name",
    ("initContainers",): "name",
    ("volumes",): "name",
    ("imagePullSecrets",): "name",
    ("containers", "env"): "name",
    ("containers", "volumeMounts"): "mountPath",
    ("containers", "ports"): "containerPort",
    ("initContainers", "env"): "name",
}
PODS = (("spec",), ("spec", "template", "spec"))


class PodFields:
    def merge_key(self, path: tuple[str, ...]) -> str | None:
        for pod in PODS:
            if path[: len(pod)] == pod and path[len(pod) :] in KEYS:
                return KEYS[path[len(pod) :]]
        return KEYS.get(path)

    def merges_scalars(self, path: tuple[str, ...]) -> bool:
        return path == ("metadata", "finalizers")
