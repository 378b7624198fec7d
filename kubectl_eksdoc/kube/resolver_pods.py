"""CoreDNS' pods of a live cluster: which there are, what their metrics say, and what they printed since a moment ago.

Metrics are asked for by way of the API server (pods/proxy): nobody else reaches a pod's port from a laptop. The kubelet
counts the seconds of a log by its own clock, so that this machine's may be wrong (core/v1 PodLogOptions, sinceSeconds).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from urllib.parse import quote

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.answers import Absent as NotThere
from kubectl_eksdoc.kube.answers import Incomplete, NotServed, Refused
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.patience import Patience
from kubectl_eksdoc.kube.prefetch import in_order
from kubectl_eksdoc.kube.surroundings import Surroundings, of_this_process
from kubectl_eksdoc.kube.transport import Transport

GET_PROXY, GET_LOG = "get pods/proxy", "get pods/log"
"""The rights this needs, in the namespace of CoreDNS."""

CONTAINER = "coredns"
MOST_BYTES = 1 << 20
"""Of a log. One that is longer is cut off at its end, so that what came last is not in it: nothing follows from it."""
_AT_ONCE = 8
_HASTY = Patience(tries=2, tries_to_connect=2)


class ResolverPods:
    """A `flows.dns_verify.Resolvers`. Mutable: it holds a connection."""

    def __init__(
        self,
        connection: Connection,
        listed: Callable[[], tuple[Pod, ...] | Unknown],
        around: Surroundings | None = None,
        patience: Patience = _HASTY,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`listed`: the pods, now. Raises ConfigError: the kubeconfig cannot be used."""
        self._listed = listed
        self._most_bytes = most_bytes
        self._transport = Transport(connect(connection, around or of_this_process()), patience)

    def pods(self) -> tuple[Pod, ...] | Unknown:
        """As `flows.dns_verify.Resolvers.pods`."""
        return self._listed()

    def metrics(self, pods: Collection[str], port: int) -> Mapping[str, str | Absent | Unknown]:
        """As `flows.dns_verify.Resolvers.metrics`."""
        return self._each(pods, lambda path: (f"{path}:{port}/proxy/metrics", {}), GET_PROXY)

    def logs(self, pods: Collection[str], since_s: int) -> Mapping[str, str | Absent | Unknown]:
        """As `flows.dns_verify.Resolvers.logs`."""
        most = self._most_bytes
        query = {"container": CONTAINER, "sinceSeconds": str(max(1, since_s)), "limitBytes": str(most)}
        found = self._each(pods, lambda path: (f"{path}/log", query), GET_LOG)
        cut = Unknown(f"it has printed more than {most} bytes since, which are not read to their end")
        whole = {pod: not isinstance(text, str) or len(text.encode()) < most for pod, text in found.items()}
        return {pod: text if whole[pod] else cut for pod, text in found.items()}

    def close(self) -> None:
        self._transport.close()

    def _each(
        self, pods: Collection[str], way: Callable[[str], tuple[str, Mapping[str, str]]], right: str
    ) -> Mapping[str, str | Absent | Unknown]:
        def asked(pod: str) -> str | Absent | Unknown:
            path, query = way(_path(pod))
            try:
                return self._transport.get(path, query, right=right, of_text=True).body.decode("utf-8", "replace")
            except NotThere as error:
                return Absent(error.message)
            except Forbidden as error:
                return Unknown(error.message, right)
            except (NotServed, Refused, Incomplete) as error:
                return Unknown(error.message)

        return {pod: found() for pod, found in zip(pods, in_order(asked, pods, _AT_ONCE), strict=True)}


def _path(pod: str) -> str:
    namespace, _, name = pod.partition("/")
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"
