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
from kubectl_eksdoc.model.api_objects import NAMING_LABELS, AppliedObjects, Doc, ObjectName, at, named
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.connection import Connection, OutageLimits
from kubectl_eksdoc.model.kinds import NEVER_APPLIED, SEARCHED, ReadState, Resource, Unknown
from kubectl_eksdoc.objects.collector import BadObject, Collector
from kubectl_eksdoc.objects.single import NoJson, RawObjects, decode

from .config import connect
from .exchanges import RetryPolicy, Timing
from .identity import EksIdentity
from .responses import ContinueTokenExpired, HttpAnswer, Incomplete, NotServed, RequestRefused, shown
from .target import CredentialContext, of_this_process
from .transport import Paging, Transport, in_order

VERB = "list"
"""The RBAC verb that every requested resource needs, in all namespaces."""

_NEEDED = (kinds.NODES, kinds.PODS)  # without these there is no answer at all
_LISTS = 4  # a list that expired or cannot be decoded is begun again at most three times
_AHEAD = 4  # lists requested in parallel

Progress = Callable[[str, int], None]
_FirstPage = tuple[Resource, HttpAnswer]  # the version that the server serves, and its response


class _Failed(Exception):
    """One resource cannot be read; others may. `error` is what the user sees if this resource is required."""

    def __init__(self, resource: Resource, error: ClusterError) -> None:
        super().__init__(error.message)
        self.error = error
        self.state = ReadState.FAILED
        self.detail = error.message
        if isinstance(error, Forbidden):
            scope = "in all namespaces" if resource.namespaced else "at cluster scope"
            self.state = ReadState.FORBIDDEN
            self.detail = f"missing right: {VERB} {resource.full_name} {scope}"
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
        raw: RawObjects | None = None,
        waiting: OutageLimits | None = None,
        around: CredentialContext | None = None,
        patience: RetryPolicy | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._around = around or of_this_process()
        self._raw = raw
        self._connection = connection
        self._progress = progress or (lambda _plural, _count: None)
        self._access = connect(connection, self._around)
        self._transport = Transport(self._access, patience, timing, waiting=waiting)

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
        read_time.observe()
        try:
            with closing(self._transport), read_time.counted():
                return self._observed(resources)
        except MemoryError as error:
            raise Incomplete(
                f"this machine has too little memory for what {self._access.target.server.address} sent",
                "Read the cluster from a machine with more, or with smaller pages (--chunk-size).",
            ) from error

    def _observed(self, resources: Sequence[Resource]) -> Cluster:
        version, observed_at = self._greeting()
        collector = Collector(Source.LIVE, self._raw)
        for resource, first in zip(resources, in_order(self._first, resources, _AHEAD), strict=True):
            try:
                self._list(collector, resource, first)
            except _Failed as failure:
                if resource in _NEEDED:
                    raise failure.error from failure.__cause__
                collector.forget(resource)
                collector.mark(resource, failure.state, failure.detail)
            else:
                collector.mark(resource, ReadState.READ)
        return collector.cluster(self._identity(collector, version), observed_at)

    def _identity(self, collector: Collector, version: str) -> Identity:
        """The names in the kubeconfig first; the labels of nodes supply what it leaves open."""
        told, seen = self._access.eks.identity, collector.nodes_identity()
        return replace(
            told,
            cluster=told.cluster or seen.cluster,
            account=told.account or seen.account,
            region=told.region or seen.region,
            server_version=version,
        )

    def _greeting(self) -> tuple[str, datetime]:
        """The server's version and its clock. A server that hides its version is read all the same."""
        try:
            answer = self._transport.get("/version", right="get /version")
        except (Forbidden, NotServed):
            return "", self._around.now()
        try:
            version = json.loads(answer.body)["gitVersion"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RequestRefused(
                f"{self._access.target.server.address}/version answered something that is not a version: {answer.said}",
                "Is this the address of a Kubernetes API?",
            ) from error
        return shown(str(version)), answer.date or self._around.now()

    def _list(self, collector: Collector, resource: Resource, first: Callable[[], _FirstPage]) -> None:
        """Read one complete list. The server keeps the state behind a continue token for minutes only.

        The token that a 410 (Expired) offers instead would mix two states of the cluster, so the list is begun again;
        the last time in one answer, which cannot expire.
        """
        ask = first
        for left in reversed(range(_LISTS)):
            try:
                self._pages(collector, resource, *ask())
                return
            except (ContinueTokenExpired, BadObject) as error:
                if not left:
                    raise _Failed(resource, _given_up(resource, error)) from error
            except (RequestRefused, Incomplete, Forbidden, NotServed) as error:
                raise _Failed(resource, error) from error.__cause__
            collector.forget(resource)
            ask = partial(self._first, resource, limited=left > 1)

    def _first(self, resource: Resource, limited: bool = True) -> _FirstPage:
        """The first page, in the newest version that is served: a server with an older CRD does not know the newer
        ones."""
        *newer, oldest = resource.versions
        for form in newer:
            with suppress(NotServed):
                return form, self._page(form, limited=limited)
        return oldest, self._page(oldest, limited=limited)

    def _pages(self, collector: Collector, resource: Resource, form: Resource, answer: HttpAnswer) -> None:
        count, paging = 0, Paging(form.full_name)
        while True:
            page = collector.add_page(resource, answer.body, form.path)
            count += page.count
            paging.check(page.continue_token, page.count, len(answer.body))
            self._progress(resource.plural, count)
            if not page.continue_token:
                return
            answer = self._page(form, page.continue_token)

    def _page(self, resource: Resource, token: str = "", limited: bool = True) -> HttpAnswer:
        # Never with resourceVersion=0: servers then ignore the limit and send everything.
        query = {"limit": str(self._connection.page_size)} if limited else {}
        if token:
            query["continue"] = token
        return self._transport.get(resource.path, query, right=f"{VERB} {resource.full_name}")


def _given_up(resource: Resource, error: ContinueTokenExpired | BadObject) -> ClusterError:
    if isinstance(error, BadObject):
        return RequestRefused(f"the server's answers cannot be understood: {error}")
    return RequestRefused(
        f"the list of {resource.full_name} expired {_LISTS} times while it was being read",
        "The connection is too slow for the size of the cluster: try larger pages (--chunk-size), or from nearer.",
    )


# Search for the objects that a field manager has applied: over all kinds, by metadata alone.


Listed = Callable[[Transport, Resource, int], Iterator[Doc]]
"""The metadata of all objects of a resource."""

WITHIN_S = 60.0
MOST = 10_000
_HASTY = RetryPolicy(tries=2, tries_to_connect=1, silence=20.0)
_WHEN_ASKED = (RequestRefused, ContinueTokenExpired, Unreachable)
_MEASURED = ".metrics.k8s.io"
"""Objects of this group, and of those below it, are not stored: they are measured on each request."""


class AppliedSearch:
    """One search. Mutable: it holds the resources that discovery returned."""

    def __init__(
        self,
        transport: Transport,
        listed: Listed,
        page_size: int,
        most: int = MOST,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`max_objects`: how many objects of a kind are read."""
        self._transport = Transport(transport.access, _HASTY)
        self._listed = listed
        self._page_size = page_size
        self._most = most
        self._clock = clock
        self._until_s = clock() + WITHIN_S
        self._unlisted: dict[str, Unknown] = {}
        self.resources: dict[tuple[str, str], Resource] = {}

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        """As `ports.AppliedReader.applied_by`: one request for discovery of each half of the API, and one for each kind
        and page. A kind with more than `MAX_OBJECTS` objects, and a kind that is not listed within `SEARCH_TIMEOUT_S`,
        is unknown."""
        try:
            served = {resource.full_name: resource for resource in reversed([*self._served()])}
        except Forbidden as error:
            return Unknown(error.message, error.missing)
        except (NotServed, *_WHEN_ASKED) as error:
            return Unknown(error.message)
        wanted = sorted((set(served) - NEVER_APPLIED - _USUAL) if others else (set(served) & _USUAL))
        self.resources = {(served[each].api_version, served[each].kind): served[each] for each in wanted}
        labels: dict[ObjectName, dict[str, str]] = {}
        stripped: set[ObjectName] = set()
        asked = in_order(lambda each: self._of(served[each]), wanted, _AHEAD)
        for name, told in zip(wanted, asked, strict=True):
            docs = told()
            if isinstance(docs, Unknown):
                self._unlisted[name] = docs
                continue
            for doc in docs:
                managers = _managers(doc)
                if not managers or manager in managers:
                    held = at(doc, "metadata", "labels")
                    held = held if isinstance(held, dict) else {}
                    labels[named(doc)] = {key: str(held[key]) for key in NAMING_LABELS if key in held}
                if not managers:
                    stripped.add(named(doc))
        return AppliedObjects(labels, frozenset(stripped), self._unlisted)

    def _of(self, resource: Resource) -> list[Doc] | Unknown:
        right = f"list {resource.full_name}"
        found: list[Doc] = []
        try:
            if self._clock() > self._until_s:
                return _TOO_LATE
            for doc in self._listed(self._transport, resource, self._page_size):
                found.append(doc)
                if len(found) > self._most:
                    return Unknown(f"there are more than {self._most:,} of them")
                if len(found) % self._page_size == 0 and self._clock() > self._until_s:
                    return _TOO_LATE
        except Forbidden as error:
            return Unknown(error.message, right)
        except NotServed:  # the kind was removed meanwhile, with all of its objects
            return []
        except _WHEN_ASKED as error:
            return Unknown(error.message)
        return found

    def _served(self) -> Iterator[Resource]:
        """Resources that can be listed; of a resource in several versions, the one that its group prefers comes
        first."""
        for path in ("/api", "/apis"):
            body = self._asked(path)
            versions = [str(each) for each in body.get("versions") or ()]
            for group in body.get("groups") or ():
                preferred = at(group, "preferredVersion", "groupVersion")
                every = [str(each.get("groupVersion")) for each in group.get("versions") or ()]
                versions += sorted(every, key=lambda each: each != preferred)
            versions = [each for each in versions if f"{_MEASURED}/" not in f".{each}"]
            answers = in_order(partial(self._resources, path), versions, _AHEAD)
            for group_version, told in zip(versions, answers, strict=True):
                name, _, version = group_version.rpartition("/")
                for each in told():
                    plural = str(each.get("name"))
                    if "list" in (each.get("verbs") or ()) and "/" not in plural:
                        yield Resource(str(each.get("kind")), plural, name, version, bool(each.get("namespaced")))

    def _resources(self, path: str, group_version: str) -> list[Doc]:
        try:
            return list(self._asked(f"{path}/{group_version}").get("resources") or ())
        except (Forbidden, NotServed, *_WHEN_ASKED):
            why = Unknown("the server of this API group does not tell what kinds it has")
            self._unlisted[f"*.{group_version.rpartition('/')[0]}"] = why
            return []

    def _asked(self, path: str) -> Doc:
        body = self._transport.get(path, right=f"get {path}").body
        try:
            found = decode(body)
        except NoJson as error:
            raise RequestRefused(f"the answer to get {path} is no JSON: {error}") from error
        if not isinstance(found, dict):
            raise RequestRefused(f"the answer to get {path} is no object")
        return found


_USUAL = frozenset(each.full_name for each in SEARCHED)
_TOO_LATE = Unknown(f"it was not listed within {WITHIN_S:.0f} s")


def _managers(doc: Doc) -> set[str]:
    """The field managers of the object: by name where the operation is Apply, as ``name (Update)`` otherwise."""
    entries = at(doc, "metadata", "managedFields")
    return {
        str(each.get("manager")) if each.get("operation") == "Apply" else f"{each.get('manager')} (Update)"
        for each in (entries if isinstance(entries, list) else ())
        if isinstance(each, dict)
    }
