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
from kubectl_eksdoc.files import open_file
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.held_secrets import register_secrets
from kubectl_eksdoc.kubernetes.guards import redact_url

# The credential in use: fetched once, shared by all threads, renewed when it expires or the server refuses it.
#
# The official client renews a token that has less than five minutes left before every single request and
# without a lock; here a credential is used until it expires, and one thread renews it for all. All connections of one
# process to a cluster share it (`SharedCredentials`): a plugin may take seconds, and ask its user for a code.


TOKEN_FILE_AGE = timedelta(minutes=1)
_MAX_TOKEN_FILE = 1 << 20


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
        self._expires_at: datetime | None = None
        self._fetches = 0  # number of tries
        self._error: ClusterError | None = None  # of the last try

    def current(self) -> Credential:
        """The credential to use now.

        Raises:
            ConfigError, Unauthorized: it cannot be obtained.
        """
        fetches_before = self._fetches
        with self._lock:
            if self._current is None or (self._expires_at is not None and self._now() >= self._expires_at):
                return self._fetch(fetches_before)
            return self._current

    def renew(self, refused: Credential) -> tuple[Credential, bool]:
        """A newer credential than `refused`, and whether it was fetched just now: another thread may have renewed it
        long before. Raises: as `current`."""
        fetches_before = self._fetches
        with self._lock:
            if self._current is not None and self._current is not refused:
                return self._current, False
            return self._fetch(fetches_before), True

    def _fetch(self, fetches_before: int) -> Credential:
        """`fetches_before`: the number of tries when the caller asked. A failure since then counts for all callers that
        waited; a later caller tries again."""
        if self._error is not None and self._fetches != fetches_before:
            raise type(self._error)(self._error.message, self._error.hint) from self._error
        try:
            credential, self._error = _check_header_value(self._source()), None
        except ClusterError as error:
            self._error = error
            raise
        finally:
            self._fetches += 1
        register_secrets(credential.authorization.partition(" ")[2], credential.key)
        self._current = credential
        # A credential that arrives expired is due to a clock that differs: it is used until the server refuses it.
        expires_at = credential.expires_at
        self._expires_at = expires_at if expires_at is not None and expires_at > self._now() else None
        return credential


INVALID_IN_HEADER = re.compile(r"[^\t\x20-\x7e\xa0-\xff]")
"""Matches a character that is invalid in a header value (RFC 9110, section 5.5; Python sends Latin-1)."""


def _check_header_value(credential: Credential) -> Credential:
    if INVALID_IN_HEADER.search(credential.authorization):
        raise ConfigError(
            "the token or password has a character that no HTTP header may have, such as a line break",
            "Check it in the kubeconfig, in its file, or in the output of the credential plugin.",
        )
    return credential


class SharedCredentials:
    """One `Credentials` for each login (a value that identifies how the credential is obtained), shared by all callers.
    Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_login: dict[Hashable, Credentials] = {}

    def for_login(self, login: Hashable, create: Callable[[], Credentials]) -> Credentials:
        with self._lock:
            if login not in self._by_login:
                self._by_login[login] = create()
            return self._by_login[login]


def fixed_source(credential: Credential) -> Source:
    return lambda: credential


def token_file_source(path: str, now: Callable[[], datetime]) -> Source:
    """A bearer token from a file that another process rotates, such as that of a service account."""

    def read() -> Credential:
        try:
            with open_file(path) as file:
                content = file.read(_MAX_TOKEN_FILE + 1)
            token = content.decode("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the token file {path} cannot be read: {error}") from error
        if len(content) > _MAX_TOKEN_FILE:
            raise ConfigError(f"the token file {path} is larger than {_MAX_TOKEN_FILE >> 20} MiB: is it a token?")
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
        return redact_url(self.url)

    @property
    def secure(self) -> bool:
        return self.url.lower().startswith("https://")


_REDACTED = "…"
_FLAG = re.compile(r"--[A-Za-z][A-Za-z-]*|-[A-Za-z]")
"""A longer word with a single dash may be a letter and its value."""
_SUBCOMMAND = re.compile(r"[a-z]+(?:-[a-z]+)*")
_SHOWN_FLAGS = frozenset(
    ("--cluster", "--cluster-id", "--cluster-name", "--output", "--profile", "--region", "--role", "--role-arn", "-i")
)
_SECRET = re.compile(r"(?i)pass|pwd|secret|token|key|credential")


def is_secret_name(name: str) -> bool:
    """Whether a variable or a field of this name holds a secret."""
    return _SECRET.search(name) is not None


_MIN_SECRET_LENGTH = 4
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
    def safe_command_line(self) -> str:
        """For messages: subcommands, flags, and the values of flags that name a cluster; ``…`` for any other word."""
        return " ".join((self.command, *self._safe_words()))

    def redact(self, text: str) -> str:
        """The output of the plugin without those of its arguments and variables that `safe_command_line` does not
        show."""
        shown_words = self.safe_command_line.split()
        values = (*self.args, *(value for name, value in self.env if is_secret_name(name)))
        parts = (part for value in values for part in (value, value.partition("=")[2]))
        for part in sorted(
            {part for part in parts if len(part) >= _MIN_SECRET_LENGTH and part not in shown_words}, key=len
        )[::-1]:
            text = text.replace(part, _REDACTED)
        return text

    def _safe_words(self) -> Iterator[str]:
        previous = ""
        for word in self.args:
            name, equals, value = word.partition("=")
            if word == "--" or _FLAG.fullmatch(name):
                yield f"{name}{equals}{value if not value or name in _SHOWN_FLAGS else _REDACTED}"
            elif (
                previous in _SHOWN_FLAGS
                or (not previous.startswith("-") and _SUBCOMMAND.fullmatch(word))
                or previous == "--"
            ):
                yield word
            else:
                yield _REDACTED
            previous = word


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
SERVICE_ACCOUNT_VARIABLE = "EKSDOC_SERVICE_ACCOUNT"
"""The environment variable that names another folder than `SERVICE_ACCOUNT`; both apply only without a kubeconfig."""


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def _show_nothing(_text: str) -> None:
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
    show_prompt: Callable[[str], None] = _show_nothing
    shared_credentials: SharedCredentials = field(default_factory=SharedCredentials, repr=False, compare=False)
    read_time: ReadTime = field(default_factory=ReadTime, repr=False, compare=False)


_SHARED_CREDENTIALS = SharedCredentials()
"""Those of this process: a plugin is run once, however many connections there are."""

_READ_TIME = ReadTime()
"""That of this process, which observes one cluster at a time, over any number of connections."""


def _is_interactive(stdin: TextIO | None) -> bool:
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


def process_credential_context() -> CredentialContext:
    def show_prompt(text: str) -> None:
        # A text that cannot be shown must not end the thread that reads the output of the plugin.
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()

    return CredentialContext(
        environ=dict(os.environ),
        home=os.path.expanduser("~"),
        interactive=_is_interactive(sys.stdin),
        service_account=os.environ.get(SERVICE_ACCOUNT_VARIABLE) or SERVICE_ACCOUNT,
        show_prompt=show_prompt,
        shared_credentials=_SHARED_CREDENTIALS,
        read_time=_READ_TIME,
    )
