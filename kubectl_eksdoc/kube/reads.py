"""Reads of a drain run: complete lists, single pods and volume attachments, retried until they succeed or are
stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from kubectl_eksdoc.errors import ClusterError, ConfigError, Forbidden, Unauthorized
from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    AllNodes,
    AllPods,
    BudgetChanged,
    BudgetRemoved,
    NodeChanged,
    NodeRemoved,
    PodChanged,
    PodRemoved,
    RunUpdate,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.objects.collector import InvalidAnswer
from kubectl_eksdoc.objects.dump_readers import ListPage, WatchDecoder

from .exchanges import RetryPolicy, Timing
from .responses import ContinueTokenExpired, ObjectNotFound
from .transport import Paging, Transport
from .writes import pod_path_of

# Complete lists, page by page, in the state of one moment.


_PAGE_SIZE_FACTOR = 4
"""A list whose continue token expired is begun again with pages larger by this factor: fewer pages can be late."""


class FactList(NamedTuple):
    """Facts with their resourceVersions; `version` is the one of the list."""

    items: tuple[tuple[Any, int], ...]
    version: int


class ResourceLister:
    """Lists of one resource. For one thread."""

    def __init__(self, resource: Resource, transport: Transport, decoder: WatchDecoder, page_size: int) -> None:
        self._resource = resource
        self._transport = transport
        self._decoder = decoder
        self._page_size = page_size

    def list_all(self, field_selector: str = "") -> FactList:
        """All objects, or those that match the field selector.

        The token that a 410 answer offers would mix two states of the cluster, so the list is begun again.

        Raises:
            InvalidAnswer: an object cannot be decoded.
            RequestRefused: also where the list does not end within --read-timeout.
            ClusterError: as `Transport.get`.
        """
        size = self._page_size
        deadline_s = monotonic() + (self._transport.access.read_timeout or inf)
        while True:
            try:
                paging = Paging(self._resource.full_name, deadline_s)
                first_page = page = self._get_page(size, field_selector, "", paging)
                items = first_page.items
                while page.continue_token:
                    page = self._get_page(size, field_selector, page.continue_token, paging)
                    items += page.items
                return FactList(tuple(items), first_page.version)
            except ContinueTokenExpired:
                if size > self._page_size * _PAGE_SIZE_FACTOR**8:
                    raise
                size *= _PAGE_SIZE_FACTOR

    def _get_page(self, size: int, field_selector: str, token: str, paging: Paging) -> ListPage:
        # Never with resourceVersion=0: servers then ignore the limit and send everything, and it may be stale.
        query = {"limit": str(size)}
        if field_selector:
            query["fieldSelector"] = field_selector
        if token:
            query["continue"] = token
        path = self._resource.path
        response = self._transport.get(path, query, right=f"list {self._resource.full_name}")
        page = self._decoder.page(response.body, path)
        paging.check_page(page.continue_token, len(page.items), len(response.body))
        return page


# The end of a backend: its threads pause until it is closed, and stop.


class BackendClosed(Exception):
    """The backend is closed: its results are not used any more."""


class CloseSignal:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def is_closed(self) -> bool:
        return self._event.is_set()

    def close(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raises BackendClosed: the backend is closed."""
        if self._event.is_set():
            raise BackendClosed

    def pause(self, seconds: float) -> None:
        """Raises BackendClosed: the backend is closed, or closes during the pause."""
        if self._event.wait(seconds):
            raise BackendClosed


# Reads that are retried until they succeed, the backend is closed, or the cluster refuses them permanently.


MIN_REFUSALS = 3
"""A refusal of credentials or permissions is believed after so many refusals in a row, and after the time of the retry
policy. An API server that has just started may not know the roles yet; a webhook that checks tokens, or the network of
a credential plugin, may be away for a moment."""

Result = TypeVar("Result")


class GaveUp(Exception):
    """The read was retried for long enough, and failed with this error each time."""


class FailureStreak:
    """The consecutive failures of one reader. For one thread."""

    def __init__(
        self, retry_policy: RetryPolicy, timing: Timing, refusal_patience_s: float | None = None, give_up_s: float = inf
    ) -> None:
        """`refusal_patience_s`: how long a refusal is not believed; None: as in the retry policy. `give_up_s`: how long
        reads are retried, whatever the error."""
        self._give_up_s = give_up_s
        self._failing_since_s = 0.0  # start of the streak
        self._retry_policy = retry_policy
        self._timing = timing
        self._refusal_patience_s = retry_policy.refusal_patience if refusal_patience_s is None else refusal_patience_s
        self._failures = 0
        self._refusals = 0
        self._refused_since_s = 0.0  # first of the refusals in a row

    def reset(self) -> None:
        self._failures = self._refusals = 0

    def pause_after(self, error: Exception, max_pause_s: float | None = None) -> None:
        """Pause, for longer each time, at most for `max_pause_s`.

        Raises:
            Unauthorized, Forbidden, ConfigError: refused once more, and believed now.
            GaveUp: it has failed for too long.
            BackendClosed: the backend is closed.
        """
        self._failures += 1
        self._refusals = self._refusals + 1 if isinstance(error, (Unauthorized, Forbidden, ConfigError)) else 0
        now_s = self._timing.monotonic()
        if self._failures == 1:
            self._failing_since_s = now_s
        if self._refusals == 1:
            self._refused_since_s = now_s
        if self._refusals >= MIN_REFUSALS and now_s - self._refused_since_s >= self._refusal_patience_s:
            raise error
        if now_s - self._failing_since_s >= self._give_up_s:
            raise GaveUp(str(error)) from error
        pause_s = self._retry_policy.pause_s(self._failures, self._timing.chance())
        self._timing.sleep(pause_s if max_pause_s is None else min(pause_s, max_pause_s))


