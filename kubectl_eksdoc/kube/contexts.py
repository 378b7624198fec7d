"""Which cluster the kubeconfig and the flags lead to, told without asking it.

Names that stand in the kubeconfig, for completion. None where it cannot be read: whoever uses it is told why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube import kubeconfig
from kubectl_eksdoc.kube.kubeconfig import choose
from kubectl_eksdoc.kube.target import CredentialContext, ServerEntry
from kubectl_eksdoc.kubernetes.guards import without_user
from kubectl_eksdoc.model.connection import ClusterAddress, Connection
from kubectl_eksdoc.model.names import Name

_LARGEST_CA = 1 << 20


def whereabouts(connection: Connection, around: CredentialContext) -> ClusterAddress:
    """
    Raises:
        ConfigError: no usable kubeconfig, or a name in it or in the flags that does not exist.
    """
    target = choose(connection, around)
    who = target.user.impersonation
    parts = (target.context, target.user_name, who.user, who.uid, *who.groups)
    key = _digest((without_user(target.server.url), target.server.tls_server_name, *parts), _authority(target.server))
    return ClusterAddress(target.context, target.server.address, key)


def namespace_of(connection: Connection, around: CredentialContext) -> str:
    """In which kubectl looks for what is named without one: the context's, or ``default``.

    Raises:
        ConfigError: as `whereabouts`.
    """
    return choose(connection, around).namespace or "default"


def contexts(connection: Connection, around: CredentialContext) -> tuple[str, ...]:
    """Those of the kubeconfig, sorted; none where it cannot be read: whoever talks to a cluster is told why."""
    try:
        return tuple(sorted(kubeconfig.load(connection.kubeconfig, around).contexts))
    except ConfigError:
        return ()


def _authority(server: ServerEntry) -> bytes:
    """A cluster that was made anew behind the same address has another one."""
    if server.ca_data or not server.ca_file:
        return server.ca_data.encode()
    try:
        with open(server.ca_file, "rb") as file:
            return file.read(_LARGEST_CA)
    except OSError:
        return server.ca_file.encode("utf-8", "surrogateescape")


def _digest(texts: Iterable[str], more: bytes) -> str:
    found = hashlib.sha256()
    for each in (*(text.encode("utf-8", "surrogatepass") for text in texts), more):
        found.update(len(each).to_bytes(8, "big"))
        found.update(each)
    return found.hexdigest()[:40]


def context_names(path: str, around: CredentialContext) -> tuple[Name, ...]:
    """Each with its cluster; `path` as of --kubeconfig."""
    try:
        config = kubeconfig.load(path, around)
    except ConfigError:
        return ()
    found = []
    for name, entry in sorted(config.contexts.items()):
        cluster = ""
        with suppress(ConfigError):
            cluster = kubeconfig.text(entry.fields, "cluster")
        now = "the current one" if name == config.current_context else ""
        found.append(Name(name, ", ".join(filter(None, (now, cluster if cluster != name else "")))))
    return tuple(found)
