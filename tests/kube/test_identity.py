"""Which EKS cluster an entry means, from what real tools write into kubeconfigs."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kube.identity import EksIdentity, identify
from kubectl_eksdoc.kube.target import ExecPlugin, KubeTarget, ServerEntry, UserEntry
from kubectl_eksdoc.model.cluster import Identity

EKS = "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com"
ARN = "arn:aws:eks:eu-west-1:111122223333:cluster/prod"


def target(
    context: str = "",
    cluster: str = "",
    user: str = "",
    url: str = "https://10.0.0.1",
    plugin: ExecPlugin | None = None,
) -> KubeTarget:
    return KubeTarget(context, cluster, user, ServerEntry(url), UserEntry(plugin=plugin))


def aws(*args: str, command: str = "aws", **env: str) -> ExecPlugin:
    return ExecPlugin(command, args, tuple(env.items()))


def test_update_kubeconfig() -> None:
    plugin = aws(
        "--region", "eu-west-1", "eks", "get-token", "--cluster-name", "prod", "--output", "json", AWS_PROFILE="p"
    )
    assert identify(target(ARN, ARN, ARN, EKS, plugin), {"AWS_PROFILE": "mine"}) == EksIdentity(
        Identity(ARN, "prod", "111122223333", "eu-west-1"), profile="p"
    )


def test_an_alias_keeps_what_the_plugin_says() -> None:
    plugin = aws("eks", "get-token", "--cluster-name=prod", "--region=us-east-2", "--profile=p", "--role-arn", "arn:r")
    assert identify(target("p", "c", "u", plugin=plugin), {}) == EksIdentity(
        Identity("p", "prod", "", "us-east-2"), "p", "arn:r", by_name=True
    )


@pytest.mark.parametrize("command", ["/opt/bin/aws-iam-authenticator", "C:\\x\\aws-iam-authenticator.exe"])
def test_aws_iam_authenticator(command: str) -> None:
    plugin = aws("token", "-i", "prod", "-r", "arn:r", command=command, AWS_REGION="eu-west-2")
    assert identify(target(plugin=plugin), {"AWS_REGION": "no"}) == EksIdentity(
        Identity("", "prod", "", "eu-west-2"), "", "arn:r"
    )


def test_what_the_authenticator_takes_from_its_environment() -> None:
    plugin = aws("token", "-e", "x-1", command="aws-iam-authenticator", DEFAULT_ROLE="arn:mine")
    around = {"KUBERNETES_AWS_AUTHENTICATOR_CLUSTER_ID": "prod", "DEFAULT_ROLE": "arn:other"}
    found = identify(target(plugin=plugin), around)
    assert (found.identity.cluster, found.role_arn, found.external_id) == ("prod", "arn:mine", "x-1")
    given = aws("token", "-r", "arn:given", command="aws-iam-authenticator", DEFAULT_ROLE="arn:mine")
    assert identify(target(plugin=given), {}).role_arn == "arn:given"
    assert identify(target(plugin=aws("eks", "get-token")), around).role_arn == "", "awscli does not know it"


GET = ("aws", "eks", "get-token", "--cluster-name", "prod")


@pytest.mark.parametrize(
    ("command", "args", "profile"),
    [
        ("aws-vault", ("exec", "p", "--", *GET), "p"),
        ("/opt/bin/aws-vault", ("exec", "--duration", "1h", "-n", "p", "--", *GET), "p"),
        ("aws-vault", ("exec", "--duration=1h", "p", "--region", "x", "--", *GET, "--profile", "q"), "q"),
    ],
)
def test_a_wrapper_round_get_token(command: str, args: tuple[str, ...], profile: str) -> None:
    found = identify(target(plugin=aws(*args, command=command, AWS_PROFILE="outside")), {"AWS_PROFILE": "mine"})
    assert (found.identity.cluster, found.profile) == ("prod", profile)


@pytest.mark.parametrize(
    "line",
    [
        ("aws-vault", "exec", "p", "--"),
        ("aws-vault", "login", "p", "--", *GET[:1]),
    ],
)
def test_a_wrapper_that_is_not_understood_says_nothing(line: tuple[str, ...]) -> None:
    assert identify(target(plugin=aws(*line[1:], command=line[0])), {}) == EksIdentity(Identity())


@pytest.mark.parametrize(
    ("name", "region", "account", "cluster"),
    [
        (ARN, "eu-west-1", "111122223333", "prod"),
        ("arn:aws-cn:eks:cn-north-1:111122223333:cluster/c_1", "cn-north-1", "111122223333", "c_1"),
        ("jane@prod.eu-west-1.eksctl.io", "eu-west-1", "", "prod"),
        ("jane@corp.com@prod.eu-central-1.eksctl.io", "eu-central-1", "", "prod"),
        ("arn:aws:iam::111122223333:role/x", "", "", ""),
    ],
)
def test_names(name: str, region: str, account: str, cluster: str) -> None:
    for where in ("context", "cluster", "user"):
        assert identify(target(**{where: name}), {}).identity == Identity(
            name if where == "context" else "", cluster, account, region
        )


@pytest.mark.parametrize(
    ("url", "region"),
    [
        (EKS, "eu-west-1"),
        (EKS.lower() + ":443/", "eu-west-1"),
        ("https://0AB.yl4.us-gov-west-1.eks.amazonaws.com", "us-gov-west-1"),
        ("https://0AB.eks-cluster.eu-west-1.api.aws", "eu-west-1"),
        ("https://0AB.gr7.eusc-de-east-1.eks.amazonaws.eu", "eusc-de-east-1"),
        ("https://eks.amazonaws.com", ""),
    ],
)
def test_server(url: str, region: str) -> None:
    assert identify(target(url=url), {}).identity == Identity(region=region)


def test_the_profile_of_the_shell_counts_only_where_the_plugin_uses_it() -> None:
    environ = {"AWS_PROFILE": "mine", "AWS_REGION": "eu-west-3"}
    plugin = aws("eks", "get-token", "--cluster-name", "prod")
    assert identify(target(plugin=plugin), environ) == EksIdentity(Identity(cluster="prod", region="eu-west-3"), "mine")
    assert identify(target(url=EKS, plugin=plugin), environ).identity.region == "eu-west-1"
    assert identify(target(), environ) == EksIdentity(Identity())


def test_flags_of_other_programs_mean_nothing() -> None:
    plugin = aws("--cluster-name", "x", "--region", "y", command="kubelogin")
    assert identify(target(plugin=plugin), {}) == EksIdentity(Identity())
    assert identify(target(plugin=aws("eks", "get-token", "--cluster-name")), {}) == EksIdentity(Identity())
