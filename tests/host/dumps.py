"""Dumps for tests: the recorded clusters in every form that users provide, and small hand-written ones."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data" / "clusters"
NAMES = ("small-traps", "rich", "medium", "landing")

Lists = dict[str, dict[str, Any]]
"""File stem (a plural) to the List in it."""


def archive(name: str) -> Path:
    return DATA / f"{name}.tar.gz"


@cache
def lists_of(name: str) -> Lists:
    """The Lists of a recorded cluster, decoded by the standard library."""
    found = {}
    with tarfile.open(archive(name)) as tar:
        for entry in tar:
            if entry.isreg() and (file := tar.extractfile(entry)):
                found[Path(entry.name).stem] = json.load(file)
    return found


def as_kubectl(value: Any) -> bytes:
    """The form of `kubectl -o json`."""
    return json.dumps(value, indent=4, ensure_ascii=False).encode()


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def as_raw(listed: dict[str, Any]) -> dict[str, Any]:
    """The form of `kubectl get --raw`: the list has a kind, its items have none."""
    items = listed["items"]
    first = items[0] if items else {"kind": "Pod", "apiVersion": "v1"}
    bare = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items]
    meta = {"resourceVersion": "4711"}
    return {"kind": first["kind"] + "List", "apiVersion": first["apiVersion"], "metadata": meta, "items": bare}


def mixed(lists: Lists) -> dict[str, Any]:
    """The form of `kubectl get nodes,pods,… -A -o json`: everything in one List."""
    items = [item for listed in lists.values() for item in listed["items"]]
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def folder(path: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return path


def tar_of(files: dict[str, bytes], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def gz(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def an_object(kind: str, name: str, namespace: str = "", **rest: Any) -> dict[str, Any]:
    api = {"PodDisruptionBudget": "policy/v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1"}.get(kind, "v1")
    meta = {"name": name, "uid": f"uid-{kind}-{namespace}-{name}", "resourceVersion": "1"}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": meta, **rest}


def a_list(*items: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "items": list(items), "kind": "List", "metadata": {"resourceVersion": "", **meta}}


def a_small_dump() -> dict[str, Any]:
    """One node, two pods, one budget in one List."""
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return a_list(
        an_object("Node", "n-1", status={"nodeInfo": {"kubeletVersion": "v1.33.1-eks-1"}}),
        an_object("Pod", "web-0", "shop", spec={"nodeName": "n-1", "priority": -10}, status=status),
        an_object("Pod", "wäb-1", "shop", spec={"nodeName": "n-1"}, status=status),
        an_object("PodDisruptionBudget", "web", "shop", spec={"minAvailable": "50%", "selector": {}}, status={}),
    )
