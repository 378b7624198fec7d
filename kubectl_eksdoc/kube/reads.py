"""Reads of a drain run: complete lists, single pods and volume attachments, retried until they succeed or are
stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from kubectl_eksdoc.errors import ClusterError, ConfigError, Forbidden, Unauthorized
from kubectl_eksdoc.kubernetes.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    BudgetGone,
    BudgetIs,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.objects.collector import BadObject
from kubectl_eksdoc.objects.held import Changing, ListPage

from .exchanges import RetryPolicy, Timing
from .responses import ContinueTokenExpired, ObjectNotFound
from .transport import Paging, Transport
from .writes import path_of

# Complete lists, page by page, in the state of one moment.


_LARGER = 4
"""A list whose continue token expired is begun again with pages larger by this factor: fewer pages can be late."""


class _Listed(NamedTuple):
    """Facts with their resourceVersions; `version` is the one of the list."""

    items: tuple[tuple[Any, int], ...]
    version: int


class Lister:
    """Lists of one resource. For one thread."""

    def __init__(self, resource: Resource, transport: Transport, changing: Changing, page_size: int) -> None:
        self._resource = resource
        self._transport = transport
        self._changing = changing
        self._page_size = page_size

    def all(self, fields: str = "") -> _Listed:
        """All objects, or those that match the field selector.

        The token that a 410 answer offers would mix two states of the cluster, so the list is begun again.

        Raises:
            BadObject: an object cannot be decoded.
            RequestRefused: also where the list does not end within --read-timeout.
            ClusterError: as `Transport.get`.
        """
        size = self._page_size
        until_s = monotonic() + (self._transport.access.read_timeout or inf)
        while True:
            try:
                paging = Paging(self._resource.full_name, until_s)
                first = page = self._page(size, fields, "", paging)
                items = first.items
                while page.continue_token:
                    page = self._page(size, fields, page.continue_token, paging)
                    items += page.items
                return _Listed(tuple(items), first.version)
            except ContinueTokenExpired:
                if size > self._page_size * _LARGER**8:
                    raise
                size *= _LARGER

    def _page(self, size: int, fields: str, token: str, paging: Paging) -> ListPage:
        # Never with resourceVersion=0: servers then ignore the limit and send everything, and it may be stale.
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


# The end of a backend: its threads pause until it is closed, and stop.


class Closed(Exception):
    """The backend is closed: its results are not used any more."""


class Closing:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def begun(self) -> bool:
        return self._event.is_set()

    def begin(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raises BackendClosed: the backend is closed."""
        if self._event.is_set():
            raise Closed

    def pause(self, seconds: float) -> None:
        """Raises BackendClosed: the backend is closed, or closes during the pause."""
        if self._event.wait(seconds):
            raise Closed


# Reads that are retried until they succeed, the backend is closed, or the cluster refuses them permanently.


FOR_GOOD = 3
"""A refusal of credentials or permissions is believed after so many refusals in a row, and after the time of the retry
policy. An API server that has just started may not know the roles yet; a webhook that checks tokens, or the network of
a credential plugin, may be away for a moment."""

Read = TypeVar("Read")


class GaveUp(Exception):
    """The read was retried for long enough, and failed with this error each time."""


class FailureStreak:
    """The consecutive failures of one reader. For one thread."""

    def __init__(
        self, patience: RetryPolicy, timing: Timing, refused_s: float | None = None, longest_s: float = inf
    ) -> None:
        """`refusal_patience_s`: how long a refusal is not believed; None: as in the retry policy. `give_up_s`: how long
        reads are retried, whatever the error."""
        self._ends_s = longest_s
        self._failed_s = 0.0  # start of the streak
        self._patience = patience
        self._timing = timing
        self._longest_s = patience.refused if refused_s is None else refused_s
        self._failed = 0
        self._refused = 0
        self._refused_s = 0.0  # first of the refusals in a row

    def succeeded(self) -> None:
        self._failed = self._refused = 0

    def failed(self, error: Exception, longest_s: float | None = None) -> None:
        """Pause, for longer each time, at most for `max_pause_s`.

        Raises:
            Unauthorized, Forbidden, ConfigError: refused once more, and believed now.
            GaveUp: it has failed for too long.
            BackendClosed: the backend is closed.
        """
        self._failed += 1
        self._refused = self._refused + 1 if isinstance(error, (Unauthorized, Forbidden, ConfigError)) else 0
        now_s = self._timing.monotonic()
        if self._failed == 1:
            self._failed_s = now_s
        if self._refused == 1:
            self._refused_s = now_s
        if self._refused >= FOR_GOOD and now_s - self._refused_s >= self._longest_s:
            raise error
        if now_s - self._failed_s >= self._ends_s:
            raise GaveUp(str(error)) from error
        pause_s = self._patience.pause_s(self._failed, self._timing.chance())
        self._timing.sleep(pause_s if longest_s is None else min(pause_s, longest_s))


