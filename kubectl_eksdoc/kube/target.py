"""The API server and user that remain of the kubeconfig files once context and flags are applied.

Paths are absolute or relative to the working folder, no longer to a kubeconfig file. Secrets are not in `repr`.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import datetime, timedelta, timezone
from typing import Any, TextIO

from kubectl_eksdoc.bounds import ReadTime
from kubectl_eksdoc.errors import ClusterError, ConfigError
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.held_secrets import hold
from kubectl_eksdoc.kubernetes.guards import address

# The credential in use: fetched once, shared by all threads, renewed when it expires or the server refuses it.
#
# The official client renews a token that has less than five minutes left before every single request and
# without a lock; here a credential is used until it expires, and one thread renews it for all. All connections of one
# process to a cluster share it (`SharedCredentials`): a plugin may take seconds, and ask its user for a code.


TOKEN_FILE_AGE = timedelta(minutes=1)
_LARGEST = 1 << 20


@frozen
class Credential:
    """`authorization` is the value of the header ("" for none); certificate and key are PEM texts from a plugin."""

    authorization: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    expires_at: datetime | None = None


Source = Callable[[], Credential]


class Credentials:
    """A source of credentials with its cache and lock. Safe to use from several threads: while one of them fetches, the
    others wait, and get the same result."""

    def __init__(self, source: Source, now: Callable[[], datetime]) -> None:
        self._source = source
        self._now = now
        self._lock = threading.Lock()
        self._current: Credential | None = None
        self._until: datetime | None = None
        self._fetched = 0  # number of tries
        self._failed: ClusterError | None = None  # of the last try

    def current(self) -> Credential:
        """The credential to use now.

        Raises:
            ConfigError, Unauthorized: it cannot be obtained.
        """
        before = self._fetched
        with self._lock:
            if self._current is None or (self._until is not None and self._now() >= self._until):
                return self._fetch(before)
            return self._current

    def renewed(self, refused: Credential) -> tuple[Credential, bool]:
        """A newer credential than `refused`, and whether it was fetched just now: another thread may have renewed it
        long before. Raises: as `current`."""
        before = self._fetched
        with self._lock:
            if self._current is not None and self._current is not refused:
                return self._current, False
            return self._fetch(before), True

    def _fetch(self, before: int) -> Credential:
        """`fetches_before`: the number of tries when the caller asked. A failure since then counts for all callers that
        waited; a later caller tries again."""
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
        # A credential that arrives expired is due to a clock that differs: it is used until the server refuses it.
        ends = fresh.expires_at
        self._until = ends if ends is not None and ends > self._now() else None
        return fresh


NO_HEADER = re.compile(r"[^\t\x20-\x7e\xa0-\xff]")
"""Matches a character that is invalid in a header value (RFC 9110, section 5.5; Python sends Latin-1)."""


def _usable(fresh: Credential) -> Credential:
    if NO_HEADER.search(fresh.authorization):
        raise ConfigError(
            "the token or password has a character that no HTTP header may have, such as a line break",
            "Check it in the kubeconfig, in its file, or in the output of the credential plugin.",
        )
    return fresh


class SharedCredentials:
    """One `Credentials` for each login (a value that identifies how the credential is obtained), shared by all callers.
    Safe to use from several threads."""

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
    """A bearer token from a file that another process rotates, such as that of a service account."""

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


@frozen
class ServerEntry:
    """`ca_data` is PEM; it wins over `ca_file`. Without a CA, the root certificates of this machine apply."""

    url: str = field(repr=False)
    ca_file: str = ""
    ca_data: str = ""
    skip_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = field(default="", repr=False)
    disable_compression: bool = False
    exec_config: Any = field(
        default=None, repr=False
    )  # the content of the cluster's `client.authentication.k8s.io/exec` extension

    @property
    def address(self) -> str:
        """The address of the server, for messages and stored data."""
        return address(self.url)

    @property
    def secure(self) -> bool:
        return self.url.lower().startswith("https://")


_HIDDEN = "…"
_FLAG = re.compile(r"--[A-Za-z][A-Za-z-]*|-[A-Za-z]")
"""A longer word with a single dash may be a letter and its value."""
_SUBCOMMAND = re.compile(r"[a-z]+(?:-[a-z]+)*")
_NAMING = frozenset(
    ("--cluster", "--cluster-id", "--cluster-name", "--output", "--profile", "--region", "--role", "--role-arn", "-i")
)
_SECRET = re.compile(r"(?i)pass|pwd|secret|token|key|credential")


def is_secret(name: str) -> bool:
    """Whether a variable or a field of this name holds a secret."""
    return _SECRET.search(name) is not None


_SHORTEST = 4
"""Shorter values are words that also occur in ordinary messages."""


@frozen
class ExecPlugin:
    """The `exec` part of a kubeconfig user, e.g. ``aws eks get-token``."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    api_version: str = "client.authentication.k8s.io/v1beta1"
    interactive_mode: str = "IfAvailable"
    provide_cluster_info: bool = False
    install_hint: str = ""

    @property
    def line(self) -> str:
        """For messages: subcommands, flags, and the values of flags that name a cluster; ``…`` for any other word."""
        return " ".join((self.command, *self._words()))

    def without_secrets(self, text: str) -> str:
        """The output of the plugin without those of its arguments and variables that `safe_command_line` does not
        show."""
        shown = self.line.split()
        values = (*self.args, *(value for name, value in self.env if is_secret(name)))
        parts = (part for value in values for part in (value, value.partition("=")[2]))
        for part in sorted({part for part in parts if len(part) >= _SHORTEST and part not in shown}, key=len)[::-1]:
            text = text.replace(part, _HIDDEN)
        return text

    def _words(self) -> Iterator[str]:
        before = ""
        for word in self.args:
            name, equals, value = word.partition("=")
            if word == "--" or _FLAG.fullmatch(name):
                yield f"{name}{equals}{value if not value or name in _NAMING else _HIDDEN}"
            elif before in _NAMING or (not before.startswith("-") and _SUBCOMMAND.fullmatch(word)) or before == "--":
                yield word
            else:
                yield _HIDDEN
            before = word


