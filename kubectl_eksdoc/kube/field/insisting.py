"""Reads that are tried again until they succeed, the field is closed, or the cluster refuses them for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kubectl_eksdoc.errors import ClusterError, ConfigError, Forbidden, Unauthorized
from kubectl_eksdoc.kube.field.closing import Closing
from kubectl_eksdoc.kube.patience import Patience, Timing
from kubectl_eksdoc.objects.collector import BadObject

FOR_GOOD = 3
"""So often in a row credentials or rights are refused until that is believed: an API server that has just started may
not know the roles yet, and a webhook that checks tokens may be away for a moment."""

Read = TypeVar("Read")


class Insisting:
    """The failures in a row of one reader. For one thread."""

    def __init__(self, patience: Patience, timing: Timing) -> None:
        self._patience = patience
        self._timing = timing
        self._failed = 0
        self._refused = 0

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
        if self._refused >= FOR_GOOD:
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
