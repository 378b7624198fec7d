"""Read all pods of a server once, in a separate process; prints the costs as one line of JSON.

``facts`` reads as the tool does. ``raw`` fetches the same pages through the same transport and throws them
away undecoded. ``retained`` is ``facts`` under tracemalloc: what the facts themselves occupy.
"""

from __future__ import annotations

import gc
import json
import re
import sys
import time
import tracemalloc

from kubectl_eksdoc.cli.main import reduce_gc
from kubectl_eksdoc.kube.config import open_access
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kube.target import process_credential_context
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import NAMESPACES, PODS

_CONTINUE = re.compile(rb'"continue":\s*"([^"]+)"')


def facts(connection: Connection) -> object:
    return LiveReader(connection).read((PODS,))


def raw(connection: Connection) -> object:
    transport = Transport(open_access(connection, process_credential_context()))
    transport.get("/version")
    query, size = {"limit": str(connection.page_size)}, 0
    while True:
        body = transport.get(PODS.path, query).body
        size += len(body)
        more = _CONTINUE.search(body, 0, 300)  # metadata comes first from this server
        if not more:
            transport.close()
            return size
        query["continue"] = more.group(1).decode()


def main() -> None:
    mode, kubeconfig = sys.argv[1:]
    connection = Connection(kubeconfig=kubeconfig)
    LiveReader(connection).read((NAMESPACES,))  # whatever is imported or prepared late, is now
    gc.collect()
    reduce_gc()  # as the command line does
    if mode == "retained":
        tracemalloc.start()
    before = time.perf_counter()
    kept = {"facts": facts, "raw": raw, "retained": facts}[mode](connection)
    took = time.perf_counter() - before
    if isinstance(kept, Cluster) and not kept.read_of(PODS).known:
        raise SystemExit(f"the pods were not read: {kept.read_of(PODS).detail}")
    said = {"seconds": took, "pods": len(kept.pods) if isinstance(kept, Cluster) else 0, "bytes": 0}
    if mode == "retained":
        gc.collect()
        said["bytes"] = tracemalloc.get_traced_memory()[0]
    print(json.dumps(said))


if __name__ == "__main__":
    main()
