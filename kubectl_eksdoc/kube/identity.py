"""Which EKS cluster a kubeconfig entry means: name, account, region, and the AWS profile it signs with.

Sources, the most telling first: the arguments and environment of the credential plugin; names written as
ARNs, as ``aws eks update-kubeconfig`` does; names written ``user@name.region.eksctl.io``; the server's URL
``https://ID.gr7.REGION.eks.amazonaws.com``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.cluster import Identity
from kubectl_eksdoc.kube.target import ExecPlugin, Target
from kubectl_eksdoc.kube.wrappers import program_of, unwrapped

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
_EKSCTL_FLAGS = {**_REGION_FLAGS, "-r": "region", "--profile": "profile", "-p": "profile", "--cluster": "cluster"}
"""What the programs that give tokens are told, each in its own letters: ``-r`` is a role here and a region there.
Sources: ``--help`` of aws-cli 2, of aws-iam-authenticator 0.7 (and what it binds to its environment), of eksctl."""


@dataclass(frozen=True, slots=True)
class EksIdentity:
    """`profile` and `region` are what AWS calls for this cluster should use; "" means AWS's own defaults.

    `by_name`: the profile stands in the plugin's arguments, and comes before keys in its environment. `external_id`
    goes with the role.
    """

    identity: Identity
    profile: str = ""
    role_arn: str = ""
    by_name: bool = False
    external_id: str = ""

    @property
    def region(self) -> str:
        return self.identity.region


def identify(target: Target, environ: Mapping[str, str]) -> EksIdentity:
    """What the chosen kubeconfig entry says; a part that nothing tells is ""."""
    plugin = unwrapped(target.user.plugin) if target.user.plugin is not None else None
    around = {**environ, **dict(plugin.env)} if plugin is not None else {}
    options = _of_plugin(plugin, around) if plugin is not None else {}
    found: dict[str, str] = {}
    for source in (options, *_of_names(target), _matched(_SERVER, target.server.address)):
        for key, value in source.items():
            found.setdefault(key, value)
    region = found.get("region", "")
    if not region and plugin is not None:
        region = _first(("AWS_REGION", "AWS_DEFAULT_REGION"), dict(plugin.env), environ)
    # In the order of botocore and of awscli.
    profile = options.get("profile", "") or _first(("AWS_DEFAULT_PROFILE", "AWS_PROFILE"), around)
    return EksIdentity(
        Identity(
            context=target.context,
            cluster=found.get("cluster", ""),
            account=found.get("account", ""),
            region=region,
        ),
        profile=profile,
        role_arn=options.get("role", ""),
        by_name="profile" in options,
        external_id=options.get("external", ""),
    )


def _of_plugin(plugin: ExecPlugin, around: Mapping[str, str]) -> dict[str, str]:
    """What its arguments say, and what it takes from its environment instead of them."""
    program = program_of(plugin)
    if program in _AUTHENTICATORS:
        names, instead = _AUTHENTICATOR_FLAGS, _AUTHENTICATOR_ENV
    elif program == "eksctl":
        names, instead = _EKSCTL_FLAGS, {}
    elif program == "aws" or "get-token" in plugin.args:
        names, instead = _AWS_FLAGS, {}
    else:
        return {}
    found = {what: around[name] for name, what in instead.items() if around.get(name)}
    found |= {names[key]: value for key, value in _options(plugin.args) if key in names and value}
    return found | _matched(_ARN, found.get("cluster", ""))


def _options(args: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(flag, value) of ``--flag value`` and ``--flag=value``."""
    for i, arg in enumerate(args):
        if arg.startswith("-"):
            flag, equals, value = arg.partition("=")
            yield flag, value if equals else (args[i + 1] if i + 1 < len(args) else "")


def _of_names(target: Target) -> Iterator[dict[str, str]]:
    for name in (target.cluster_name, target.context, target.user_name):
        yield _matched(_ARN, name)
    for name in (target.cluster_name, target.context, target.user_name):
        yield _matched(_EKSCTL, name)


def _matched(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    match = pattern.search(text)
    return match.groupdict() if match else {}


def _first(names: tuple[str, ...], *environments: Mapping[str, str]) -> str:
    """The first that is set; the environment of the plugin before ours."""
    return next((env[name] for env in environments for name in names if env.get(name)), "")
