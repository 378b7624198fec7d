"""Objects of the recorded clusters that no recorded answer shows in full: only the fields that the exchanges need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.embedded.contract.recorded import Doc, Version, exchanges

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_UNNAMED = 4
"""Pods of the second cluster of which no more is known than that they were counted."""


def versions(cluster: str) -> list[Version]:
    """Objects, each with its own version."""
    made = {"small": _small, "second": _second, "third": _third}[cluster]
    spaces = [Version(place, _object("Namespace", name, namespace="")) for place, name in enumerate(_NAMESPACES, 1)]
    return [*spaces, *made()]


def _small() -> Iterator[Version]:
    """The nodes of the table, with fields of the two nodes that were recorded in full."""
    whole: Doc = _answer(10)
    for row in _answer(11)["rows"]:
        meta = row["object"]["metadata"]
        info: Doc = whole["status"]["nodeInfo"]
        if meta["labels"]["eks.amazonaws.com/nodegroup"] == "green":
            info = {**info, "kubeletVersion": "v1.30.6-eks-94953ac", "osImage": "Amazon Linux 2023"}
        doc = {**whole, "metadata": meta, "status": {**whole["status"], "nodeInfo": info}}
        if meta["name"] == "old-1":
            doc = {**_answer(33), "metadata": meta, "spec": {"providerID": _answer(33)["spec"]["providerID"]}}
        if meta["name"] != "old-0":
            yield Version(int(meta["resourceVersion"]), doc)
    yield Version(1332, _cordoned_and_tainted())


def _cordoned_and_tainted() -> Doc:
    """The node between its cordon [32] and its uncordon [34]: a controller has added the taint."""
    after = _answer(34)
    cordoner = [entry for entry in _answer(32)["metadata"]["managedFields"] if entry["manager"] == "unknown"]
    owners = [*after["metadata"]["managedFields"], *cordoner]
    return {**after, "metadata": {**after["metadata"], "managedFields": owners}, "spec": {**after["spec"], **_CORDON}}


_CORDON = {"unschedulable": True}


def _second() -> Iterator[Version]:
    yield Version(10, _pod("waiting", phase="Pending", node=""))
    yield Version(11, _budget("waiting"))
    yield Version(12, _pod("finished", phase="Succeeded"))
    yield Version(13, _budget("finished"))
    yield Version(14, _pod("reindex-qwg7s", {"app": "reindex", "job-name": "reindex"}))
    for place in range(_UNNAMED):
        yield Version(15 + place, _pod(f"unnamed-{place}", namespace="kube-system"))
    for index, gone in ((119, 1334), (120, 1335), (126, 1339), (127, 1340), (129, 1344), (130, 1345)):
        yield Version(gone, _answer(index), gone=True)
    again = int(_answer(101)["metadata"]["resourceVersion"]) - 1
    counted = {**_answer(99)["status"], "observedGeneration": 9}  # the controller was on its way to the ninth
    yield Version(again, {**_answer(99), "status": counted})
    leaving = _answer(132)
    yield Version(1360, {**leaving, "metadata": _without_deletion(leaving), "status": {"phase": "Active"}})
    stays = _answer(136)
    yield Version(1361, {**stays, "metadata": {**_without_deletion(stays), "generation": 1}})
    free = _pod("free", namespace="leaving")
    yield Version(1362, free)
    yield Version(1370, free, gone=True)
    yield Version(1400, stays, gone=True)


def _third() -> Iterator[Version]:
    """A budget whose spec was changed after the controller last read it."""
    yield Version(10, _pod("app-0-5b59664c86-62dx9", {"app": "app-0"}))
    yield Version(11, _budget("app-0", generation=2))


def _answer(index: int) -> Doc:
    body: Doc = exchanges()[index]["response"]["body"]
    return body


def _without_deletion(doc: Doc) -> Doc:
    return {key: value for key, value in doc["metadata"].items() if not key.startswith("deletion")}


def _object(kind: str, name: str, api_version: str = "v1", namespace: str = "default", **more: Any) -> Doc:
    meta = {"name": name, "uid": f"{kind} {name}", "creationTimestamp": "2026-11-20T07:45:57Z"}
    meta |= {"namespace": namespace} if namespace else {}
    return {"kind": kind, "apiVersion": api_version, "metadata": {**meta, **more.pop("metadata", {})}, **more}


def _pod(
    name: str,
    labels: dict[str, str] | None = None,
    *,
    phase: str = "Running",
    node: str = "old-0",
    namespace: str = "default",
) -> Doc:
    ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
    spec = {"containers": [{"name": "c", "image": "x"}], **({"nodeName": node} if node else {})}
    status = {"phase": phase, "conditions": [ready]}
    meta = {"labels": labels or {"app": name}, "generation": 1}
    return _object("Pod", name, namespace=namespace, metadata=meta, spec=spec, status=status)


def _budget(name: str, generation: int = 1) -> Doc:
    """A budget that allows nothing, and that the controller saw in its first generation."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}}
    status = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 1, "expectedPods": 1}
    status |= {"observedGeneration": 1}
    meta = {"generation": generation}
    return _object("PodDisruptionBudget", name, "policy/v1", metadata=meta, spec=spec, status=status)
