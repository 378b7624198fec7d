"""Whole lists, page by page, in the state of one moment."""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import Any, NamedTuple

from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.kube.answers import Expired
from kubectl_eksdoc.kube.transport import Paging, Transport
from kubectl_eksdoc.objects.changing import Changing, ListPage

_LARGER = 4
"""A list whose next page came too late is begun anew with pages so much larger: fewer can be late."""


class Listed(NamedTuple):
    """Facts with their versions, at the version `version`."""

    items: tuple[tuple[Any, int], ...]
    version: int


class Lister:
    """Lists of one resource. For one thread."""

    def __init__(self, resource: Resource, transport: Transport, changing: Changing, page_size: int) -> None:
        self._resource = resource
        self._transport = transport
        self._changing = changing
        self._page_size = page_size

    def all(self, fields: str = "") -> Listed:
        """Everything there is, or what the field selector `fields` takes of it.

        The token that an answer of 410 offers would mix two states of the cluster, so the list is begun anew.

        Raises:
            BadObject: an object cannot be understood.
            Refused: also where it does not end within --read-timeout.
            ClusterError: as `Transport.get`.
        """
        size = self._page_size
        until_s = monotonic() + (self._transport.access.read_timeout or inf)
        while True:
            try:
                return self._pages(size, fields, until_s)
            except Expired:
                if size > self._page_size * _LARGER**8:
                    raise
                size *= _LARGER

    def _pages(self, size: int, fields: str, until_s: float) -> Listed:
        paging = Paging(self._resource.full_name, until_s)
        first = page = self._page(size, fields, "", paging)
        items = first.items
        while page.continue_token:
            page = self._page(size, fields, page.continue_token, paging)
            items += page.items
        return Listed(tuple(items), first.version)

    def _page(self, size: int, fields: str, token: str, paging: Paging) -> ListPage:
        # Never resourceVersion=0 with it: servers then ignore the limit and send everything, and it may be old.
        query = {"limit": str(size)}
        if fields:
            query["fieldSelector"] = fields
        if token:
            query["continue"] = token
        path = self._resource.path
        answer = self._transport.get(path, query, right=f"list {self._resource.full_name}")
        page = self._changing.page(answer.body, path)
        paging.check(page.continue_token, len(page.items), len(answer.body))
        return page
