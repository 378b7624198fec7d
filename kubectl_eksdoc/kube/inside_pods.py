"""Single pods of a live cluster: their containers, and what these printed last.

Sources: core/v1 PodLogOptions; the kubelet looks for the last lines first and sends so many bytes of them, so that of a
log with very long lines the newest are cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar
from urllib.parse import quote

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.core.model.containers import Container, LogOf
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.answers import Absent as NotThere
from kubectl_eksdoc.kube.answers import Incomplete, NotServed, Refused
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.patience import Patience
from kubectl_eksdoc.kube.prefetch import in_order
from kubectl_eksdoc.kube.surroundings import Surroundings, of_this_process
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.objects.containers import containers_of
from kubectl_eksdoc.objects.single import NoSuchObject

T = TypeVar("T")

GET_POD, GET_LOG = "get pods", "get pods/log"
"""The rights this needs, in the namespaces of the pods that are asked for."""

LINES, FEWER_LINES, MOST_BYTES = 100, 5, 64 << 10
_AT_ONCE = 8
_HASTY = Patience(tries=2, tries_to_connect=2)
"""A kubelet that does not answer its API server is no reason to wait: the others' logs tell as much."""


class InsidePods:
    """A `flows.ports.InsidePods`. Mutable: it holds a connection."""

    def __init__(self, connection: Connection, around: Surroundings | None = None, patience: Patience = _HASTY) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._transport = Transport(connect(connection, around or of_this_process()), patience)

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """As `flows.ports.InsidePods.containers`."""
        return {pod: found() for pod, found in zip(pods, in_order(self._pod, pods, _AT_ONCE), strict=True)}

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        """As `flows.ports.InsidePods.logs`."""
        return {log: found() for log, found in zip(asked, in_order(self._log, asked, _AT_ONCE), strict=True)}

    def close(self) -> None:
        self._transport.close()

    def _pod(self, pod: str) -> tuple[Container, ...] | Absent | Unknown:
        namespace, _, name = pod.partition("/")

        def read() -> tuple[Container, ...]:
            return containers_of(self._transport.get(_path(namespace, name), right=GET_POD).body)

        return _had(read, GET_POD)

    def _log(self, log: LogOf) -> str | Absent | Unknown:
        def read() -> str:
            body = self._lines(log, LINES)
            if len(body) >= MOST_BYTES:
                body = self._lines(log, FEWER_LINES)
            return body.decode("utf-8", "replace")

        return _had(read, GET_LOG)

    def _lines(self, log: LogOf, lines: int) -> bytes:
        query = {"container": log.container, "tailLines": str(lines), "limitBytes": str(MOST_BYTES)}
        if log.previous:
            query["previous"] = "true"
        path = f"{_path(log.namespace, log.pod)}/log"
        return self._transport.get(path, query, right=GET_LOG, of_text=True).body


def _path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"


def _had(read: Callable[[], T], right: str) -> T | Absent | Unknown:
    try:
        return read()
    except NotThere as error:
        return Absent(error.message)
    except Forbidden as error:
        return Unknown(error.message, right)
    except (NotServed, Refused, Incomplete) as error:
        return Unknown(error.message)
    except NoSuchObject as error:
        return Unknown(f"the answer to {right} is no pod: {error}")
