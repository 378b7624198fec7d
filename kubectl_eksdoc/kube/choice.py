"""From merged kubeconfig files and kubectl's flags to one server and one user.

Source of the order of overrides: client-go `DirectClientConfig` (getCluster, getAuthInfo). ``--server`` also
drops the entry's tls-server-name; ``--certificate-authority`` and ``--insecure-skip-tls-verify`` drop its
CA; a token from the flag wins over a credential plugin.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from kubectl_eksdoc.core.model.connection import IN_CLUSTER, Connection
from kubectl_eksdoc.core.rules.addresses import address
from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube import entries, kubeconfig
from kubectl_eksdoc.kube.kubeconfig import Entry, Kubeconfig
from kubectl_eksdoc.kube.surroundings import Surroundings
from kubectl_eksdoc.kube.target import Impersonation, Server, Target, User


def choose(connection: Connection, around: Surroundings, read: Kubeconfig | None = None) -> Target:
    """`read`: the kubeconfig, where whoever chooses has read it already.

    Raises:
        ConfigError: no usable kubeconfig, or a name in it or in the flags that does not exist.
    """
    config = read or kubeconfig.load(connection.kubeconfig, around)
    if config.empty and not connection.kubeconfig and not connection.server:
        inside = in_cluster(around)
        if inside is not None:
            return _overridden(inside, connection)
    context_name = connection.context or config.current_context
    context: Mapping[str, object] = {}
    if context_name:
        context = _named(config.contexts, context_name, "context", config).fields
    cluster_name = connection.cluster or entries.text(context, "cluster")
    user_name = connection.user or entries.text(context, "user")
    if not cluster_name and not connection.server:
        raise _nothing_chosen(config, context_name)
    api_server = Server(url="")
    if cluster_name:
        api_server = entries.server(cluster_name, _named(config.clusters, cluster_name, "cluster", config))
    as_user = User()
    if user_name:
        as_user = entries.user(user_name, _named(config.users, user_name, "user", config))
    namespace = entries.text(context, "namespace")
    return _overridden(Target(context_name, cluster_name, user_name, api_server, as_user, namespace), connection)


def in_cluster(around: Surroundings) -> Target | None:
    """The service account of the pod we run in, or None."""
    host = around.environ.get("KUBERNETES_SERVICE_HOST", "")
    port = around.environ.get("KUBERNETES_SERVICE_PORT", "")
    token = os.path.join(around.service_account, "token")
    if not host or not port or not os.path.isfile(token):
        return None
    host = f"[{host}]" if ":" in host else host
    server = Server(f"https://{host}:{port}", ca_file=os.path.join(around.service_account, "ca.crt"))
    return Target(IN_CLUSTER, "", "", server, User(token_file=token))


def _overridden(target: Target, flags: Connection) -> Target:
    server, user = target.server, target.user
    if flags.server:
        url = flags.server if "://" in flags.server else f"http://{flags.server}"
        server = replace(server, url=url.rstrip("/"))
    if flags.server or flags.tls_server_name:
        server = replace(server, tls_server_name=flags.tls_server_name)
    if flags.certificate_authority or flags.insecure_skip_tls_verify:
        server = replace(
            server,
            skip_verify=flags.insecure_skip_tls_verify,
            ca_file=flags.certificate_authority,
            ca_data="",
        )
    if flags.disable_compression:
        server = replace(server, disable_compression=True)
    if server.skip_verify and (server.ca_file or server.ca_data):
        raise ConfigError(
            "both a certificate authority and insecure-skip-tls-verify are given",
            "Verification against the authority is the safe choice: drop insecure-skip-tls-verify.",
        )
    if flags.token:
        user = replace(user, token=flags.token, token_file="")
    if flags.client_certificate:
        user = replace(user, certificate_file=flags.client_certificate, certificate_data="")
    if flags.client_key:
        user = replace(user, key_file=flags.client_key, key_data="")
    user = replace(user, impersonation=_impersonation(user.impersonation, flags))
    if not server.url:
        raise ConfigError(f"cluster {target.cluster_name!r} of the kubeconfig has no server", "Give --server URL.")
    _check(server.url)
    for path in (server.ca_file, user.certificate_file, user.key_file):
        _check_file(path)
    return replace(target, server=server, user=user)


def _check(url: str) -> None:
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets, or a port that is none
        fine = False
    if not fine:
        raise ConfigError(f"the server {address(url)!r} is not a URL of the form https://HOST:PORT")


def _check_file(path: str) -> None:
    """Each is read several times: a named pipe would give what it has once, and be waited for without end; a device
    may have no end."""
    if path and os.path.exists(path) and not os.path.isfile(path):
        raise ConfigError(f"{path} is no regular file", "Give a file that holds the certificate, or the key.")


def _impersonation(configured: Impersonation, flags: Connection) -> Impersonation:
    chosen = Impersonation(
        flags.impersonate_user or configured.user,
        flags.impersonate_uid or configured.uid,
        flags.impersonate_groups or configured.groups,
        configured.extra,
    )
    if not chosen.user and (chosen.uid or chosen.groups or chosen.extra):
        raise ConfigError("groups, a uid or extra are to be impersonated, but no user", "Add --as USER.")
    return chosen


def _named(found: Mapping[str, Entry], name: str, kind: str, config: Kubeconfig) -> Entry:
    entry = found.get(name)
    if entry is not None:
        return entry
    if not found:
        raise ConfigError(f"{kind} {name!r} does not exist: {_files(config)} no {kind}s", _HOW_TO_GET_ONE)
    raise ConfigError(
        f"{kind} {name!r} does not exist in {', '.join(config.files)}",
        f"Known {kind}s: {', '.join(_closest_first(name, found))}",
    )


def _closest_first(name: str, known: Iterable[str]) -> list[str]:
    """Most alike first; whole names and the last part of ARNs both count."""

    def unlikeness(other: str) -> tuple[float, str]:
        short = other.rpartition("/")[2]
        likeness = max(difflib.SequenceMatcher(None, name, part).ratio() for part in (other, short))
        return (-likeness, other)

    ordered = sorted(known, key=unlikeness)
    return ordered if len(ordered) <= _SHOWN else [*ordered[:_SHOWN], f"and {len(ordered) - _SHOWN} more"]


_SHOWN = 10
_HOW_TO_GET_ONE = (
    "Get one with: aws eks update-kubeconfig --name CLUSTER --region REGION. "
    "Or look around without a cluster: --demo, --snapshot PATH."
)


def _nothing_chosen(config: Kubeconfig, context: str) -> ConfigError:
    if context:
        return ConfigError(f"context {context!r} names no cluster", "Give --cluster NAME or --server URL.")
    if config.contexts:
        return ConfigError(
            f"no context is chosen: {', '.join(config.files)} says no current-context",
            f"Give --context. Known contexts: {', '.join(_closest_first('', config.contexts))}",
        )
    return ConfigError(f"no cluster to talk to: {_files(config)} no contexts", _HOW_TO_GET_ONE)


def _files(config: Kubeconfig) -> str:
    if config.files:
        return f"{', '.join(config.files)} {'has' if len(config.files) == 1 else 'have'}"
    return f"{', '.join(config.sought)} does not exist, so there are"
