"""What a live cluster says of interruptions besides its objects: Events of its nodes, and what Karpenter counts.

Sources: Events of objects without a namespace are in namespace default (client-go, record); a pod's port is asked
through the API server (the subresource ``proxy``, which takes no names of ports), which few may use.
"""

from __future__ import annotations

import json
from urllib.parse import quote

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.changes import ChangesTold, Revision
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.core.model.interruption import SpotEvent
from kubectl_eksdoc.core.model.kinds import EVENTS, HISTORY_OF
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.answers import Absent as NotThere
from kubectl_eksdoc.kube.answers import Incomplete, NotServed, Refused
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.exchanges import Patience
from kubectl_eksdoc.kube.single_objects import EVERY, NamespaceLists
from kubectl_eksdoc.kube.target import Surroundings, of_this_process
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.objects.changing import event, revision
from kubectl_eksdoc.objects.karpenter import spot_event

LIST_EVENTS, GET_PROXY = "list events", "get pods/proxy"
_REASONS = ("SpotInterrupted", "TerminatingOnInterruption")
"""Which tell that a notice is there; one question each: a namespace may hold very many Events."""

_HASTY = Patience(tries=2, tries_to_connect=2)


class KarpenterSigns:
    """A `flows.interruption.Signs`. Mutable: it holds a connection."""

    def __init__(self, connection: Connection, around: Surroundings | None = None, patience: Patience = _HASTY) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._transport = Transport(connect(connection, around or of_this_process()), patience)

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        """As `flows.interruption.Signs.events`."""
        found: list[SpotEvent] = []
        for reason in _REASONS:
            query = {"fieldSelector": f"reason={reason},involvedObject.kind=Node", "limit": "500"}
            try:
                body = self._transport.get("/api/v1/namespaces/default/events", query, right=LIST_EVENTS).body
                items = json.loads(body)["items"] or []
                found += [event for each in items if (event := spot_event(each)) is not None]
            except Forbidden as error:
                return Unknown(error.message, LIST_EVENTS)
            except (NotServed, Refused, Incomplete) as error:
                return Unknown(error.message)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                return Unknown(f"the answer to {LIST_EVENTS} is no list: {error!r}")
        return tuple(found)

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        """As `flows.interruption.Signs.metrics`."""
        namespace, _, name = pod.partition("/")
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}:{port}/proxy/metrics"
        try:
            return self._transport.get(path, right=GET_PROXY, of_text=True).body.decode("utf-8", "replace")
        except Forbidden as error:
            return Unknown(error.message, GET_PROXY)
        except NotThere as error:
            return Absent(error.message)
        except (NotServed, Refused, Incomplete) as error:
            return Unknown(error.message)

    def close(self) -> None:
        self._transport.close()


# What a live cluster tells of its past: revisions of pod templates, and Events.


class Past:
    """Mutable: it holds a connection."""

    def __init__(self, connection: Connection, around: Surroundings | None = None) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._lists = NamespaceLists(connection, around)

    def told(self) -> ChangesTold:
        """Raises ClusterError: the cluster cannot be talked to."""
        revisions: dict[str, tuple[Revision, ...] | Unknown] = {}
        for kind, kept in HISTORY_OF.items():
            docs = self._lists.listed(kept, EVERY)
            if isinstance(docs, Unknown):
                revisions[kind] = docs
                continue
            made = (revision(doc) for doc in docs)
            revisions[kind] = tuple(each for each in made if each is not None and each.of.kind == kind)
        docs = self._lists.listed(EVENTS, EVERY)
        events = docs if isinstance(docs, Unknown) else tuple(e for doc in docs if (e := event(doc)) is not None)
        return ChangesTold(revisions, events)

    def close(self) -> None:
        self._lists.close()