@frozen
class Impersonation:
    """The user to impersonate; `extra` holds (key, value) pairs."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()


@frozen
class UserEntry:
    """The credentials of a kubeconfig user. Certificate and key data are PEM and win over the files."""

    token: str = field(default="", repr=False)
    token_file: str = ""
    certificate_file: str = ""
    certificate_data: str = field(default="", repr=False)
    key_file: str = ""
    key_data: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    plugin: ExecPlugin | None = None
    impersonation: Impersonation = Impersonation()

    @property
    def has_certificate(self) -> bool:
        return bool(self.certificate_file or self.certificate_data)


@frozen
class KubeTarget:
    """The names are those of the kubeconfig entries; "" where there is none (in-cluster, --server alone). `namespace`
    is the one of the context, for objects that are named without a namespace."""

    context: str
    cluster_name: str
    user_name: str
    server: ServerEntry
    user: UserEntry
    namespace: str = ""


# The inputs that kubectl takes from its process, as one value, so that tests need no real process.


SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
ELSEWHERE = "EKSDOC_SERVICE_ACCOUNT"
"""The environment variable that names another folder than `SERVICE_ACCOUNT`; both apply only without a kubeconfig."""


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def _silent(_text: str) -> None:
    return None


@frozen
class CredentialContext:
    """`interactive`: stdin is a terminal at which a user can answer. `show_prompt` shows the prompts of a credential
    plugin as they come. `shared_credentials`: credentials that plugins returned already. `read_time`: how long the
    cluster has been read."""

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    home: str = ""
    interactive: bool = False
    service_account: str = SERVICE_ACCOUNT
    now: Callable[[], datetime] = utc_now
    say: Callable[[str], None] = _silent
    logins: SharedCredentials = field(default_factory=SharedCredentials, repr=False, compare=False)
    read_time: ReadTime = field(default_factory=ReadTime, repr=False, compare=False)


_LOGINS = SharedCredentials()
"""Those of this process: a plugin is run once, however many connections there are."""

_READ_TIME = ReadTime()
"""That of this process, which observes one cluster at a time, over any number of connections."""


def _can_be_asked(stdin: TextIO | None) -> bool:
    """Whether a user can answer a prompt line by line. Screens take the terminal out of canonical mode: a prompt of a
    plugin would be drawn over them, and the answer would be taken for their keys."""
    if stdin is None or not stdin.isatty():
        return False
    try:
        import termios
    except ImportError:  # on Windows
        return True
    try:
        return bool(termios.tcgetattr(stdin.fileno())[3] & termios.ICANON)
    except (OSError, ValueError, termios.error):  # the mode is unknown
        return True


def of_this_process() -> CredentialContext:
    def say(text: str) -> None:
        # A text that cannot be shown must not end the thread that reads the output of the plugin.
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()

    return CredentialContext(
        environ=dict(os.environ),
        home=os.path.expanduser("~"),
        interactive=_can_be_asked(sys.stdin),
        service_account=os.environ.get(ELSEWHERE) or SERVICE_ACCOUNT,
        say=say,
        logins=_LOGINS,
        read_time=_READ_TIME,
    )
