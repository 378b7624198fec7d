"""The credential in use: got once, shared by all threads, renewed when it ends or the server refuses it.

The official client renews a token that has less than five minutes left before every single request and
without a lock; here a credential is used until it ends, and one thread renews for all. Whatever asks this cluster in
one process shares it (`SharedCredentials`): a plugin may take seconds, and ask its user for a code.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kubectl_eksdoc.errors import ClusterError, ConfigError
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.held_secrets import hold

TOKEN_FILE_AGE = timedelta(minutes=1)
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Credential:
    """`authorization` is the header's value ("" for none); certificate and key are PEM texts of a plugin."""

    authorization: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    expires_at: datetime | None = None


Source = Callable[[], Credential]


class Credentials:
    """A source of credentials with its cache and lock. Safe to use from several threads: while one of them fetches, the
    others wait, and what comes of it is theirs, too."""

    def __init__(self, source: Source, now: Callable[[], datetime]) -> None:
        self._source = source
        self._now = now
        self._lock = threading.Lock()
        self._current: Credential | None = None
        self._until: datetime | None = None
        self._fetched = 0  # so often it was tried
        self._failed: ClusterError | None = None  # the last time

    def current(self) -> Credential:
        """The one to use now.

        Raises:
            ConfigError, Unauthorized: it cannot be had.
        """
        before = self._fetched
        with self._lock:
            if self._current is None or (self._until is not None and self._now() >= self._until):
                return self._fetch(before)
            return self._current

    def renewed(self, refused: Credential) -> tuple[Credential, bool]:
        """A newer one than `refused`, and whether it was fetched just now: another thread may have renewed it long
        before. Raises: as `current`."""
        before = self._fetched
        with self._lock:
            if self._current is not None and self._current is not refused:
                return self._current, False
            return self._fetch(before), True

    def _fetch(self, before: int) -> Credential:
        """`before`: so often it had been tried when this was asked for. What failed meanwhile has failed for all who
        waited; who asks later tries again."""
        if self._failed is not None and self._fetched != before:
            raise type(self._failed)(self._failed.message, self._failed.hint) from self._failed
        try:
            fresh, self._failed = _usable(self._source()), None
        except ClusterError as error:
            self._failed = error
            raise
        finally:
            self._fetched += 1
        hold(fresh.authorization.partition(" ")[2], fresh.key)
        self._current = fresh
        # One that comes already expired tells of a clock that differs: used until the server refuses it.
        ends = fresh.expires_at
        self._until = ends if ends is not None and ends > self._now() else None
        return fresh


NO_HEADER = re.compile(r"[^\t\x20-\x7e\xa0-\xff]")
"""Matches a character that the value of a header has not (RFC 9110, section 5.5; Python sends Latin-1)."""


def _usable(fresh: Credential) -> Credential:
    if NO_HEADER.search(fresh.authorization):
        raise ConfigError(
            "the token or password has a character that no HTTP header may have, such as a line break",
            "Check it in the kubeconfig, in its file, or in the output of the credential plugin.",
        )
    return fresh


class SharedCredentials:
    """One `Credentials` for each login (a value that says how it is made), whoever asks for it. Safe to use from
    several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Hashable, Credentials] = {}

    def of(self, login: Hashable, make: Callable[[], Credentials]) -> Credentials:
        with self._lock:
            if login not in self._made:
                self._made[login] = make()
            return self._made[login]


def fixed(credential: Credential) -> Source:
    return lambda: credential


def from_file(path: str, now: Callable[[], datetime]) -> Source:
    """A bearer token that something else rotates, such as a service account's."""

    def read() -> Credential:
        try:
            with opened(path) as file:
                content = file.read(_LARGEST + 1)
            token = content.decode("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the token file {path} cannot be read: {error}") from error
        if len(content) > _LARGEST:
            raise ConfigError(f"the token file {path} is larger than {_LARGEST >> 20} MiB: is it a token?")
        if not token:
            raise ConfigError(f"the token file {path} is empty")
        return Credential(f"Bearer {token}", expires_at=now() + TOKEN_FILE_AGE)

    return read
