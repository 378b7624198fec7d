"""The EKS cluster that a kubeconfig entry names: cluster name, account, region, and the AWS profile for it.

Sources, the most specific first: the arguments and environment of the credential plugin; names written as ARNs, as by
``aws eks update-kubeconfig``; names written ``user@name.region.eksctl.io``; the server's URL
``https://ID.gr7.REGION.eks.amazonaws.com``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.eks import AwsAccess

from .exec_plugin import program_name, unwrap_plugin
from .kubeconfig import choose_target
from .target import CredentialContext, ExecPlugin, KubeTarget, ServerEntry

_ARN = re.compile(r"arn:aws[\w-]*:eks:(?P<region>[a-z0-9-]+):(?P<account>\d{12}):cluster/(?P<cluster>[\w-]+)")
_REGION = r"(?P<region>[a-z]{2,4}(?:-[a-z]+)+-\d)"
_EKSCTL = re.compile(rf"(?:^|@)(?P<cluster>[A-Za-z0-9][\w-]*)\.{_REGION}\.eksctl\.io$")
_SERVER = re.compile(
    rf"^https://[0-9A-Fa-f]+\.[a-z0-9-]+\.{_REGION}\.(?:eks\.[a-z.]+|api\.aws|api\.[a-z.]+)(?::\d+)?/?$", re.IGNORECASE
)


_AUTHENTICATORS = frozenset(("aws-iam-authenticator", "heptio-authenticator-aws"))
_REGION_FLAGS = {"--region": "region"}
_AUTHENTICATOR_FLAGS = {
    **_REGION_FLAGS,
    "--cluster-id": "cluster",
    "-i": "cluster",
    "--role": "role",
    "-r": "role",
    "--external-id": "external",
    "-e": "external",
}
_AUTHENTICATOR_ENV = {"KUBERNETES_AWS_AUTHENTICATOR_CLUSTER_ID": "cluster", "DEFAULT_ROLE": "role"}
_AWS_FLAGS = {**_REGION_FLAGS, "--profile": "profile", "--cluster-name": "cluster", "--role-arn": "role"}
"""The flags of the programs that return tokens. Sources: ``--help`` of aws-cli 2, of aws-iam-authenticator 0.7 (and the
environment variables that it binds)."""


@frozen
class EksIdentity:
    """`profile` and `region` are those that AWS calls for this cluster should use; "" means AWS's own defaults.

    `profile_in_args`: the profile is in the arguments of the plugin, and comes before keys in its environment.
    `external_id` goes with the role.
    """

    identity: Identity
    profile: str = ""
    role_arn: str = ""
    profile_in_args: bool = False
    external_id: str = ""

    @property
    def region(self) -> str:
        return self.identity.region


def identify_cluster(target: KubeTarget, environ: Mapping[str, str]) -> EksIdentity:
    """The identity that the chosen kubeconfig entry gives; a part that is unknown is ""."""
    plugin = unwrap_plugin(target.user.plugin) if target.user.plugin is not None else None
    plugin_environ = {**environ, **dict(plugin.env)} if plugin is not None else {}
    options = _plugin_options(plugin, plugin_environ) if plugin is not None else {}
    values: dict[str, str] = {}
    for source in (options, *_names_of_entries(target), _match_groups(_SERVER, target.server.address)):
        for key, value in source.items():
            values.setdefault(key, value)
    region = values.get("region", "")
    if not region and plugin is not None:
        region = _first_set(("AWS_REGION", "AWS_DEFAULT_REGION"), dict(plugin.env), environ)
    # In the order of botocore and of awscli.
    profile = options.get("profile", "") or _first_set(("AWS_DEFAULT_PROFILE", "AWS_PROFILE"), plugin_environ)
    return EksIdentity(
        Identity(
            context=target.context,
            cluster=values.get("cluster", ""),
            account=values.get("account", ""),
            region=region,
        ),
        profile=profile,
        role_arn=options.get("role", ""),
        profile_in_args="profile" in options,
        external_id=options.get("external", ""),
    )


def _plugin_options(plugin: ExecPlugin, environ: Mapping[str, str]) -> dict[str, str]:
    """The values in the arguments of the plugin, and in the environment variables that it reads instead of them."""
    program = program_name(plugin)
    variables: Mapping[str, str] = {}
    if program in _AUTHENTICATORS:
        names, variables = _AUTHENTICATOR_FLAGS, _AUTHENTICATOR_ENV
    elif program == "aws" or "get-token" in plugin.args:
        names = _AWS_FLAGS
    else:
        return {}
    values = {what: environ[name] for name, what in variables.items() if environ.get(name)}
    values |= {names[key]: value for key, value in _flag_values(plugin.args) if key in names and value}
    return values | _match_groups(_ARN, values.get("cluster", ""))


def _flag_values(args: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(flag, value) of ``--flag value`` and ``--flag=value``."""
    for i, arg in enumerate(args):
        if arg.startswith("-"):
            flag, equals, value = arg.partition("=")
            yield flag, value if equals else (args[i + 1] if i + 1 < len(args) else "")


