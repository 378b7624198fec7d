"""Reads that are tried again until they succeed, the field is closed, or the cluster refuses them for good."""

from __future__ import annotations

from collections.abc import Callable
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


class Insisting:
    """The failures in a row of one reader. For one thread."""

    def __init__(self, patience: Patience, timing: Timing, refused_s: float | None = None) -> None:
        """`refused_s`: so long a refusal is not believed; None: as patience has it."""
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
            Closed: the field is.
        """
        self._failed += 1
        self._refused = self._refused + 1 if isinstance(error, (Unauthorized, Forbidden, ConfigError)) else 0
        now_s = self._timing.monotonic()
        if self._refused == 1:
            self._refused_s = now_s
        if self._refused >= FOR_GOOD and now_s - self._refused_s >= self._longest_s:
            raise error
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
