"""The reader's memory depends on the facts, not on the size of the dump."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.host import dumps

MIB = 1 << 20
READ = """
import resource, sys
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.host.dump import DumpReader
cluster = DumpReader(sys.argv[1]).read(kinds.ALL)
try:
    # Unlike ru_maxrss this does not begin with the memory of the process that started this one.
    peak = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(cluster.pods), len(cluster.nodes), peak)
"""


def big_list(pods: int, padding: int) -> bytes:
    """One node and that many pods, each with that many irrelevant bytes."""
    pod = json.dumps(dumps.an_object("Pod", "NAME", "shop", spec={"containers": []}, status={"padding": "x" * padding}))
    node = json.dumps(dumps.an_object("Node", "n-1"))
    items = ",".join([node, *(pod.replace("NAME", f"web-{n}") for n in range(pods))])
    return f'{{"apiVersion":"v1","kind":"List","items":[{items}]}}'.encode()


def tar_gz(path: Path, data: bytes) -> None:
    with gzip.open(path, "wb", 1) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo("pods.json")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))


@pytest.mark.long
@pytest.mark.parametrize("form", ["json", "tar.gz"])
def test_a_dump_is_read_in_a_fraction_of_its_size(form: str, tmp_path: Path) -> None:
    data = big_list(400, 300_000)
    assert len(data) > 110 * MIB
    target = tmp_path / f"d.{form}"
    target.write_bytes(data) if form == "json" else tar_gz(target, data)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", READ, str(target)], cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    pods, nodes, peak = map(int, done.stdout.split())
    assert (pods, nodes) == (400, 1)
    assert peak < 60 * MIB
