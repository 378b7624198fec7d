"""The pages of one list: they must come to an end.

Source: kubernetes.io, "Kubernetes API Concepts" (retrieving large results sets in chunks): a continue token stands for
the rest of a list, and only a page that was filtered has no objects and a token.
"""

from __future__ import annotations

from math import inf
from time import monotonic

from kubectl_eksdoc.kube.answers import Refused

MOST_EMPTY = 100
"""Pages without an object."""

LIST_BYTES = 4 << 30
"""Of all pages together: 150,000 pods, the most that Kubernetes supports, have some 2 GiB."""

LONGEST_TOKEN = 1 << 16
"""It is sent back in the address, of which servers take about a MiB. Real ones have some 200 characters."""


class Paging:
    """Mutable: it counts. `of` is what is listed, `until_s` (of `monotonic`) when its last page must be there."""

    def __init__(self, of: str, until_s: float = inf) -> None:
        self._of = of
        self._until_s = until_s
        self._tokens: set[str] = set()
        self._empty = 0
        self._bytes = 0

    def check(self, token: str, objects: int, size: int) -> None:
        """A page came with so many objects and bytes, and `token` for the next one, "" where it is the last.

        Raises:
            Refused: the list has no end, or none that would be waited for.
        """
        self._bytes += size
        self._empty += not objects
        why = ""
        if token in self._tokens:
            why = "the server sent the same continue token twice"
        elif len(token) > LONGEST_TOKEN:
            why = f"the server sent a continue token of {len(token)} characters"
        elif token and self._empty > MOST_EMPTY:
            why = f"the server sent {self._empty} pages without an object"
        elif self._bytes > LIST_BYTES:
            why = f"its pages have more than {LIST_BYTES >> 30} GiB"
        elif token and monotonic() >= self._until_s:
            why = "it takes longer than --read-timeout allows"
        if why:
            raise Refused(f"the list of {self._of} does not end: {why}", "Is this the address of a Kubernetes API?")
        if token:
            self._tokens.add(token)
