"""Write a snapshot of many pods, or read one, in a separate process; prints the costs as one line of JSON.

``facts`` reads it as the tool does. ``decoded`` hands the same bytes to ``json.loads``, without looking for cycles,
and makes nothing of them; only decoding is timed, the file is in memory before.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sized
from pathlib import Path
from typing import Any

from bench import cluster
from kubectl_eksdoc.cli.main import reduce_gc
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.model import kinds

_ALLOCATABLE = {"cpu": "15890m", "memory": "58Gi", "pods": "110"}


def write(folder: str, count: str) -> dict[str, Any]:
    """Write lists of that many pods, of about 6.6 KiB each, and of their nodes."""
    names: set[str] = set()
    size = 0
    with Path(folder, "pods.json").open("wb") as out:
        for part in _listed(_pods(int(count), names)):
            size += out.write(part)
    nodes = (json.dumps(a_node(name)).encode() for name in sorted(names))
    Path(folder, "nodes.json").write_bytes(b"".join(_listed(nodes)))
    return {"pods": int(count), "bytes": size}


def _listed(items: Iterator[bytes]) -> Iterator[bytes]:
    comma = b""
    yield b'{"apiVersion":"v1","items":['
    for item in items:
        yield comma + item
        comma = b",\n"
    yield b'],"kind":"List","metadata":{"resourceVersion":""}}\n'


def _pods(count: int, nodes: set[str]) -> Iterator[bytes]:
    """The pods with their kind, as kubectl prints them; adds their nodes to `nodes`."""
    mark = b'"nodeName":"'
    for pod in cluster.pods(count):
        start = pod.index(mark) + len(mark)
        nodes.add(pod[start : pod.index(b'"', start)].decode())
        yield b'{"apiVersion":"v1","kind":"Pod",' + pod[1:]


def a_node(name: str) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-10-01T08:00:00Z"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-10-01T08:01:00Z"}
    status = {"allocatable": _ALLOCATABLE, "conditions": [ready], "nodeInfo": {"kubeletVersion": "v1.32.5"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def facts(folder: str) -> dict[str, Any]:
    gc.collect()
    reduce_gc()  # as the command line does
    return _timed(lambda: DumpReader(folder).read(kinds.ALL).pods)


def decoded(folder: str) -> dict[str, Any]:
    body = Path(folder, "pods.json").read_bytes()
    gc.disable()
    return _timed(lambda: json.loads(body)["items"])


def _timed(work: Callable[[], Sized]) -> dict[str, Any]:
    """`user_s` excludes the time of the kernel, which for much memory depends mostly on the machine."""
    user, before = _used().ru_utime, time.perf_counter()
    pods = work()
    return {"seconds": time.perf_counter() - before, "user_s": _used().ru_utime - user, "pods": len(pods)}


def _used() -> resource.struct_rusage:
    return resource.getrusage(resource.RUSAGE_SELF)


def main() -> None:
    mode, *arguments = sys.argv[1:]
    modes: dict[str, Callable[..., dict[str, Any]]] = {"write": write, "facts": facts, "decoded": decoded}
    said = modes[mode](*arguments)
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10  # bytes there, KiB elsewhere
    print(json.dumps({**said, "peak_mib": _used().ru_maxrss / unit}), flush=True)


if __name__ == "__main__":
    main()
