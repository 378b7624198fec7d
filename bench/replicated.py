"""Write a dump that contains a recorded cluster several times: system namespaces once, the rest under other names.

References to owners, nodes and claims are kept within each copy.
"""

from __future__ import annotations

import copy
import json
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Doc = dict[str, Any]
_ONCE = frozenset(("kube-system", "karpenter", "kube-node-lease", "kube-public"))
"""What is in these namespaces there is once; their pods on nodes of the first copy."""
_COPIED = ("Node", "CSINode")
"""Of what has no namespace."""


def write(archive: Path, folder: Path, times: int) -> dict[str, int]:
    """Write a List of each kind into `folder`; returns the number of objects of each kind."""
    counts: Counter[str] = Counter()
    for name, items in _lists(archive):
        made = [doc for item in items for doc in _copies(item, times)]
        counts.update(str(doc.get("kind")) for doc in made)
        whole = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": made}
        (folder / name).write_text(json.dumps(whole), encoding="utf-8")
    return dict(counts)


def _lists(archive: Path) -> Iterator[tuple[str, list[Doc]]]:
    with tarfile.open(archive) as held:
        for member in held:
            opened = held.extractfile(member) if member.name.endswith(".json") else None
            if opened is not None:
                found = json.load(opened)
                if isinstance(found.get("items"), list):
                    yield Path(member.name).name, found["items"]


def _copies(item: Doc, times: int) -> Iterator[Doc]:
    yield item
    namespace = item["metadata"].get("namespace", "")
    if namespace in _ONCE or not (namespace or item.get("kind") in _COPIED):
        return
    for number in range(1, times):
        yield _renamed(copy.deepcopy(item), f"-{number}")


def _renamed(item: Doc, end: str) -> Doc:
    meta = item["metadata"]
    meta["uid"] = f"{meta.get('uid', meta['name'])}{end}"
    if "namespace" in meta:
        meta["namespace"] += end
    else:
        meta["name"] += end
    for owner in meta.get("ownerReferences", ()):
        owner["uid"] += end
        owner["name"] += end if owner["kind"] == "Node" else ""
    spec = item.get("spec")
    if item.get("kind") == "Pod" and isinstance(spec, dict) and spec.get("nodeName"):
        spec["nodeName"] += end
    if item.get("kind") == "Node" and isinstance(spec, dict) and spec.get("providerID"):
        spec["providerID"] += end.replace("-", "f")
    return item


if __name__ == "__main__":
    print(json.dumps(write(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
