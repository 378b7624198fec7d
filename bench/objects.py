"""Measures how long objects take to become facts (CPU time), and how much of them stays: pages of a list, and a dump.

python bench/objects.py 10000 50000
python bench/objects.py --quick
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from kubectl_eksdoc.host.dump import DumpReader  # noqa: E402
from kubectl_eksdoc.model import kinds  # noqa: E402
from kubectl_eksdoc.model.cluster import Identity, Source  # noqa: E402
from kubectl_eksdoc.objects.collector import FactCollector  # noqa: E402

POD_BYTES = 6700
PAGE = 2000


def recorded_pods() -> list[dict[str, Any]]:
    with tarfile.open(ROOT / "tests/data/clusters/medium.tar.gz") as tar:
        file = tar.extractfile("medium/pods.json")
        assert file is not None
        items: list[dict[str, Any]] = json.load(file)["items"]
    return items


@cache
def templates() -> tuple[tuple[str, str, str], ...]:
    """(text, name, uid) of the recorded pods, padded to the size real ones have."""
    found = []
    for item in recorded_pods():
        text = json.dumps({k: v for k, v in item.items() if k not in ("kind", "apiVersion")}, separators=(",", ":"))
        padding = json.dumps("x" * max(0, POD_BYTES - len(text)))
        text = text.replace('"spec":{', f'"spec":{{"padding":[{padding}],', 1)
        found.append((text, item["metadata"]["name"], item["metadata"]["uid"]))
    return tuple(found)


def pods(count: int) -> Iterator[str]:
    """The recorded pods repeatedly, each with its own names."""
    known = templates()
    for number in range(count):
        text, name, uid = known[number % len(known)]
        yield text.replace(uid, f"{number:08x}{uid[8:]}").replace(name, f"{name}-{number // len(known)}")


def pages(count: int) -> Iterator[bytes]:
    batch: list[str] = []
    for number, pod in enumerate(pods(count), 1):
        batch.append(pod)
        if len(batch) == PAGE or number == count:
            yield f'{{"kind":"PodList","apiVersion":"v1","metadata":{{}},"items":[{",".join(batch)}]}}'.encode()
            batch = []


def memory(field: str) -> int:
    """Memory in bytes, from the kernel: VmRSS now, VmHWM at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    return 0


def measure_pages(count: int, collect: bool) -> dict[str, float]:
    """Each page is created, added and released, as from the network; only adding is timed."""
    gathered, spent, size, added = FactCollector(Source.LIVE), 0.0, 0, 0
    for _ in pages(PAGE):
        pass
    gc.collect()
    if not collect:
        gc.disable()
    collections = _full_collections()
    slowest, first = 0.0, 0.0
    for page in pages(count):
        size += len(page)
        start = time.process_time()
        added += gathered.add_page(kinds.PODS, page, "bench").count
        took = time.process_time() - start
        spent, slowest, first = spent + took, max(slowest, took), first or took
    start = time.process_time()
    cluster = gathered.cluster(Identity(), None)
    finish = time.process_time() - start
    assert len(cluster.pods) == count == added
    full = _full_collections() - collections
    return {
        "bytes_per_pod": size / count,
        "us_per_pod": spent / count * 1e6,
        "us_per_pod_first_page": first / min(count, PAGE) * 1e6,
        "us_per_pod_slowest_page": slowest / min(count, PAGE) * 1e6,
        "finish_us_per_pod": finish / count * 1e6,
        "full_collections": full,
    }


def measure_kept(count: int) -> dict[str, float]:
    """The memory of the facts of that many pods after all else is released, and at the end of gathering."""
    gathered = FactCollector(Source.LIVE)
    bodies = pages(count)
    templates()
    tracemalloc.start()
    for page in bodies:
        gathered.add_page(kinds.PODS, page, "bench")
    del page, bodies
    most = tracemalloc.get_traced_memory()[0]
    cluster = gathered.cluster(Identity(), None)
    del gathered
    gc.collect()
    held = len(cluster.pods)
    return {
        "kib_per_pod": tracemalloc.get_traced_memory()[0] / held / 1024,
        "gathering_kib_per_pod": most / held / 1024,
    }


def _full_collections() -> int:
    return int(gc.get_stats()[2]["collections"])


def measure_dump(count: int, form: str) -> dict[str, float]:
    """A pretty printed List of that many pods and a node, alone or in a tar.gz."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"dump.{form}"
        size = write_dump(count, target)
        code = f"import sys; sys.path.insert(0, {str(ROOT / 'bench')!r}); import objects; objects.read({str(target)!r})"
        start = time.perf_counter()
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        wall = time.perf_counter() - start
    seconds, peak = out.split()
    return {
        "mib": size / (1 << 20),
        "us_per_pod": float(seconds) / count * 1e6,
        "wall_s": wall,
        "peak_mib": int(peak) / (1 << 20),
    }


def read(path: str) -> None:
    start = time.process_time()
    DumpReader(path).read(kinds.ALL)
    print(time.process_time() - start, memory("VmHWM"))


def write_dump(count: int, target: Path) -> int:
    """Returns the written bytes, before compression."""
    plain = target.with_suffix(".plain")
    with plain.open("w") as out:
        out.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        out.write('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}')
        for pod in pods(count):
            item = {"apiVersion": "v1", "kind": "Pod", **json.loads(pod)}
            out.write(",\n" + json.dumps(item, indent=4))
        out.write('\n    ],\n    "kind": "List"\n}\n')
    size = plain.stat().st_size
    if target.suffix == ".gz":
        with tarfile.open(target, "w:gz", compresslevel=1) as tar:
            tar.add(plain, "dump/pods.json")
        plain.unlink()
    else:
        plain.rename(target)
    return size


def show(title: str, figures: dict[str, float]) -> None:
    buffer = io.StringIO()
    for name, value in figures.items():
        buffer.write(f"  {name} {value:,.2f}")
    print(f"{title}:{buffer.getvalue()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[10_000])
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    for count in [2000] if arguments.quick else arguments.counts:
        show(f"pages {count} gc on", in_process("measure_pages", count, True))
        show(f"pages {count} gc off", in_process("measure_pages", count, False))
        show(f"kept {count}", in_process("measure_kept", count))
        show(f"dump.json {count}", measure_dump(count, "json"))
        show(f"dump.tar.gz {count}", measure_dump(count, "tar.gz"))


def in_process(function: str, *arguments: object) -> dict[str, float]:
    """Each measurement has a process of its own, so that none inherits another's memory."""
    code = f"import sys, json; sys.path.insert(0, {str(ROOT / 'bench')!r}); import objects"
    code += f"; print(json.dumps(objects.{function}(*{arguments!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
