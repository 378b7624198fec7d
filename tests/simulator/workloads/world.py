"""A small cluster for tests of controllers: a store with a namespace, controller loops, and simulated kubelets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.kubernetes.api.resources import BUILT_IN, resources_by_name
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.simulator.controllers import Controller, ControllerLoop, VirtualTime
from kubectl_eksdoc.simulator.registry import DeleteOptions, Registry
from kubectl_eksdoc.simulator.store import NameGenerator, Store, StoredItem
from kubectl_eksdoc.simulator.workloads.ownership import ObjectIndex

START = datetime(2026, 11, 20, 8, 55, tzinfo=timezone.utc)
NAMESPACE = "shop"

Make = Callable[[Registry, ObjectIndex], Iterable[Controller]]


class World:
    """`run(seconds)` lets time pass; tests write the changes of kubelets, schedulers and users."""

    def __init__(self, make: Make, docs: Iterable[Doc] = (), start: datetime = START) -> None:
        self.served = resources_by_name()
        self.store = Store()
        self.agenda = VirtualTime(start)
        self.registry = Registry(self.store, self.agenda, NameGenerator(7))
        for doc in docs:
            self.load(doc)
        if self.store.get("namespaces", ("", NAMESPACE)) is None:
            self.load(a_namespace(NAMESPACE))
        self.index = ObjectIndex(self.store)
        self.loops = [ControllerLoop(each, self.store, self.agenda) for each in make(self.registry, self.index)]

    def load(self, doc: Doc) -> None:
        """Store the object unchanged, as if it had existed before."""
        served = next(each for each in BUILT_IN if (each.api_version, each.kind) == (doc["apiVersion"], doc["kind"]))
        meta = doc["metadata"]
        self.store.add(served.full_name, (meta.get("namespace", ""), meta["name"]), doc)

    def run(self, seconds: float = 0.0) -> None:
        self.agenda.run_until(self.agenda.seconds + seconds)

    def create(self, resource: str, doc: Doc, namespace: str = NAMESPACE) -> StoredItem:
        namespaced = self.served[resource].namespaced
        return self.registry.create(resource, doc, namespace if namespaced else "")

    def get(self, resource: str, name: str, namespace: str = NAMESPACE) -> StoredItem:
        namespaced = self.served[resource].namespaced
        return self.registry.get(resource, (namespace if namespaced else "", name))

    def there(self, resource: str, name: str, namespace: str = NAMESPACE) -> bool:
        namespaced = self.served[resource].namespaced
        return self.store.get(resource, (namespace if namespaced else "", name)) is not None

    def all(self, resource: str) -> list[StoredItem]:
        return list(self.store.list(resource))

    def pods(self) -> list[StoredItem]:
        return self.all("pods")

    def active(self) -> list[StoredItem]:
        return [each for each in self.pods() if not each.deleting and phase(each) not in ("Succeeded", "Failed")]

    def set(self, item: StoredItem, *path: str, to: Any) -> StoredItem:
        """Write a value of the spec or metadata."""
        item = self.registry.get(item.resource, item.key)
        return self.registry.update(item, with_value(item.doc, path, to))

    def delete(self, item: StoredItem, grace_s: int | None = None, propagation: str | None = None) -> None:
        item = self.registry.get(item.resource, item.key)
        self.registry.delete(item, DeleteOptions(grace_s=grace_s, propagation=propagation))

    def place(self, pod: StoredItem, node: str) -> StoredItem:
        """Bind the pod as the scheduler does."""
        return self.set(pod, "spec", "nodeName", to=node)

    def change_image(self, resource: str, name: str, number: int = 2) -> None:
        template = a_template(name)
        template["spec"]["containers"][0]["image"] = f"example.invalid/c:{number}"
        self.set(self.get(resource, name), "spec", "template", to=template)

    def do(self, what: str, number: int, resource: str, name: str) -> None:
        """Apply one change to a workload or to one of the pods."""
        there = self.pods()
        pod = there[number % len(there)] if there else None
        if what == "scale":
            self.set(self.get(resource, name), "spec", "replicas", to=number)
        elif what == "pause":
            self.set(self.get(resource, name), "spec", "paused", to=number > 2)
        elif what == "image":
            self.change_image(resource, name, number)
        elif what == "run":
            self.run(number)
        elif what == "kubelets":
            self.kubelets()
        elif pod is not None and what in ("delete", "gone"):
            self.delete(pod, grace_s=0 if what == "gone" else None)
        elif pod is not None and phase(pod) not in ("Succeeded", "Failed"):
            self.report(pod, phase="Failed" if what == "fail" else "Running", ready=what == "ready")

    def report(self, pod: StoredItem, phase: str = "Running", ready: bool = True, **more: Any) -> StoredItem:
        """Write the status as the kubelet does: the Ready condition changes its time when it changes."""
        pod = self.registry.get("pods", pod.key)
        status = dict(pod.doc.get("status") or {})
        held = {each["type"]: each for each in status.get("conditions") or ()}
        said = "True" if ready else "False"
        if held.get("Ready", {}).get("status") != said:
            held["Ready"] = {"type": "Ready", "status": said, "lastTransitionTime": self.registry.timestamp}
        status |= {"phase": phase, "conditions": list(held.values()), **more}
        return self.registry.update(pod, {**pod.doc, "status": status}, status=True)

    def kubelets(self, node: str = "n1") -> None:
        """Every pod that can run runs and is Ready; every pod in deletion has stopped."""
        for pod in self.pods():
            if pod.deleting:
                self.delete(pod, grace_s=0)
            elif phase(pod) == "Pending":
                if not pod.doc["spec"].get("nodeName"):
                    pod = self.place(pod, node)
                self.report(pod)

    def settle(self, rounds: int = 30) -> None:
        """Let controllers and kubelets take turns until nothing changes."""
        for _ in range(rounds):
            version = self.store.version
            self.run()
            self.kubelets()
            self.run(1)
            if self.store.version == version:
                return
        raise AssertionError("it does not come to rest")


def phase(pod: StoredItem) -> str:
    return str((pod.doc.get("status") or {}).get("phase", "Pending"))


def names(items: Iterable[StoredItem]) -> list[str]:
    return [item.key[1] for item in items]


def a_namespace(name: str) -> Doc:
    meta = {"name": name, "uid": f"ns-{name}"}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": meta,
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def a_template(app: str = "web", **spec: Any) -> Doc:
    containers = [{"name": "c", "image": "example.invalid/c:1", "resources": {"requests": {"cpu": "100m"}}}]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers, **spec}}


def a_workload(kind: str, name: str = "web", replicas: int | None = 3, **spec: Any) -> Doc:
    """A ReplicaSet, Deployment, StatefulSet or DaemonSet (`replicas` None)."""
    made: Doc = {"selector": {"matchLabels": {"app": name}}, "template": a_template(name), **spec}
    if replicas is not None:
        made["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": made}


def a_pod(name: str = "p", app: str = "web", node: str = "", **more: Any) -> Doc:
    doc: Doc = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app}}}
    doc["spec"] = {**a_template(app)["spec"], **({"nodeName": node} if node else {}), **more}
    doc["status"] = {"phase": "Pending"}
    return doc


def a_node(name: str, zone: str = "a", **spec: Any) -> Doc:
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}}
    ready = {"type": "Ready", "status": "True"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": {"conditions": [ready]}}
