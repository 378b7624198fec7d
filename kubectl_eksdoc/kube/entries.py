"""Entries of a kubeconfig to typed values: unwrapping, base64, paths. Kubeconfig mappings end here."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube.kubeconfig import Entry
from kubectl_eksdoc.kube.target import ExecPlugin, Impersonation, Server, User

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def server(name: str, entry: Entry) -> Server:
    fields = entry.fields
    return Server(
        url=text(fields, "server").rstrip("/"),
        ca_file=_path(entry, "certificate-authority"),
        ca_data=_pem(entry, "certificate-authority-data", f"cluster {name!r}"),
        skip_verify=_flag(fields, "insecure-skip-tls-verify"),
        tls_server_name=text(fields, "tls-server-name"),
        proxy_url=text(fields, "proxy-url"),
        disable_compression=_flag(fields, "disable-compression"),
        exec_config=next(
            (e.get("extension") for e in _maps(fields, "extensions") if e.get("name") == _EXEC_EXTENSION), None
        ),
    )


def user(name: str, entry: Entry) -> User:
    fields = entry.fields
    provider = fields.get("auth-provider")
    if provider is not None and (not isinstance(provider, Mapping) or provider.get("name") != "oidc"):
        kind = provider.get("name") if isinstance(provider, Mapping) else provider
        raise ConfigError(
            f"user {name!r} has the auth-provider {kind!r}, which kubectl dropped in 1.26",
            "Use an exec plugin; for EKS: aws eks update-kubeconfig --name CLUSTER --region REGION.",
        )
    return User(
        token=text(fields, "token"),
        token_file=_path(entry, "tokenFile"),
        certificate_file=_path(entry, "client-certificate"),
        certificate_data=_pem(entry, "client-certificate-data", f"user {name!r}"),
        key_file=_path(entry, "client-key"),
        key_data=_pem(entry, "client-key-data", f"user {name!r}"),
        username=text(fields, "username"),
        password=text(fields, "password"),
        plugin=_plugin(name, entry),
        auth_provider=provider,
        impersonation=Impersonation(
            text(fields, "as"), text(fields, "as-uid"), _texts(fields, "as-groups"), _extra(fields)
        ),
    )


def text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConfigError(f"the kubeconfig's {key} should be a text, not {_form(value)}", "Put it in quotes.")
    return value


def _form(value: object) -> str:
    """In words, as the value may be a password without quotes."""
    forms = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a mapping"}
    return forms.get(type(value), "a value of another type")


def _texts(fields: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = fields.get(key) or ()
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"the kubeconfig's {key} should be a list")
    return tuple(text({key: item}, key) for item in value)


def _maps(fields: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], ...]:
    value = fields.get(key) or ()
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, Mapping) for item in value):
        raise ConfigError(f"the kubeconfig's {key} should be a list of mappings")
    return tuple(value)


def _flag(fields: Mapping[str, Any], key: str) -> bool:
    value = fields.get(key)
    if value is not None and not isinstance(value, bool):
        raise ConfigError(f"the kubeconfig's {key} should be true or false, not {_form(value)}")
    return bool(value)


def _path(entry: Entry, key: str) -> str:
    path = text(entry.fields, key)
    return os.path.join(entry.folder, path) if path else ""


def _pem(entry: Entry, key: str, owner: str) -> str:
    """The text behind base64. PEM is ASCII; anything else is as unusable as broken base64."""
    encoded = text(entry.fields, key)
    try:
        return base64.b64decode("".join(encoded.split()), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{key} of {owner} in kubeconfig {entry.file} is not base64 of PEM text") from error


def _plugin(name: str, entry: Entry) -> ExecPlugin | None:
    fields = entry.fields.get("exec")
    if fields is None:
        return None
    if not isinstance(fields, Mapping) or not text(fields, "command"):
        raise ConfigError(f"user {name!r} in kubeconfig {entry.file}: exec has no command")
    command = text(fields, "command")
    if os.path.dirname(command):  # a bare name is looked for on PATH, a path belongs to the file's folder
        command = os.path.join(entry.folder, command)
    return ExecPlugin(
        command=command,
        args=_texts(fields, "args"),
        env=tuple((text(item, "name"), text(item, "value")) for item in _maps(fields, "env")),
        api_version=text(fields, "apiVersion"),
        interactive_mode=text(fields, "interactiveMode") or "IfAvailable",
        provide_cluster_info=_flag(fields, "provideClusterInfo"),
        install_hint=text(fields, "installHint"),
    )


def _extra(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    extra = fields.get("as-user-extra") or {}
    if not isinstance(extra, Mapping):
        raise ConfigError("the kubeconfig's as-user-extra should be a mapping")
    return tuple((str(key), value) for key in sorted(extra) for value in _texts(extra, key))
