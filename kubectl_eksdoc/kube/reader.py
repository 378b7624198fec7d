"""Reader of a live cluster: lists every object of the requested resources, page by page, with the outcome of each
list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from time import monotonic

from kubectl_eksdoc.errors import ClusterError, Forbidden, Unreachable
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import NAMING_LABELS, AppliedObjects, Doc, ObjectName, nested_field, object_name
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.connection import Connection, OutageLimits
from kubectl_eksdoc.model.kinds import NEVER_IN_MANIFESTS, SEARCHED, ReadState, Resource, Unknown
from kubectl_eksdoc.objects.collector import FactCollector, InvalidAnswer
from kubectl_eksdoc.objects.single import InvalidJson, RawObjects, decode_json

from .config import open_access
from .exchanges import RetryPolicy, Timing
from .identity import EksIdentity
from .responses import ContinueTokenExpired, HttpResponse, Incomplete, NotServed, RequestRefused, safe_message
from .target import CredentialContext, process_credential_context
from .transport import Paging, Transport, parallel_in_order

LIST_VERB = "list"
"""The RBAC verb that every requested resource needs, in all namespaces."""

_REQUIRED = (kinds.NODES, kinds.PODS)  # without these there is no answer at all
_MAX_LISTS = 4  # a list that expired or cannot be decoded is begun again at most three times
_PARALLEL_LISTS = 4  # lists requested in parallel

Progress = Callable[[str, int], None]
_FirstPage = tuple[Resource, HttpResponse]  # the version that the server serves, and its response


class _ResourceFailed(Exception):
    """One resource cannot be read; others may. `error` is what the user sees if this resource is required."""

    def __init__(self, resource: Resource, error: ClusterError) -> None:
        super().__init__(error.message)
        self.error = error
        self.state = ReadState.FAILED
        self.detail = error.message
        if isinstance(error, Forbidden):
            scope = "in all namespaces" if resource.namespaced else "at cluster scope"
            self.state = ReadState.FORBIDDEN
            self.detail = f"missing right: {LIST_VERB} {resource.full_name} {scope}"
        elif isinstance(error, NotServed):
            self.state = ReadState.NOT_SERVED
            versions = " or ".join(form.api_version for form in resource.versions)
            self.detail = f"the server does not serve {resource.full_name} in {versions}"


class LiveReader:
    """`ports.ClusterReader` of a live cluster.

    `progress` is called with a resource's plural and the number of its objects read so far; `raw_objects` receives the
    objects; `outage_limits`: as in `Transport`. The other keywords exist for tests.
    """

    def __init__(
        self,
        connection: Connection,
        progress: Progress | None = None,
        *,
        raw_objects: RawObjects | None = None,
        outage_limits: OutageLimits | None = None,
        credential_context: CredentialContext | None = None,
        retry_policy: RetryPolicy | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._credential_context = credential_context or process_credential_context()
        self._raw_objects = raw_objects
        self._connection = connection
        self._progress = progress or (lambda _plural, _count: None)
        self._access = open_access(connection, self._credential_context)
        self._transport = Transport(self._access, retry_policy, timing, outage_limits=outage_limits)

    @property
    def eks(self) -> EksIdentity:
        """The EKS cluster that the kubeconfig entry names, and the AWS profile that goes with it."""
        return self._access.eks

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """All objects of `resources`, each list consistent in itself.

        Raises:
            Unauthorized, Unreachable, ConfigError: the cluster cannot be reached.
            ClusterError: nodes or pods cannot be read (Forbidden: `missing` says why).
        """
        read_time = self._access.read_time
        read_time.start_observation()
        try:
            with closing(self._transport), read_time.counting():
                return self._read_all(resources)
        except MemoryError as error:
            raise Incomplete(
                f"this machine has too little memory for what {self._access.target.server.address} sent",
                "Read the cluster from a machine with more, or with smaller pages (--chunk-size).",
            ) from error

    def _read_all(self, resources: Sequence[Resource]) -> Cluster:
        version, observed_at = self._server_version()
        collector = FactCollector(Source.LIVE, self._raw_objects)
        for resource, first_page in zip(
            resources, parallel_in_order(self._first_page, resources, _PARALLEL_LISTS), strict=True
        ):
            try:
                self._list(collector, resource, first_page)
            except _ResourceFailed as failure:
                if resource in _REQUIRED:
                    raise failure.error from failure.__cause__
                collector.forget(resource)
                collector.set_state(resource, failure.state, failure.detail)
            else:
                collector.set_state(resource, ReadState.READ)
        return collector.cluster(self._identity(collector, version), observed_at)

    def _identity(self, collector: FactCollector, version: str) -> Identity:
        """The names in the kubeconfig first; the labels of nodes supply what it leaves open."""
        from_kubeconfig, from_nodes = self._access.eks.identity, collector.nodes_identity()
        return replace(
            from_kubeconfig,
            cluster=from_kubeconfig.cluster or from_nodes.cluster,
            account=from_kubeconfig.account or from_nodes.account,
            region=from_kubeconfig.region or from_nodes.region,
            server_version=version,
        )

    def _server_version(self) -> tuple[str, datetime]:
        """The server's version and its clock. A server that hides its version is read all the same."""
        try:
            response = self._transport.get("/version", right="get /version")
        except (Forbidden, NotServed):
            return "", self._credential_context.now()
        try:
            version = json.loads(response.body)["gitVersion"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RequestRefused(
                f"{self._access.target.server.address}/version answered something that is not a version: "
                f"{response.message}",
                "Is this the address of a Kubernetes API?",
            ) from error
        return safe_message(str(version)), response.server_time or self._credential_context.now()

    def _list(self, collector: FactCollector, resource: Resource, first_page: Callable[[], _FirstPage]) -> None:
        """Read one complete list. The server keeps the state behind a continue token for minutes only.

        The token that a 410 (Expired) offers instead would mix two states of the cluster, so the list is begun again;
        the last time in one answer, which cannot expire.
        """
        request_page = first_page
        for retries_left in reversed(range(_MAX_LISTS)):
            try:
                self._add_pages(collector, resource, *request_page())
                return
            except (ContinueTokenExpired, InvalidAnswer) as error:
                if not retries_left:
                    raise _ResourceFailed(resource, _list_error(resource, error)) from error
            except (RequestRefused, Incomplete, Forbidden, NotServed) as error:
                raise _ResourceFailed(resource, error) from error.__cause__
            collector.forget(resource)
            request_page = partial(self._first_page, resource, paged=retries_left > 1)

    def _first_page(self, resource: Resource, paged: bool = True) -> _FirstPage:
        """The first page, in the newest version that is served: a server with an older CRD does not know the newer
        ones."""
        *newer, oldest = resource.versions
        for version in newer:
            with suppress(NotServed):
                return version, self._get_page(version, paged=paged)
        return oldest, self._get_page(oldest, paged=paged)

    def _add_pages(
        self, collector: FactCollector, resource: Resource, version: Resource, response: HttpResponse
    ) -> None:
        objects_read, paging = 0, Paging(version.full_name)
        while True:
            page = collector.add_page(resource, response.body, version.path)
            objects_read += page.count
            paging.check_page(page.continue_token, page.count, len(response.body))
            self._progress(resource.plural, objects_read)
            if not page.continue_token:
                return
            response = self._get_page(version, page.continue_token)

    def _get_page(self, resource: Resource, token: str = "", paged: bool = True) -> HttpResponse:
        # Never with resourceVersion=0: servers then ignore the limit and send everything.
        query = {"limit": str(self._connection.page_size)} if paged else {}
        if token:
            query["continue"] = token
        return self._transport.get(resource.path, query, right=f"{LIST_VERB} {resource.full_name}")


def _list_error(resource: Resource, error: ContinueTokenExpired | InvalidAnswer) -> ClusterError:
    if isinstance(error, InvalidAnswer):
        return RequestRefused(f"the server's answers cannot be understood: {error}")
    return RequestRefused(
        f"the list of {resource.full_name} expired {_MAX_LISTS} times while it was being read",
        "The connection is too slow for the size of the cluster: try larger pages (--chunk-size), or from nearer.",
    )


# Search for the objects that a field manager has applied: over all kinds, by metadata alone.


ListObjects = Callable[[Transport, Resource, int], Iterator[Doc]]
"""The metadata of all objects of a resource."""

SEARCH_TIMEOUT_S = 60.0
MAX_OBJECTS = 10_000
_SEARCH_RETRY_POLICY = RetryPolicy(tries=2, tries_to_connect=1, silence_timeout=20.0)
_READ_ERRORS = (RequestRefused, ContinueTokenExpired, Unreachable)
_METRICS_GROUP = ".metrics.k8s.io"
"""Objects of this group, and of those below it, are not stored: they are measured on each request."""


class AppliedSearch:
    """One search. Mutable: it holds the resources that discovery returned."""

    def __init__(
        self,
        transport: Transport,
        list_objects: ListObjects,
        page_size: int,
        max_objects: int = MAX_OBJECTS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`max_objects`: how many objects of a kind are read."""
        self._transport = Transport(transport.access, _SEARCH_RETRY_POLICY)
        self._list_objects = list_objects
        self._page_size = page_size
        self._max_objects = max_objects
        self._clock = clock
        self._deadline_s = clock() + SEARCH_TIMEOUT_S
        self._not_listed: dict[str, Unknown] = {}
        self.resources: dict[tuple[str, str], Resource] = {}

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        """As `ports.AppliedReader.applied_by`: one request for discovery of each half of the API, and one for each kind
        and page. A kind with more than `MAX_OBJECTS` objects, and a kind that is not listed within `SEARCH_TIMEOUT_S`,
        is unknown."""
        try:
            served = {resource.full_name: resource for resource in reversed([*self._served_resources()])}
        except Forbidden as error:
            return Unknown(error.message, error.missing)
        except (NotServed, *_READ_ERRORS) as error:
            return Unknown(error.message)
        resource_names = sorted(
            (set(served) - NEVER_IN_MANIFESTS - _USUAL_KINDS) if others else (set(served) & _USUAL_KINDS)
        )
        self.resources = {(served[each].api_version, served[each].kind): served[each] for each in resource_names}
        labels: dict[ObjectName, dict[str, str]] = {}
        stripped: set[ObjectName] = set()
        lists = parallel_in_order(lambda each: self._list_resource(served[each]), resource_names, _PARALLEL_LISTS)
        for name, list_result in zip(resource_names, lists, strict=True):
            docs = list_result()
            if isinstance(docs, Unknown):
                self._not_listed[name] = docs
                continue
            for doc in docs:
                managers = _field_managers(doc)
                if not managers or manager in managers:
                    doc_labels = nested_field(doc, "metadata", "labels")
                    doc_labels = doc_labels if isinstance(doc_labels, dict) else {}
                    labels[object_name(doc)] = {key: str(doc_labels[key]) for key in NAMING_LABELS if key in doc_labels}
                if not managers:
                    stripped.add(object_name(doc))
        return AppliedObjects(labels, frozenset(stripped), self._not_listed)

    def _list_resource(self, resource: Resource) -> list[Doc] | Unknown:
        right = f"list {resource.full_name}"
        docs: list[Doc] = []
        try:
            if self._clock() > self._deadline_s:
                return _TIMED_OUT
            for doc in self._list_objects(self._transport, resource, self._page_size):
                docs.append(doc)
                if len(docs) > self._max_objects:
                    return Unknown(f"there are more than {self._max_objects:,} of them")
                if len(docs) % self._page_size == 0 and self._clock() > self._deadline_s:
                    return _TIMED_OUT
        except Forbidden as error:
            return Unknown(error.message, right)
        except NotServed:  # the kind was removed meanwhile, with all of its objects
            return []
        except _READ_ERRORS as error:
            return Unknown(error.message)
        return docs

    def _served_resources(self) -> Iterator[Resource]:
        """Resources that can be listed; of a resource in several versions, the one that its group prefers comes
        first."""
        for path in ("/api", "/apis"):
            document = self._get_document(path)
            versions = [str(resource) for resource in document.get("versions") or ()]
            for group in document.get("groups") or ():
                preferred = nested_field(group, "preferredVersion", "groupVersion")
                group_versions = [str(resource.get("groupVersion")) for resource in group.get("versions") or ()]
                versions += sorted(group_versions, key=lambda resource: resource != preferred)
            versions = [resource for resource in versions if f"{_METRICS_GROUP}/" not in f".{resource}"]
            responses = parallel_in_order(partial(self._resources_of, path), versions, _PARALLEL_LISTS)
            for group_version, resources_of in zip(versions, responses, strict=True):
                group_name, _, version = group_version.rpartition("/")
                for resource in resources_of():
                    plural = str(resource.get("name"))
                    if "list" in (resource.get("verbs") or ()) and "/" not in plural:
                        yield Resource(
                            str(resource.get("kind")), plural, group_name, version, bool(resource.get("namespaced"))
                        )

    def _resources_of(self, path: str, group_version: str) -> list[Doc]:
        try:
            return list(self._get_document(f"{path}/{group_version}").get("resources") or ())
        except (Forbidden, NotServed, *_READ_ERRORS):
            reason = Unknown("the server of this API group does not tell what kinds it has")
            self._not_listed[f"*.{group_version.rpartition('/')[0]}"] = reason
            return []

    def _get_document(self, path: str) -> Doc:
        body = self._transport.get(path, right=f"get {path}").body
        try:
            document = decode_json(body)
        except InvalidJson as error:
            raise RequestRefused(f"the answer to get {path} is no JSON: {error}") from error
        if not isinstance(document, dict):
            raise RequestRefused(f"the answer to get {path} is no object")
        return document


_USUAL_KINDS = frozenset(each.full_name for each in SEARCHED)
_TIMED_OUT = Unknown(f"it was not listed within {SEARCH_TIMEOUT_S:.0f} s")


def _field_managers(doc: Doc) -> set[str]:
    """The field managers of the object: by name where the operation is Apply, as ``name (Update)`` otherwise."""
    entries = nested_field(doc, "metadata", "managedFields")
    return {
        str(each.get("manager")) if each.get("operation") == "Apply" else f"{each.get('manager')} (Update)"
        for each in (entries if isinstance(entries, list) else ())
        if isinstance(each, dict)
    }
