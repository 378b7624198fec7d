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

_ARN = re.compile(r"arn:aws[\w-]*:eks:(?P<region>[a-z0-9-]+):(?P<account>\d{12}):cluster/(?P<cluster>[\w-]+)")
_REGION = r"(?P<region>[a-z]{2,4}(?:-[a-z]+)+-\d)"
_EKSCTL = re.compile(rf"(?:^|@)(?P<cluster>[A-Za-z0-9][\w-]*)\.{_REGION}\.eksctl\.io$")
_SERVER = re.compile(
    rf"^https://[0-9A-Fa-f]+\.[a-z0-9-]+\.{_REGION}\.(?:eks\.[a-z.]+|api\.aws|api\.[a-z.]+)(?::\d+)?/?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class EksIdentity:
    """`profile` and `region` are what AWS calls for this cluster should use; "" means AWS's own defaults.

    `by_name`: the profile stands in the plugin's arguments, and comes before keys in its environment.
    """

    identity: Identity
    profile: str = ""
    role_arn: str = ""
    by_name: bool = False

    @property
    def region(self) -> str:
        return self.identity.region


def identify(target: Target, environ: Mapping[str, str]) -> EksIdentity:
    """What the chosen kubeconfig entry says; a part that nothing tells is ""."""
    plugin = target.user.plugin
    options, plugin_env = _of_plugin(plugin)
    found: dict[str, str] = {}
    for source in (options, *_of_names(target), _matched(_SERVER, target.server.url)):
        for key, value in source.items():
            found.setdefault(key, value)
    region = found.get("region", "")
    if not region and plugin is not None:
        region = _first(("AWS_REGION", "AWS_DEFAULT_REGION"), plugin_env, environ)
    profile = options.get("profile", "")
    if not profile and plugin is not None:  # in the order of botocore and of awscli
        profile = _first(("AWS_DEFAULT_PROFILE", "AWS_PROFILE"), {**environ, **plugin_env})
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
    )


def _of_plugin(plugin: ExecPlugin | None) -> tuple[dict[str, str], dict[str, str]]:
    """What the arguments say, and the plugin's own environment."""
    if plugin is None:
        return {}, {}
    program = re.split(r"[/\\]", plugin.command)[-1].lower().removesuffix(".exe")
    names = {"--region": "region", "--profile": "profile", "--role-arn": "role", "-r": "role"}
    if program == "aws-iam-authenticator":
        names |= {"-i": "cluster", "--cluster-id": "cluster", "--role": "role"}
    elif program in ("aws", "eksctl", "aws-vault") or "get-token" in plugin.args:
        names |= {"--cluster-name": "cluster", "--cluster": "cluster", "--role": "role"}
    else:
        return {}, dict(plugin.env)
    found = {names[key]: value for key, value in _options(plugin.args) if key in names and value}
    arn = _matched(_ARN, found.get("cluster", ""))
    return found | arn, dict(plugin.env)


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
