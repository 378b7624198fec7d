"""Lists as they are read, handed on cleaned and page by page."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.objects.keeping.pages import Keeping
from kubectl_eksdoc.objects.raw_objects import RawObjects


class KeptLists(RawObjects):
    """A reader fills it; nothing of it stays here. `page` gets each page, `forget` hears of a list that begins anew."""

    def __init__(
        self, keeping: Keeping, page: Callable[[Resource, bytes], None], forget: Callable[[Resource], None]
    ) -> None:
        super().__init__()
        self._keeping = keeping
        self._page = page
        self._forget = forget

    def add_page(self, resource: Resource, body: bytes) -> None:
        """
        Raises:
            BadObject: it cannot be written down.
        """
        self._page(resource, self._keeping.page(resource, body))

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self.add_page(resource, b'{"items":[' + bytes(raw) + b"]}")

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        """Of a kind that no list is read of: what is asked of it is in the answers."""

    def forget(self, resource: Resource) -> None:
        self._forget(resource)
