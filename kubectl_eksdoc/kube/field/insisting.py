"""Reads that are tried again until they succeed, the field is closed, or the cluster refuses them for good."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TypeVar

from kubectl_eksdoc.errors import ClusterError, ConfigError, Forbidden, Unauthorized
from kubectl_eksdoc.kube.field.closing import Closing
from kubectl_eksdoc.kube.patience import Patience, Timing
from kubectl_eksdoc.objects.collector import BadObject

FOR_GOOD = 3
"""So often in a row at least, and for as long as one is patient, credentials or rights are refused until that is
believed: an API server that has just started may not know the roles yet, and a webhook that checks tokens may be away
for a moment, as may be the network that a credential plugin needs."""

Read = TypeVar("Read")


class GaveUp(Exception):
    """It was tried for long enough, and failed by this each time."""


class Insisting:
    """The failures in a row of one reader. For one thread."""

    def __init__(
        self, patience: Patience, timing: Timing, refused_s: float | None = None, longest_s: float = inf
    ) -> None:
        """`refused_s`: so long a refusal is not believed; None: as patience has it. `longest_s`: after so long it is
        not tried again, whatever it is that fails."""
        self._ends_s = longest_s
        self._failed_s = 0.0  # since when
        self._patience = patience
        self._timing = timing
        self._longest_s = patience.refused if refused_s is None else refused_s
        self._failed = 0
        self._refused = 0
        self._refused_s = 0.0  # since when

    def succeeded(self) -> None:
        self._failed = self._refused = 0

    def failed(self, error: Exception, longest_s: float | None = None) -> None:
        """Pauses, for longer each time, for `longest_s` at most.

        Raises:
            Unauthorized, Forbidden, ConfigError: it is one of these once more, and is believed.
            GaveUp: it fails for too long.
            Closed: the field is.
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


def until_read(read: Callable[[], Read], insisting: Insisting, closing: Closing) -> Read:
    """
    Raises:
        as `Insisting.failed`.
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
