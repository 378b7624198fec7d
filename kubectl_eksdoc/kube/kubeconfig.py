"""Kubeconfig files, found and merged as kubectl does it.

Source: client-go `clientcmd`: ``--kubeconfig`` alone, else every existing file of ``$KUBECONFIG``, else
``~/.kube/config``. An entry comes whole from the first file that has one of its name; `current-context` comes from the
first file that sets it. Relative paths are relative to the folder of their own file.
"""

from __future__ import annotations

import base64
import binascii
import io
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from kubectl_eksdoc.errors import ConfigError, close_matches
from kubectl_eksdoc.files import open_file
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.guards import redact_url
from kubectl_eksdoc.model.connection import IN_CLUSTER, Connection
from kubectl_eksdoc.yaml_events import MAX_DEPTH, error_text, parse_events

from .target import CredentialContext, ExecPlugin, Impersonation, KubeTarget, ServerEntry, UserEntry

T = TypeVar("T")
_SINGULAR = {"clusters": "cluster", "contexts": "context", "users": "user"}


@frozen
class _Entry:
    """One named cluster, context or user from a file; relative paths start in `folder`."""

    fields: Mapping[str, Any] = field(repr=False)
    file: str = ""
    folder: str = ""


_MAX_CHARACTERS = 16 << 20
"""Characters: enough for ten thousand clusters, each with its certificates."""
_DEPTH_CHECK_FROM = 10_000
_DEEP_INDENT = re.compile(r"^[ ?:-]{100}", re.MULTILINE)


@frozen
class Kubeconfig:
    """`files` are the files that were read; `searched` the paths that were tried."""

    searched: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    current_context: str = ""
    clusters: Mapping[str, _Entry] = field(default_factory=dict)
    contexts: Mapping[str, _Entry] = field(default_factory=dict)
    users: Mapping[str, _Entry] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not (self.clusters or self.contexts or self.users)


def load(explicit: str, credential_context: CredentialContext) -> Kubeconfig:
    """Read and merge the files. A missing file is skipped, unless `explicit` names it.

    Raises:
        ConfigError: a file cannot be read or is not a kubeconfig.
    """
    paths = (explicit,) if explicit else _default_paths(credential_context)
    current_context = ""
    files_read: list[str] = []
    merged: dict[str, dict[str, _Entry]] = {plural: {} for plural in _SINGULAR}
    for path in paths:
        text = _read_text(path, must_exist=bool(explicit))
        if text is None:
            continue
        files_read.append(path)
        document = _parse(path, text)
        context = document.get("current-context") or ""
        if not isinstance(context, str):
            raise ConfigError(f"kubeconfig {path}: current-context is not a text")
        current_context = current_context or context
        for plural, singular in _SINGULAR.items():
            for name, entry in _entries(document, plural, singular, path).items():
                merged[plural].setdefault(name, entry)
    return Kubeconfig(tuple(paths), tuple(files_read), current_context, **merged)


def _default_paths(credential_context: CredentialContext) -> tuple[str, ...]:
    configured = credential_context.environ.get("KUBECONFIG", "")
    if configured:
        return tuple(dict.fromkeys(path for path in configured.split(os.pathsep) if path))
    return (os.path.join(credential_context.home, ".kube", "config"),)


