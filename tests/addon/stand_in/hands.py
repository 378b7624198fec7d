"""Other clients that write to the add-on's objects, each as that client does it, named by its field manager.

Clients that update: ``kubectl set env`` and ``kubectl patch`` (by a user, or by Terraform's local-exec), both by
strategic merge patch; ``kubectl edit``. Clients that apply: Helm 4, Argo CD with server-side apply, and Terraform's
resource kubernetes_env, all three with force.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc
from tests.addon.stand_in.documents import Objects
from tests.addon.stand_in.pod_template import INIT, MAIN
from tests.addon.stand_in.rendering import NAMESPACE, Site, rendered

KUBECTL_SET, KUBECTL_PATCH, KUBECTL_EDIT = "kubectl-set", "kubectl-patch", "kubectl-edit"
HELM, ARGO_CD, TERRAFORM = "helm", "argocd-controller", "Terraform"


def sets_env(objects: Objects, name: str, value: str, *, container: str = MAIN, manager: str = KUBECTL_SET) -> None:
    """``kubectl set env daemonset/aws-node -c CONTAINER NAME=VALUE``: a new entry is appended.

    For any `manager`, and for the init container too: a client that edits the object and sends the difference does the
    same.
    """
    order = dict.fromkeys((*_env_names(objects, container), name))
    patches(objects, _env_patch(container, {"name": name, "value": value}, order), manager=manager)


def removes_env(objects: Objects, name: str, *, container: str = MAIN, manager: str = KUBECTL_SET) -> None:
    """``kubectl set env … NAME-``."""
    order = [each for each in _env_names(objects, container) if each != name]
    patches(objects, _env_patch(container, {"name": name, "$patch": "delete"}, order), manager=manager)


def patches_init_env(objects: Objects, name: str, value: str, *, manager: str = KUBECTL_PATCH) -> None:
    """``kubectl patch`` of an env entry of the init container, as in the incident; a new entry comes first."""
    patches(objects, _env_patch(INIT, {"name": name, "value": value}), manager=manager)


def patches(
    objects: Objects, patch: Doc, *, kind: str = "DaemonSet", name: str = "aws-node", manager: str = KUBECTL_PATCH
) -> None:
    """``kubectl patch KIND/NAME -p PATCH``."""
    objects.patch(kind, name, patch, manager)


def sets_data(objects: Objects, key: str, value: str, *, manager: str = KUBECTL_PATCH) -> None:
    """Set a key of the ConfigMap amazon-vpc-cni."""
    patches(objects, {"data": {key: value}}, kind="ConfigMap", name="amazon-vpc-cni", manager=manager)


def applies_env(
    objects: Objects, name: str, value: str, *, container: str = MAIN, manager: str = ARGO_CD, force: bool = True
) -> tuple[str, ...]:
    """Server-side apply of a configuration with only this entry; without force it returns the conflicts."""
    return objects.apply(_config(_env_patch(container, {"name": name, "value": value})), manager, force=force)


def helm_installs(objects: Objects, version: str, values: Doc, site: Site = Site()) -> None:
    """``helm upgrade --install`` of the same chart over the objects of EKS: Helm then owns every field of it, too."""
    for config in rendered(version, values, site):
        live = objects.get(config["kind"], config["metadata"]["name"])
        if live is not None and config["kind"] == "DaemonSet":
            config["spec"]["selector"] = live["spec"]["selector"]
        objects.apply(config, HELM, force=True)


def env_of(doc: Doc, container: str = MAIN) -> dict[str, Any]:
    """The env of a container or init container of a DaemonSet: name → value, None for an entry without a value of its
    own."""
    spec = doc["spec"]["template"]["spec"]
    found = next(c for c in (*spec.get("initContainers", ()), *spec["containers"]) if c["name"] == container)
    return {entry["name"]: entry.get("value") for entry in found.get("env", ())}


def _env_names(objects: Objects, container: str) -> list[str]:
    doc = objects.get("DaemonSet", "aws-node")
    return [] if doc is None else list(env_of(doc, container))


def _env_patch(container: str, entry: Doc, order: Iterable[str] | None = None) -> Doc:
    """`order`: the order of all entries after the patch, as programs that compute a difference list it."""
    where = "initContainers" if container == INIT else "containers"
    said = {} if order is None else {"$setElementOrder/env": [{"name": name} for name in order]}
    return {"spec": {"template": {"spec": {where: [{"name": container, "env": [entry], **said}]}}}}


def _config(body: Doc) -> Doc:
    metadata = {"name": "aws-node", "namespace": NAMESPACE}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, **body}
