"""One server and one user: what is left of kubeconfig files once context and flags have chosen.

Paths are absolute or relative to the working folder, never to a kubeconfig file any more. Secrets do not
show in `repr`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Server:
    """`ca_data` is PEM; it wins over `ca_file`. No CA at all means the roots of this machine."""

    url: str
    ca_file: str = ""
    ca_data: str = ""
    skip_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    exec_config: Any = None  # what the cluster's `client.authentication.k8s.io/exec` extension holds

    @property
    def secure(self) -> bool:
        return self.url.lower().startswith("https://")


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """The `exec` part of a kubeconfig user, e.g. ``aws eks get-token``."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1beta1"
    interactive_mode: str = "IfAvailable"
    provide_cluster_info: bool = False
    install_hint: str = ""

    @property
    def line(self) -> str:
        return " ".join((self.command, *self.args))


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as; `extra` holds (key, value) pairs."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class User:
    """How to prove who we are. Certificate and key data are PEM and win over the files."""

    token: str = field(default="", repr=False)
    token_file: str = ""
    certificate_file: str = ""
    certificate_data: str = field(default="", repr=False)
    key_file: str = ""
    key_data: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    plugin: ExecPlugin | None = None
    auth_provider: Mapping[str, Any] | None = field(default=None, repr=False)
    impersonation: Impersonation = Impersonation()

    @property
    def has_certificate(self) -> bool:
        return bool(self.certificate_file or self.certificate_data)


@dataclass(frozen=True, slots=True)
class Target:
    """The names are those of the kubeconfig entries; "" when there is none (in-cluster, --server alone). `namespace`
    is the context's own, for what is named without one."""

    context: str
    cluster_name: str
    user_name: str
    server: Server
    user: User
    namespace: str = ""
