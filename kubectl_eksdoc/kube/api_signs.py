"""Usage of API versions in a live cluster (metrics, object metadata, Helm releases), interruption events and changes.

Each is read by itself; a read that RBAC forbids is unknown, with the missing permission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from urllib.parse import quote

from kubectl_eksdoc.amazon.removed_apis import METRIC
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.model.api_objects import HelmRelease, KindUsage, ObjectName, WrittenObject, named
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.interruption import ReportedChanges, Revision, SpotEvent
from kubectl_eksdoc.model.kinds import EVENTS, HISTORY_OF, Absent, Resource, Unknown, known_or_unknown
from kubectl_eksdoc.objects import manifests
from kubectl_eksdoc.objects.held import event, revision
from kubectl_eksdoc.objects.karpenter import spot_event
from kubectl_eksdoc.objects.manifests import HelmRevision, written_object
from kubectl_eksdoc.objects.single import document

from .exchanges import RetryPolicy
from .responses import (
    ContinueTokenExpired,
    Incomplete,
    NotServed,
    RequestRefused,
)
from .single_objects import EVERY, LIST_VERB, NamespaceLists, listed
from .target import CredentialContext
from .transport import HASTY, ClusterReads, answer_of, in_order, pod_path

METRICS = "/metrics"
GET_METRICS, GET_SECRETS = f"get {METRICS}", "get secrets"
SECRETS = Resource("Secret", "secrets")
_AHEAD = 4  # requests sent in parallel


class ApiSigns(ClusterReads):
    """Mutable: it holds a connection, and the lists that it has read."""

    def __init__(
        self, connection: Connection, around: CredentialContext | None = None, patience: RetryPolicy | None = None
    ) -> None:
        """Raises: as `ClusterReadClient`."""
        super().__init__(connection, around, patience)
        self._read: dict[Resource, KindUsage] = {}

    def requested(self) -> tuple[str, ...] | Unknown:
        """As `ports.ApiUsageReader.requested`.

        Raises:
            Unauthorized, Unreachable: nothing more can be read.
        """
        text = known_or_unknown(self._text(METRICS, GET_METRICS))
        if isinstance(text, Unknown):
            return text
        return tuple(line for line in text.split("\n") if METRIC in line and not line.startswith("#"))

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        """The usage of each resource. Raises: as `requested`."""
        missing = tuple(each for each in dict.fromkeys(resources) if each not in self._read)
        for each, told in zip(missing, in_order(self._written, missing, _AHEAD), strict=True):
            self._read[each] = told()
        return tuple(self._read[each] for each in resources)

    def _written(self, resource: Resource) -> KindUsage:
        def read() -> tuple[WrittenObject, ...]:
            found: dict[ObjectName, WrittenObject] = {}
            with suppress(NotServed):  # no version is served, so there is no object
                for doc in listed(self._transport, resource, self._page_size):
                    signs = written_object(doc, resource.kind, doc["apiVersion"])
                    if signs is not None:
                        found[named(doc)] = signs
            return tuple(found.values())

        return KindUsage(resource, known_or_unknown(answer_of(read, f"{LIST_VERB} {resource.full_name}")))

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        """Helm releases, each in its current revision; only the Secrets of these are read, one by one.

        Raises: as `requested`.
        """
        query = {"labelSelector": manifests.SELECTOR}

        def read() -> Mapping[HelmRevision, None]:
            secrets = map(manifests.kept, listed(self._transport, SECRETS, self._page_size, query))
            return {kept: None for kept in secrets if kept is not None}

        revisions = known_or_unknown(answer_of(read, f"{LIST_VERB} {SECRETS.full_name}"))
        if isinstance(revisions, Unknown):
            return revisions
        asked = in_order(self._release, manifests.latest(revisions), _AHEAD)
        return tuple(each for told in asked if (each := told()) is not None)

    def _release(self, of: HelmRevision) -> HelmRelease | None:
        """None where the Secret is gone by now, or does not belong to Helm."""
        path = f"/api/v1/namespaces/{quote(of.namespace, safe='')}/secrets/{quote(of.secret, safe='')}"
        try:
            secret = document(self._transport.get(path, right=GET_SECRETS).body)
        except NotServed:
            return None
        except (Forbidden, RequestRefused, Incomplete, ContinueTokenExpired) as error:
            right = GET_SECRETS if isinstance(error, Forbidden) else ""
            return HelmRelease(of.namespace, of.name, of.revision, of.status, Unknown(error.message, right))
        if secret is None:
            why = Unknown(f"the answer to {GET_SECRETS} is no object")
            return HelmRelease(of.namespace, of.name, of.revision, of.status, why)
        return manifests.release(of, secret) if secret.get("type") == manifests.TYPE else None


# Interruption events of a live cluster: Events of its nodes, and Karpenter's metrics.
#
# Sources: Events of objects without a namespace are in namespace default (client-go, record); the port of a pod is read
# through the API server (the subresource ``proxy``, which takes no names of ports), which few users may use.


LIST_EVENTS, GET_PROXY = "list events", "get pods/proxy"
_REASONS = ("SpotInterrupted", "TerminatingOnInterruption")
"""The reasons of interruption notices; one request each, as a namespace may hold very many Events."""


class KarpenterSigns(ClusterReads):
    """A `ports.InterruptionReader`."""

    patience = HASTY

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        """As `ports.InterruptionReader.events`."""
        fields = [f"reason={reason},involvedObject.kind=Node" for reason in _REASONS]

        def read() -> tuple[SpotEvent, ...]:
            lists = (listed(self._transport, EVENTS, 500, {"fieldSelector": each}, "default", "") for each in fields)
            return tuple(event for each in chain.from_iterable(lists) if (event := spot_event(each)) is not None)

        return known_or_unknown(answer_of(read, LIST_EVENTS))

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        """As `ports.InterruptionReader.metrics`."""
        return self._text(f"{pod_path(pod)}:{port}/proxy/metrics", GET_PROXY)


# Recent changes of a live cluster: revisions of pod templates, and Events.


class LiveChanges:
    """Mutable: it holds a connection."""

    def __init__(self, connection: Connection, around: CredentialContext | None = None) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._lists = NamespaceLists(connection, around)

    def told(self) -> ReportedChanges:
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
        return ReportedChanges(revisions, events)

    def close(self) -> None:
        self._lists.close()
