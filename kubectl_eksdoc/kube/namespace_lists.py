"""All objects of one kind in one namespace of a live cluster, as they are: revisions of pod templates."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.answers import Expired, NotServed, Refused
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.paging import Paging
from kubectl_eksdoc.kube.surroundings import Surroundings, of_this_process
from kubectl_eksdoc.kube.transport import Transport

VERB = "list"
EVERY = ""
"""Of all namespaces."""
_HINT = "Is this the address of a Kubernetes API?"


class NamespaceLists:
    """A `flows.ports.Histories`. Mutable: it holds a connection, and what it has read once."""

    def __init__(self, connection: Connection, around: Surroundings | None = None) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._transport = Transport(connect(connection, around or of_this_process()))
        self._page_size = connection.page_size
        self._read: dict[tuple[Resource, str], tuple[Doc, ...] | Unknown] = {}

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """As `flows.ports.Histories.listed`."""
        key = resource, namespace
        if key not in self._read:
            self._read[key] = self._listed(resource, namespace)
        return self._read[key]

    def _listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        with self._transport.counted():
            return self._all(resource, namespace)

    def _all(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        right = f"{VERB} {resource.full_name}"
        try:
            return tuple(self._pages(resource, namespace, self._page_size))
        except Expired:  # too slow for a continue token: what comes in one answer cannot expire
            return tuple(self._pages(resource, namespace, 0))
        except Forbidden as error:
            return Unknown(error.message, right)
        except NotServed as error:
            return Unknown(error.message)

    def _pages(self, resource: Resource, namespace: str, size: int) -> Iterator[Doc]:
        """`size` 0: all in one."""
        query = {"limit": str(size)} if size else {}
        paging = Paging(resource.full_name)
        while True:
            answer = self._transport.get(resource.path_in(namespace), query, right=f"{VERB} {resource.full_name}")
            items, token = _page(answer.body, resource)
            paging.check(token, len(items), len(answer.body))
            # A list names the kind once, and its items do not.
            yield from ({**item, "kind": resource.kind, "apiVersion": resource.api_version} for item in items)
            if not token:
                return
            query = {**query, "continue": token}

    def close(self) -> None:
        self._transport.close()


def _page(body: bytes, resource: Resource) -> tuple[list[Doc], str]:
    try:
        page = json.loads(body)
        items, meta = page["items"] or [], page.get("metadata") or {}
        if isinstance(items, list) and all(isinstance(each, dict) for each in items):
            return items, str(meta.get("continue") or "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"the answer to {VERB} {resource.full_name} is no list: {error!r}", _HINT) from error
    raise Refused(f"the answer to {VERB} {resource.full_name} is no list of objects", _HINT)