def read_until_success(read: Callable[[], Result], failures: FailureStreak, close_signal: CloseSignal) -> Result:
    """The result of `read`, once it succeeds.

    Raises:
        as `FailureStreak.pause_after`.
    """
    while True:
        close_signal.check()
        try:
            result = read()
        except (ClusterError, InvalidAnswer) as error:
            failures.pause_after(error)
        else:
            failures.reset()
            return result


GIVE_UP_S = 60.0
"""The caller may ask again; a read that never ended would block the other requests."""


class RetryingReads:
    """Reads of pods are retried for `GIVE_UP_S`. For one thread.

    Raises, from every method:
        Unauthorized, Forbidden, ConfigError: the read is refused permanently.
        GaveUp: of reads of pods, all tries failed.
        BackendClosed: the backend is closed.
    """

    def __init__(
        self, transport: Transport, retry_policy: RetryPolicy, timing: Timing, close_signal: CloseSignal, page_size: int
    ) -> None:
        self._transport = transport
        self._retry_policy = retry_policy
        self._timing = timing
        self._close_signal = close_signal
        self._pod_decoder = WatchDecoder(kinds.PODS)
        self._pod_lister = ResourceLister(kinds.PODS, transport, self._pod_decoder, page_size)
        self._attachment_lister = ResourceLister(
            kinds.VOLUME_ATTACHMENTS, transport, WatchDecoder(kinds.VOLUME_ATTACHMENTS), page_size
        )

    def find_pod(self, pod: Pod) -> tuple[Pod, ...]:
        """The pod that has this name now: one, or none."""
        return read_until_success(lambda: self._get_pod(pod_path_of(pod)), self._failure_streak(), self._close_signal)

    def pods_on_node(self, node: str) -> tuple[Pod, ...]:
        """All pods on the node, finished pods included."""
        fields = f"spec.nodeName={node}"
        listed = read_until_success(
            lambda: self._pod_lister.list_all(fields), self._failure_streak(), self._close_signal
        )
        return tuple(pod for pod, _ in listed.items)

    def volumes_attached_to(self, node: str) -> tuple[str, ...]:
        """The PersistentVolumes that are attached to the node; no field selector can select the attachments of one
        node.

        Raises:
            Forbidden: several times in a row; any other ClusterError, InvalidAnswer: the list cannot be read.
        """
        failures = FailureStreak(self._retry_policy, self._timing, 0.0)  # most drains do not have this permission
        while True:
            self._close_signal.check()
            try:
                listed = self._attachment_lister.list_all()
            except Forbidden as error:
                failures.pause_after(error)
            else:
                return tuple(sorted(each.volume for each, _ in listed.items if each.node == node and each.volume))

    def _get_pod(self, path: str) -> tuple[Pod, ...]:
        try:
            response = self._transport.get(path, right="get pods")
        except ObjectNotFound:
            return ()
        return (self._pod_decoder.object(response.body, path)[0],)

    def _failure_streak(self) -> FailureStreak:
        return FailureStreak(self._retry_policy, self._timing, give_up_s=GIVE_UP_S)


# Events for the objects of a watched resource.


class FactEvents(NamedTuple):
    """The event types of one resource; `changed_event` and `removed_event` take a fact and its version."""

    resource: Resource
    list_event: Callable[[FactList], RunUpdate]
    changed_event: Callable[[Any, int], RunUpdate]
    removed_event: Callable[[Any, int], RunUpdate]


WATCHED = (
    FactEvents(
        kinds.PODS,
        lambda listed: AllPods(listed.items, listed.version),
        PodChanged,
        lambda pod, version: PodRemoved(pod.uid, version),
    ),
    FactEvents(
        kinds.BUDGETS,
        lambda listed: AllBudgets(listed.items, listed.version),
        BudgetChanged,
        lambda budget, version: BudgetRemoved(budget.key),
    ),
    FactEvents(
        kinds.NODES,
        lambda listed: AllNodes(tuple(node for node, _ in listed.items)),
        lambda node, version: NodeChanged(node),
        lambda node, version: NodeRemoved(node.name),
    ),
)