def _names_of_entries(target: KubeTarget) -> Iterator[dict[str, str]]:
    for name in (target.cluster_name, target.context, target.user_name):
        yield _match_groups(_ARN, name)
    for name in (target.cluster_name, target.context, target.user_name):
        yield _match_groups(_EKSCTL, name)


def _match_groups(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    match = pattern.search(text)
    return match.groupdict() if match else {}


def _first_set(names: tuple[str, ...], *environments: Mapping[str, str]) -> str:
    """The first variable that is set; the environment of the plugin comes before that of this process."""
    return next((env[name] for env in environments for name in names if env.get(name)), "")


# Access to AWS for the cluster of a kubeconfig entry.


_LARGEST_CA = 1 << 20

_FILE_VARIABLES = frozenset(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"))
_KEY_VARIABLES = frozenset(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
_SESSION_TOKEN = "AWS_SESSION_TOKEN"

_UNSUPPORTED_VARIABLES = frozenset(
    (
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_ENDPOINT_URL",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
    )
)
"""Variables in a plugin's own environment that lead to other credentials, or to another AWS endpoint, which this tool
cannot use."""


@frozen
class AwsRequest:
    """The AWS flags of the command line, "" for a flag that is absent; they win over the kubeconfig."""

    cluster: str = ""
    region: str = ""
    profile: str = ""


def aws_access(connection: Connection, credential_context: CredentialContext, request: AwsRequest) -> AwsAccess:
    """An explicit profile is used alone: the role of the kubeconfig entry and the environment of its plugin are then
    ignored.

    Raises:
        ConfigError: no usable kubeconfig, or a name in it or in the flags that does not exist.
    """
    target = choose_target(connection, credential_context)
    eks = identify_cluster(target, credential_context.environ)
    region_of_process = (
        credential_context.environ.get("AWS_REGION") or credential_context.environ.get("AWS_DEFAULT_REGION") or ""
    )
    plugin = unwrap_plugin(target.user.plugin) if target.user.plugin is not None else None
    plugin_environ = dict(plugin.env) if plugin is not None and not request.profile else {}
    unsupported = sorted(name for name in plugin_environ if name in _UNSUPPORTED_VARIABLES and plugin_environ[name])
    if unsupported:
        raise ConfigError(
            f"the credential plugin of this context has {unsupported[0]} in its own environment: not followed here",
            "Give --profile with the profile that AWS is to be asked with.",
        )
    settings = _aws_settings(
        {**credential_context.environ, **plugin_environ},
        plugin_environ,
        profile_named=bool(request.profile or eks.profile_in_args),
    )
    return AwsAccess(
        cluster=request.cluster or eks.identity.cluster,
        region=request.region or eks.region or region_of_process,
        profile=request.profile or ("" if settings.keys() >= _KEY_VARIABLES else eks.profile),
        role="" if request.profile else eks.role_arn,
        external_id="" if request.profile else eks.external_id,
        account=eks.identity.account,
        server=target.server.address,
        server_name="" if target.server.skip_verify else target.server.tls_server_name,
        ca=_ca_pem(target.server),
        settings=tuple(sorted(settings.items())),
    )


def _aws_settings(merged: Mapping[str, str], plugin_environ: Mapping[str, str], profile_named: bool) -> dict[str, str]:
    """Files as in the plugin's own environment. Keys as the plugin would find them in its complete environment, where
    they come before a profile unless that was named. The environment of this process is read by botocore itself."""
    settings = {name: plugin_environ[name] for name in _FILE_VARIABLES if plugin_environ.get(name)}
    if profile_named or not all(merged.get(name) for name in _KEY_VARIABLES):
        return settings
    return {**settings, **{name: merged[name] for name in (*_KEY_VARIABLES, _SESSION_TOKEN) if merged.get(name)}}


def _ca_pem(server: ServerEntry) -> str:
    """PEM; "" where the certificate of the server is not checked, or not by a CA of the kubeconfig."""
    if server.skip_verify:
        return ""
    if server.ca_data or not server.ca_file:
        return server.ca_data
    try:
        with open(server.ca_file, encoding="ascii") as file:
            return file.read(_LARGEST_CA)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the certificate authority {server.ca_file}: {error}") from error
