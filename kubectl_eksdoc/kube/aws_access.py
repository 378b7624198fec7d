"""What a kubeconfig's entry says about asking AWS for its cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.aws.access import AwsAccess
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube.choice import choose
from kubectl_eksdoc.kube.identity import identify
from kubectl_eksdoc.kube.surroundings import Surroundings
from kubectl_eksdoc.kube.target import Server
from kubectl_eksdoc.kube.wrappers import unwrapped

_LARGEST_CA = 1 << 20

_FILES = frozenset(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"))
_KEYS = frozenset(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
_TOKEN = "AWS_SESSION_TOKEN"

_NOT_FOLLOWED = frozenset(
    (
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_ENDPOINT_URL",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
    )
)
"""What else of a plugin's own environment leads to other credentials, or to another AWS: whatever we have instead is
not it."""


@dataclass(frozen=True, slots=True)
class AwsWanted:
    """What the command line says of it, "" for nothing: it wins over the kubeconfig."""

    cluster: str = ""
    region: str = ""
    profile: str = ""


def aws_access(connection: Connection, around: Surroundings, wanted: AwsWanted) -> AwsAccess:
    """A profile that was given stands for itself: neither the role of the kubeconfig's entry nor the environment of its
    plugin counts then.

    Raises:
        ConfigError: no usable kubeconfig, or a name in it or in the flags that does not exist.
    """
    target = choose(connection, around)
    eks = identify(target, around.environ)
    of_here = around.environ.get("AWS_REGION") or around.environ.get("AWS_DEFAULT_REGION") or ""
    plugin = unwrapped(target.user.plugin) if target.user.plugin is not None else None
    own = dict(plugin.env) if plugin is not None and not wanted.profile else {}
    refused = sorted(name for name in own if name in _NOT_FOLLOWED and own[name])
    if refused:
        raise ConfigError(
            f"the credential plugin of this context has {refused[0]} in its own environment: not followed here",
            "Give --profile with the profile that AWS is to be asked with.",
        )
    settings = _settings({**around.environ, **own}, own, named=bool(wanted.profile or eks.by_name))
    return AwsAccess(
        cluster=wanted.cluster or eks.identity.cluster,
        region=wanted.region or eks.region or of_here,
        profile=wanted.profile or ("" if settings.keys() >= _KEYS else eks.profile),
        role="" if wanted.profile else eks.role_arn,
        external_id="" if wanted.profile else eks.external_id,
        account=eks.identity.account,
        server=target.server.address,
        server_name="" if target.server.skip_verify else target.server.tls_server_name,
        ca=_authority(target.server),
        settings=tuple(sorted(settings.items())),
    )


def _settings(merged: Mapping[str, str], own: Mapping[str, str], named: bool) -> dict[str, str]:
    """Files as the plugin's own environment says; keys as the plugin would find them in its whole environment, where
    they come before a profile unless that was `named`. What our own environment says botocore reads itself."""
    found = {name: own[name] for name in _FILES if own.get(name)}
    if named or not all(merged.get(name) for name in _KEYS):
        return found
    return {**found, **{name: merged[name] for name in (*_KEYS, _TOKEN) if merged.get(name)}}


def _authority(server: Server) -> str:
    """PEM; "" where the server's certificate is not checked by it."""
    if server.skip_verify:
        return ""
    if server.ca_data or not server.ca_file:
        return server.ca_data
    try:
        with open(server.ca_file, encoding="ascii") as file:
            return file.read(_LARGEST_CA)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the certificate authority {server.ca_file}: {error}") from error