def until_read(read: Callable[[], Read], insisting: FailureStreak, closing: Closing) -> Read:
    """The result of `read`, once it succeeds.

    Raises:
        as `FailureStreak.pause_after`.
    """
    while True:
        closing.check()
        try:
            found = read()
        except (ClusterError, BadObject) as error:
            insisting.failed(error)
        else:
            insisting.succeeded()
            return found


LONGEST_S = 60.0
"""The caller may ask again; a read that never ended would block the other requests."""


class RetryingReads:
    """Reads of pods are retried for `GIVE_UP_S`. For one thread.

    Raises, from every method:
        Unauthorized, Forbidden, ConfigError: the read is refused permanently.
        GaveUp: of reads of pods, all tries failed.
        BackendClosed: the backend is closed.
    """

    def __init__(
        self, transport: Transport, patience: RetryPolicy, timing: Timing, closing: Closing, page_size: int
    ) -> None:
        self._transport = transport
        self._patience = patience
        self._timing = timing
        self._closing = closing
        self._changing = Changing(kinds.PODS)
        self._lister = Lister(kinds.PODS, transport, self._changing, page_size)
        self._attachments = Lister(kinds.VOLUME_ATTACHMENTS, transport, Changing(kinds.VOLUME_ATTACHMENTS), page_size)

    def pod(self, pod: Pod) -> tuple[Pod, ...]:
        """The pod that has this name now: one, or none."""
        return until_read(lambda: self._pod(path_of(pod)), self._insisting(), self._closing)

    def on_node(self, node: str) -> tuple[Pod, ...]:
        """All pods on the node, finished pods included."""
        fields = f"spec.nodeName={node}"
        listed = until_read(lambda: self._lister.all(fields), self._insisting(), self._closing)
        return tuple(pod for pod, _ in listed.items)

    def attached_to(self, node: str) -> tuple[str, ...]:
        """The PersistentVolumes that are attached to the node; no field selector can select the attachments of one
        node.

        Raises:
            Forbidden: several times in a row; any other ClusterError, BadObject: the list cannot be read.
        """
        insisting = FailureStreak(self._patience, self._timing, 0.0)  # most drains do not have this permission
        while True:
            self._closing.check()
            try:
                listed = self._attachments.all()
            except Forbidden as error:
                insisting.failed(error)
            else:
                return tuple(sorted(each.volume for each, _ in listed.items if each.node == node and each.volume))

    def _pod(self, path: str) -> tuple[Pod, ...]:
        try:
            answer = self._transport.get(path, right="get pods")
        except ObjectNotFound:
            return ()
        return (self._changing.object(answer.body, path)[0],)

    def _insisting(self) -> FailureStreak:
        return FailureStreak(self._patience, self._timing, longest_s=LONGEST_S)


# Events for the objects of a watched resource.


class FactListener(NamedTuple):
    """The event types of one resource; `changed_event` and `removed_event` take a fact and its version."""

    resource: Resource
    all: Callable[[_Listed], News]
    there: Callable[[Any, int], News]
    gone: Callable[[Any, int], News]


WATCHED = (
    FactListener(
        kinds.PODS,
        lambda listed: AllPods(listed.items, listed.version),
        PodIs,
        lambda pod, version: PodGone(pod.uid, version),
    ),
    FactListener(
        kinds.BUDGETS,
        lambda listed: AllBudgets(listed.items, listed.version),
        BudgetIs,
        lambda budget, version: BudgetGone(budget.key),
    ),
    FactListener(
        kinds.NODES,
        lambda listed: AllNodes(tuple(node for node, _ in listed.items)),
        lambda node, version: NodeIs(node),
        lambda node, version: NodeGone(node.name),
    ),
)
