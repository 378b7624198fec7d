"""One request that may change something, and its answer: what the journal and the lock need of a connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized
from kubectl_eksdoc.kube.target import utc_now
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.model.api_objects import Doc

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
MANAGER: Mapping[str, str] = {"fieldManager": "eksdoc"}


class SentRequest(NamedTuple):
    """`doc`: the object that came back, {} where none did. `date`: the server's clock by its Date header (a second
    fine), None without one. A Retry-After is in the status's details, wherever it stood."""

    answer: ApiStatus | LostAnswer
    doc: Doc
    date: datetime | None = None

    @property
    def code(self) -> int:
        """0 where nobody answered."""
        return self.answer.code if isinstance(self.answer, ApiStatus) else 0

    @property
    def ok(self) -> bool:
        return 200 <= self.code < 300

    @property
    def said(self) -> str:
        return self.answer.said if isinstance(self.answer, LostAnswer) else self.answer.message

    @property
    def unknown(self) -> bool:
        """Whether what was asked for may have been done all the same: no answer, or one that says nothing of it."""
        return self.code == 0 or self.code >= 500

    @property
    def retry_s(self) -> float:
        details = self.answer.details if isinstance(self.answer, ApiStatus) else None
        return float(details.retry_after_s) if details is not None else 0.0


UNASKED = SentRequest(LostAnswer("no request was sent"), {})


class RequestSender(Protocol):
    """Sends once: who asks decides whether it may be sent again. It waits for an answer much shorter than a lock is
    held (some 10 s): who waits longer cannot renew."""

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Doc | None, content_type: str = JSON
    ) -> SentRequest:
        """Refusals are answers, and so is silence; an expired credential was made anew before 401 is told.

        Raises:
            ConfigError: a credential cannot be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as a port. `monotonic`: seconds that never go back and go on while this machine sleeps; `now`: this
    machine's wall clock, to be shown and never compared with another's."""

    monotonic: Callable[[], float]
    now: Callable[[], datetime]
    sleep: Callable[[float], object]


def real_clock() -> Clock:
    return Clock(awake_and_asleep, utc_now, time.sleep)


def awake_and_asleep() -> float:
    """Linux's CLOCK_MONOTONIC stands still while the machine is suspended (man 2 clock_gettime): a laptop that is
    opened again would believe that its lock is fresh. macOS's goes on, unlike what Python calls monotonic."""
    which = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
    return time.monotonic() if which is None else time.clock_gettime(which)


def refused(sent: SentRequest, right: str, namespace: str) -> ClusterError | None:
    """The error of an answer that trying again will not change and that says who we are or what we may; None for any
    other. `right` as RBAC writes it: ``patch configmaps``."""
    if sent.code == 401:
        return Unauthorized(f"the credentials are not accepted any more: {sent.said}", "Sign in again, then resume.")
    # A webhook and a namespace that is being deleted answer 403, too.
    if sent.code == 403 and " cannot " in sent.said:
        look = f"kubectl auth can-i {right} -n {namespace}"
        return Forbidden(f"the cluster refuses {right}: {sent.said}", f"Ask for the right, or look: {look}", right)
    return None
