"""What the demo's CoreDNS has printed: it started, and has had nothing to complain of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.containers import LogOf
from kubectl_eksdoc.core.model.coredns import NAME, is_coredns
from kubectl_eksdoc.embedded.demo.incidents import COREFILE

_STARTED = f"""\
.:53
[INFO] plugin/reload: Running configuration SHA512 = {hashlib.sha512(COREFILE.encode()).hexdigest()}
CoreDNS-1.11.4
linux/amd64, go1.23.8,
"""


def logs(cluster: Cluster) -> Mapping[LogOf, str]:
    """Of each of its pods."""
    pods = (pod for pod in cluster.pods if is_coredns(pod.namespace, pod.labels))
    return {LogOf(pod.namespace, pod.name, NAME): _STARTED for pod in pods}
