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
from kubectl_eksdoc.model.api_objects import HelmRelease, KindUsage, ObjectName, WrittenObject, object_name
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.interruption import InterruptionEvent, ReportedChanges, Revision
from kubectl_eksdoc.model.kinds import EVENTS, HISTORY_KINDS, Absent, Resource, Unknown, absent_as_unknown
from kubectl_eksdoc.objects import manifests
from kubectl_eksdoc.objects.dump_readers import event_from_document, revision_from_document
from kubectl_eksdoc.objects.karpenter import interruption_event
from kubectl_eksdoc.objects.manifests import HelmRevision, written_object
from kubectl_eksdoc.objects.single import decode_object

from .exchanges import RetryPolicy
from .responses import (
    ContinueTokenExpired,
    Incomplete,
    NotServed,
    RequestRefused,
)
from .single_objects import ALL_NAMESPACES, LIST_VERB, NamespaceLists, list_objects
from .target import CredentialContext
from .transport import KUBELET_RETRY_POLICY, ClusterReadClient, parallel_in_order, pod_path, read_or_unknown

METRICS = "/metrics"
GET_METRICS, GET_SECRETS = f"get {METRICS}", "get secrets"
SECRETS = Resource("Secret", "secrets")
_PARALLEL = 4  # requests sent in parallel


class LiveApiUsage(ClusterReadClient):
    """Mutable: it holds a connection, and the lists that it has read."""

    def __init__(
        self,
        connection: Connection,
        credential_context: CredentialContext | None = None,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        """Raises: as `ClusterReadClient`."""
        super().__init__(connection, credential_context, retry_policy)
        self._usage: dict[Resource, KindUsage] = {}

    def requested(self) -> tuple[str, ...] | Unknown:
        """As `ports.ApiUsageReader.requested`.

        Raises:
            Unauthorized, Unreachable: nothing more can be read.
        """
        text = absent_as_unknown(self._get_text(METRICS, GET_METRICS))
        if isinstance(text, Unknown):
            return text
        return tuple(line for line in text.split("\n") if METRIC in line and not line.startswith("#"))

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        """The usage of each resource. Raises: as `requested`."""
        not_read = tuple(resource for resource in dict.fromkeys(resources) if resource not in self._usage)
        for resource, list_result in zip(not_read, parallel_in_order(self._usage_of, not_read, _PARALLEL), strict=True):
            self._usage[resource] = list_result()
        return tuple(self._usage[resource] for resource in resources)

    def _usage_of(self, resource: Resource) -> KindUsage:
        def read() -> tuple[WrittenObject, ...]:
            objects: dict[ObjectName, WrittenObject] = {}
            with suppress(NotServed):  # no version is served, so there is no object
                for doc in list_objects(self._transport, resource, self._page_size):
                    written = written_object(doc, resource.kind, doc["apiVersion"])
                    if written is not None:
                        objects[object_name(doc)] = written
            return tuple(objects.values())

        return KindUsage(resource, absent_as_unknown(read_or_unknown(read, f"{LIST_VERB} {resource.full_name}")))

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        """Helm releases, each in its current revision; only the Secrets of these are read, one by one.

        Raises: as `requested`.
        """
        query = {"labelSelector": manifests.HELM_SELECTOR}

        def read() -> Mapping[HelmRevision, None]:
            secrets = map(manifests.helm_revision, list_objects(self._transport, SECRETS, self._page_size, query))
            return {revision: None for revision in secrets if revision is not None}

        revisions = absent_as_unknown(read_or_unknown(read, f"{LIST_VERB} {SECRETS.full_name}"))
        if isinstance(revisions, Unknown):
            return revisions
        reads = parallel_in_order(self._release, manifests.current_revisions(revisions), _PARALLEL)
        return tuple(each for told in reads if (each := told()) is not None)

    def _release(self, revision: HelmRevision) -> HelmRelease | None:
        """None where the Secret is gone by now, or does not belong to Helm."""
        path = f"/api/v1/namespaces/{quote(revision.namespace, safe='')}/secrets/{quote(revision.secret, safe='')}"
        try:
            secret = decode_object(self._transport.get(path, right=GET_SECRETS).body)
        except NotServed:
            return None
        except (Forbidden, RequestRefused, Incomplete, ContinueTokenExpired) as error:
            right = GET_SECRETS if isinstance(error, Forbidden) else ""
            return HelmRelease(
                revision.namespace, revision.name, revision.revision, revision.status, Unknown(error.message, right)
            )
        if secret is None:
            reason = Unknown(f"the answer to {GET_SECRETS} is no object")
            return HelmRelease(revision.namespace, revision.name, revision.revision, revision.status, reason)
        return manifests.helm_release(revision, secret) if secret.get("type") == manifests.HELM_SECRET_TYPE else None


# Interruption events of a live cluster: Events of its nodes, and Karpenter's metrics.
#
# Sources: Events of objects without a namespace are in namespace default (client-go, record); the port of a pod is read
# through the API server (the subresource ``proxy``, which takes no names of ports), which few users may use.


LIST_EVENTS, GET_PROXY = "list events", "get pods/proxy"
_REASONS = ("SpotInterrupted", "TerminatingOnInterruption")
"""The reasons of interruption notices; one request each, as a namespace may hold very many Events."""


class LiveInterruptionEvents(ClusterReadClient):
    """A `ports.InterruptionReader`."""

    default_retry_policy = KUBELET_RETRY_POLICY

    def events(self) -> tuple[InterruptionEvent, ...] | Unknown:
        """As `ports.InterruptionReader.events`."""
        fields = [f"reason={reason},involvedObject.kind=Node" for reason in _REASONS]

        def read() -> tuple[InterruptionEvent, ...]:
            lists = (
                list_objects(self._transport, EVENTS, 500, {"fieldSelector": each}, "default", "") for each in fields
            )
            return tuple(
                event for each in chain.from_iterable(lists) if (event := interruption_event(each)) is not None
            )

        return absent_as_unknown(read_or_unknown(read, LIST_EVENTS))

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        """As `ports.InterruptionReader.metrics`."""
        return self._get_text(f"{pod_path(pod)}:{port}/proxy/metrics", GET_PROXY)


# Recent changes of a live cluster: revisions of pod templates, and Events.


class LiveChanges:
    """Mutable: it holds a connection."""

    def __init__(self, connection: Connection, credential_context: CredentialContext | None = None) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._lists = NamespaceLists(connection, credential_context)

    def reported_changes(self) -> ReportedChanges:
        """Raises ClusterError: the cluster cannot be talked to."""
        revisions: dict[str, tuple[Revision, ...] | Unknown] = {}
        for kind, history in HISTORY_KINDS.items():
            docs = self._lists.list_history(history, ALL_NAMESPACES)
            if isinstance(docs, Unknown):
                revisions[kind] = docs
                continue
            decoded = (revision_from_document(doc) for doc in docs)
            revisions[kind] = tuple(each for each in decoded if each is not None and each.of.kind == kind)
        docs = self._lists.list_history(EVENTS, ALL_NAMESPACES)
        events = (
            docs
            if isinstance(docs, Unknown)
            else tuple(e for doc in docs if (e := event_from_document(doc)) is not None)
        )
        return ReportedChanges(revisions, events)

    def close(self) -> None:
        self._lists.close()
