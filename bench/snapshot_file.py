"""Write pages of lists as a snapshot, or read one, in a separate process; prints the costs as one line of JSON.

``pages`` makes the lists that an API server would answer with, one a line. ``write`` takes them to a snapshot, as
``kubectl eksdoc snapshot`` does; ``read`` makes facts of it. Late imports and preparations are done before.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from bench import cluster
from bench.dump import a_node
from kubectl_eksdoc.cli.main import reduce_gc
from kubectl_eksdoc.host.dump import SnapshotFileReader, SnapshotWriter, read_snapshot
from kubectl_eksdoc.kubernetes.redaction import Digester, Redactor
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.kinds import NODES, PODS, KindRead, ReadState
from kubectl_eksdoc.model.snapshots import SceneManifest, Snapshot
from kubectl_eksdoc.objects import journal_lines
from kubectl_eksdoc.objects.redacted_pages import RedactedLists, SnapshotRedactor

PAGE = 500
_NOW = datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc)


def pages(path: str, _: str, count: str) -> dict[str, Any]:
    """The pages of that many pods and their nodes."""
    names: set[str] = set()
    sizes: list[int] = []
    mark = b'"nodeName":"'
    with Path(path).open("wb") as out:
        for page in _paged(cluster.pods(int(count))):
            for pod in page:
                start = pod.index(mark) + len(mark)
                names.add(pod[start : pod.index(b'"', start)].decode())
            sizes.append(out.write(_listed("PodList", page)))
        for page in _paged(json.dumps(a_node(name)).encode() for name in sorted(names)):
            sizes.append(out.write(_listed("NodeList", page)))
    Path(f"{path}.sizes").write_text(json.dumps(sizes))
    return {"nodes": len(names), "bytes": Path(path).stat().st_size}


def _paged(items: Iterator[bytes]) -> Iterator[list[bytes]]:
    page: list[bytes] = []
    for item in items:
        page.append(item)
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page


def _listed(kind: str, items: list[bytes]) -> bytes:
    return b'{"kind":"%s","apiVersion":"v1","metadata":{},"items":[%s]}\n' % (kind.encode(), b",".join(items))


def write(path: str, snapshot: str, count: str) -> dict[str, Any]:
    file = SnapshotWriter(snapshot)
    lists = RedactedLists(
        SnapshotRedactor(Redactor(Digester(b"a key"))), partial(file.add_page, ""), partial(file.restart_list, "")
    )
    counts = {NODES: 0, PODS: 0}
    began = time.perf_counter()
    sizes = json.loads(Path(f"{path}.sizes").read_text())
    with Path(path).open("rb") as held:
        for size in sizes:
            page = held.read(size)
            resource = PODS if page.startswith(b'{"kind":"PodList"') else NODES
            counts[resource] += 1
            lists.add_page(resource, page)
    reads = tuple(KindRead(of, ReadState.READ) for of in counts)
    scene = SceneManifest(Identity("bench"), _NOW, reads)
    size = file.finish(journal_lines.write_manifest(Snapshot("bench", Source.LIVE, {"": scene})))
    return {"seconds": time.perf_counter() - began, "bytes": size, "peak": _peak()}


def read(_: str, snapshot: str, count: str) -> dict[str, Any]:
    reduce_gc()
    gc.collect()
    began = time.perf_counter()
    told = read_snapshot(snapshot)
    assert told is not None
    found = SnapshotFileReader(snapshot, "", told.scenes[""]).read((NODES, PODS))
    took = time.perf_counter() - began
    assert len(found.pods) == int(count)
    return {"seconds": took, "nodes": len(found.nodes), "peak": _peak()}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps({"pages": pages, "write": write, "read": read}[sys.argv[1]](*sys.argv[2:])))
