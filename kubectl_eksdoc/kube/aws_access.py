"""What a kubeconfig's entry says about asking AWS for its cluster."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.aws.access import AwsAccess
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube.choice import choose
from kubectl_eksdoc.kube.identity import identify
from kubectl_eksdoc.kube.surroundings import Surroundings
from kubectl_eksdoc.kube.target import Server

_LARGEST_CA = 1 << 20

SETTINGS = frozenset(
    (
        "AWS_ACCESS_KEY_ID",
        "AWS_CONFIG_FILE",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_SHARED_CREDENTIALS_FILE",
    )
)
"""What of a credential plugin's environment says whose credentials it uses, besides region and profile."""


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
    plugin = target.user.plugin
    own = plugin.env if plugin is not None and not wanted.profile else ()
    return AwsAccess(
        cluster=wanted.cluster or eks.identity.cluster,
        region=wanted.region or eks.region or of_here,
        profile=wanted.profile or eks.profile,
        role="" if wanted.profile else eks.role_arn,
        account=eks.identity.account,
        server=target.server.url,
        server_name="" if target.server.skip_verify else target.server.tls_server_name,
        ca=_authority(target.server),
        settings=tuple((name, value) for name, value in own if name in SETTINGS and value),
    )


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
