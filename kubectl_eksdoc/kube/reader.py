"""Reads a live cluster: every object of the asked resources, page by page, and how reading each went."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from kubectl_eksdoc.errors import ClusterError, Forbidden
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.connection import Connection, OutageLimits
from kubectl_eksdoc.model.kinds import ReadState, Resource
from kubectl_eksdoc.objects.collector import BadObject, Collector
from kubectl_eksdoc.objects.single import RawObjects

from .config import connect
from .exchanges import RetryPolicy, Timing
from .identity import EksIdentity
from .responses import (
    ContinueTokenExpired,
    HttpAnswer,
    Incomplete,
    NotServed,
    RequestRefused,
    shown,
)
from .target import CredentialContext, of_this_process
from .transport import Paging, Transport, in_order

VERB = "list"
"""The RBAC verb used on every resource that is asked for, in all namespaces."""

_NEEDED = (kinds.NODES, kinds.PODS)  # without these nothing can be said at all
_LISTS = 4  # a list that expired or came garbled is begun anew at most three times
_AHEAD = 4  # lists asked for at once

Progress = Callable[[str, int], None]
_FirstPage = tuple[Resource, HttpAnswer]  # in which version it is served, and the answer


class _Failed(Exception):
    """One resource cannot be read; others may. `error` is what the user would see if this one is needed."""

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

    `progress` is called with a resource's plural and the number of its objects read so far; `raw` gets the objects;
    `waiting`: as `Transport` has it. The other keywords exist for tests.
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
        """Whose cluster it is as far as the kubeconfig tells, and the AWS profile that goes with it."""
        return self._access.eks

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """All objects of `resources`, each list consistent in itself.

        Raises:
            Unauthorized, Unreachable, ConfigError: the cluster cannot be talked to.
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
        """The kubeconfig's word first; what it leaves open, the nodes' labels may tell."""
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
        """One whole list. The server keeps the state a continue token stands for only for minutes.

        The token that an Expired answer offers instead would mix two states of the cluster, so the list is
        begun anew; the last time in one answer, which cannot expire.
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
        """In the newest version that is served: a server with an older CRD does not know the newer ones."""
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
        # Never resourceVersion=0 with it: servers then ignore the limit and send everything.
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