def _read_text(path: str, must_exist: bool) -> str | None:
    try:
        with io.TextIOWrapper(open_file(path), encoding="utf-8") as file:
            text = file.read(_MAX_CHARACTERS + 1)
        if len(text) > _MAX_CHARACTERS:
            raise ConfigError(f"kubeconfig {path} is larger than {_MAX_CHARACTERS >> 20} MiB: is it a kubeconfig?")
        return text
    except FileNotFoundError as error:
        if not must_exist:
            return None
        raise ConfigError(f"kubeconfig {path} does not exist") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"kubeconfig {path} is not a text file") from error
    except OSError as error:
        raise ConfigError(f"kubeconfig {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError("the path of the kubeconfig has a NUL character") from error


def _parse(path: str, text: str) -> Mapping[str, Any]:
    """Parse one file, with the C loader where it is installed: it takes an eighth of the time on a hundred clusters."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if _may_be_deeply_nested(text):
            for _ in parse_events(text):
                pass
        document = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: a date that does not exist
        raise ConfigError(f"kubeconfig {path} is not YAML: {error_text(error)}") from error
    if document is None:
        return {}  # empty, or comments only
    if not isinstance(document, Mapping):
        raise ConfigError(f"kubeconfig {path} holds no mapping: is it a kubeconfig?")
    return document


def _may_be_deeply_nested(text: str) -> bool:
    """Whether the nesting depth has to be checked first. A text that cannot be deep is parsed only once."""
    return len(text) > _DEPTH_CHECK_FROM and (
        text.count("[") + text.count("{") > MAX_DEPTH or _DEEP_INDENT.search(text) is not None
    )


def _entries(document: Mapping[str, Any], plural: str, singular: str, path: str) -> dict[str, _Entry]:
    items = document.get(plural) or []
    if not isinstance(items, list):
        raise ConfigError(f"kubeconfig {path}: {plural} is not a list")
    folder = os.path.dirname(os.path.abspath(path))
    entries: dict[str, _Entry] = {}
    for item in items:
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, str):
            raise ConfigError(f"kubeconfig {path}: an entry of {plural} has no name")
        fields = item.get(singular) or {}
        if not isinstance(fields, Mapping):
            raise ConfigError(f"kubeconfig {path}: {singular} {name!r} is not a mapping")
        if name in entries:
            raise ConfigError(f"kubeconfig {path}: {plural} has {name!r} twice")
        entries[name] = _Entry(fields, path, folder)
    return entries


# Typed values of kubeconfig entries: base64 decoded, paths resolved. The mappings are not used beyond this.


_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def server_from_entry(name: str, entry: _Entry) -> ServerEntry:
    fields = entry.fields
    extensions = _mappings(fields, "extensions")
    return ServerEntry(
        url=text_field(fields, "server").rstrip("/"),
        ca_file=_path_field(entry, "certificate-authority"),
        ca_data=_pem_text(entry, "certificate-authority-data", f"cluster {name!r}"),
        skip_verify=_typed_value(fields, "insecure-skip-tls-verify", bool) or False,
        tls_server_name=text_field(fields, "tls-server-name"),
        proxy_url=text_field(fields, "proxy-url"),
        disable_compression=_typed_value(fields, "disable-compression", bool) or False,
        exec_config=next((e.get("extension") for e in extensions if e.get("name") == _EXEC_EXTENSION), None),
    )


def user_from_entry(name: str, entry: _Entry) -> UserEntry:
    fields = entry.fields
    if fields.get("auth-provider") is not None:
        raise ConfigError(
            f"user {name!r} has an auth-provider, which is not supported",
            "Use an exec plugin; for EKS: aws eks update-kubeconfig --name CLUSTER --region REGION.",
        )
    return UserEntry(
        token=text_field(fields, "token"),
        token_file=_path_field(entry, "tokenFile"),
        certificate_file=_path_field(entry, "client-certificate"),
        certificate_data=_pem_text(entry, "client-certificate-data", f"user {name!r}"),
        key_file=_path_field(entry, "client-key"),
        key_data=_pem_text(entry, "client-key-data", f"user {name!r}"),
        username=text_field(fields, "username"),
        password=text_field(fields, "password"),
        plugin=_exec_plugin(name, entry),
        impersonation=Impersonation(
            text_field(fields, "as"),
            text_field(fields, "as-uid"),
            _text_list(fields, "as-groups"),
            _impersonate_extra(fields),
        ),
    )


_TYPE_NAMES: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
    int: "a number",
    float: "a number",
}


def _typed_value(fields: Mapping[str, Any], key: str, expected_type: type[T]) -> T | None:
    """The value of a field. An error about another type does not show the value, which may be a password without
    quotes."""
    value = fields.get(key)
    if value is None or isinstance(value, expected_type):
        return value
    actual_type = _TYPE_NAMES.get(type(value), "a value of another type")
    hint = "Put it in quotes." if expected_type is str else ""
    raise ConfigError(f"the kubeconfig's {key} should be {_TYPE_NAMES[expected_type]}, not {actual_type}", hint)


def text_field(fields: Mapping[str, Any], key: str) -> str:
    return _typed_value(fields, key, str) or ""


def _text_list(fields: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(text_field({key: item}, key) for item in _typed_value(fields, key, list) or ())


def _mappings(fields: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [_typed_value({key: each}, key, dict) or {} for each in _typed_value(fields, key, list) or ()]


def _path_field(entry: _Entry, key: str) -> str:
    path = text_field(entry.fields, key)
    return os.path.join(entry.folder, path) if path else ""


def _pem_text(entry: _Entry, key: str, owner: str) -> str:
    """The text that is base64-encoded. PEM is ASCII; any other text is as unusable as broken base64."""
    encoded = text_field(entry.fields, key)
    try:
        return base64.b64decode("".join(encoded.split()), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{key} of {owner} in kubeconfig {entry.file} is not base64 of PEM text") from error


def _exec_plugin(name: str, entry: _Entry) -> ExecPlugin | None:
    fields = _typed_value(entry.fields, "exec", dict)
    if fields is None:
        return None
    if not text_field(fields, "command"):
        raise ConfigError(f"user {name!r} in kubeconfig {entry.file}: exec has no command")
    command = text_field(fields, "command")
    if os.path.dirname(command):  # a bare name is searched on PATH, a path is relative to the folder of the file
        command = os.path.join(entry.folder, command)
    return ExecPlugin(
        command=command,
        args=_text_list(fields, "args"),
        env=tuple((text_field(each, "name"), text_field(each, "value")) for each in _mappings(fields, "env")),
        api_version=text_field(fields, "apiVersion"),
        interactive_mode=text_field(fields, "interactiveMode") or "IfAvailable",
        provide_cluster_info=_typed_value(fields, "provideClusterInfo", bool) or False,
        install_hint=text_field(fields, "installHint"),
    )


def _impersonate_extra(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    extra = _typed_value(fields, "as-user-extra", dict) or {}
    return tuple((str(key), value) for key in sorted(extra) for value in _text_list(extra, key))


# From merged kubeconfig files and kubectl's flags to one server and one user.
#
# Source of the order of overrides: client-go `DirectClientConfig` (getCluster, getAuthInfo). ``--server`` also
# drops the entry's tls-server-name; ``--certificate-authority`` and ``--insecure-skip-tls-verify`` drop its
# CA; a token from the flag wins over a credential plugin.


def choose_target(connection: Connection, credential_context: CredentialContext) -> KubeTarget:
    """The server and user of the chosen context, with the overrides of the flags.

    Raises:
        ConfigError: no usable kubeconfig, or a name in it or in the flags that does not exist.
    """
    config = load(connection.kubeconfig, credential_context)
    if config.empty and not connection.kubeconfig and not connection.server:
        service_account_target = in_cluster_target(credential_context)
        if service_account_target is not None:
            return _override(service_account_target, connection)
    context_name = connection.context or config.current_context
    context: Mapping[str, object] = {}
    if context_name:
        context = _entry_named(config.contexts, context_name, "context", config).fields
    cluster_name = connection.cluster or text_field(context, "cluster")
    user_name = connection.user or text_field(context, "user")
    if not cluster_name and not connection.server:
        raise _no_cluster_error(config, context_name)
    api_server = ServerEntry(url="")
    if cluster_name:
        api_server = server_from_entry(cluster_name, _entry_named(config.clusters, cluster_name, "cluster", config))
    user_entry = UserEntry()
    if user_name:
        user_entry = user_from_entry(user_name, _entry_named(config.users, user_name, "user", config))
    namespace = text_field(context, "namespace")
    return _override(KubeTarget(context_name, cluster_name, user_name, api_server, user_entry, namespace), connection)


def in_cluster_target(credential_context: CredentialContext) -> KubeTarget | None:
    """The API server and service account of the pod that this process runs in; None outside a pod."""
    host = credential_context.environ.get("KUBERNETES_SERVICE_HOST", "")
    port = credential_context.environ.get("KUBERNETES_SERVICE_PORT", "")
    token = os.path.join(credential_context.service_account, "token")
    if not host or not port or not os.path.isfile(token):
        return None
    host = f"[{host}]" if ":" in host else host
    server = ServerEntry(f"https://{host}:{port}", ca_file=os.path.join(credential_context.service_account, "ca.crt"))
    return KubeTarget(IN_CLUSTER, "", "", server, UserEntry(token_file=token))


def _override(target: KubeTarget, flags: Connection) -> KubeTarget:
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
    _check_url(server.url)
    for path in (server.ca_file, user.certificate_file, user.key_file):
        _check_file(path)
    return replace(target, server=server, user=user)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets, or a port that is none
        valid = False
    if not valid:
        raise ConfigError(f"the server {redact_url(url)!r} is not a URL of the form https://HOST:PORT")


def _check_file(path: str) -> None:
    """Check that the path is a regular file. Each file is read several times: a named pipe gives its content once and
    blocks without end, and a device may have no end."""
    if path and os.path.exists(path) and not os.path.isfile(path):
        raise ConfigError(f"{path} is no regular file", "Give a file that holds the certificate, or the key.")


def _impersonation(configured: Impersonation, flags: Connection) -> Impersonation:
    impersonation = Impersonation(
        flags.impersonate_user or configured.user,
        flags.impersonate_uid or configured.uid,
        flags.impersonate_groups or configured.groups,
        configured.extra,
    )
    if not impersonation.user and (impersonation.uid or impersonation.groups or impersonation.extra):
        raise ConfigError("groups, a uid or extra are to be impersonated, but no user", "Add --as USER.")
    return impersonation


def _entry_named(entries: Mapping[str, _Entry], name: str, kind: str, config: Kubeconfig) -> _Entry:
    entry = entries.get(name)
    if entry is not None:
        return entry
    if not entries:
        raise ConfigError(f"{kind} {name!r} does not exist: {_files_clause(config)} no {kind}s", _NO_KUBECONFIG_HINT)
    raise ConfigError(
        f"{kind} {name!r} does not exist in {', '.join(config.files)}",
        f"Known {kind}s: {', '.join(_closest_first(name, entries))}",
    )


def _closest_first(name: str, known: Iterable[str]) -> list[str]:
    """The known names, the most similar to `name` first. A name is compared as a whole, and by the last part of an
    ARN."""
    by_last_part = {each.rpartition("/")[2]: each for each in sorted(known, reverse=True)}
    similar = [by_last_part[each] for each in close_matches(name, by_last_part)]
    ordered = list(dict.fromkeys((*similar, *sorted(known))))
    return ordered if len(ordered) <= _MAX_SHOWN else [*ordered[:_MAX_SHOWN], f"and {len(ordered) - _MAX_SHOWN} more"]


_MAX_SHOWN = 10
_NO_KUBECONFIG_HINT = (
    "Get one with: aws eks update-kubeconfig --name CLUSTER --region REGION. "
    "Commands that only read take --demo (the built-in cluster), and so does the interactive UI: kubectl eksdoc --demo"
)


def _no_cluster_error(config: Kubeconfig, context: str) -> ConfigError:
    if context:
        return ConfigError(f"context {context!r} names no cluster", "Give --cluster NAME or --server URL.")
    if config.contexts:
        return ConfigError(
            f"no context is chosen: {', '.join(config.files)} says no current-context",
            f"Give --context. Known contexts: {', '.join(_closest_first('', config.contexts))}",
        )
    return ConfigError(f"no cluster to talk to: {_files_clause(config)} no contexts", _NO_KUBECONFIG_HINT)


def _files_clause(config: Kubeconfig) -> str:
    if config.files:
        return f"{', '.join(config.files)} {'has' if len(config.files) == 1 else 'have'}"
    return f"{', '.join(config.searched)} does not exist, so there are"
