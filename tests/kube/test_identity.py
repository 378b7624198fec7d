"""The EKS cluster that a kubeconfig entry means, for entries that real tools write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube.identity import AwsRequest, EksIdentity, aws_access, identify_cluster
from kubectl_eksdoc.kube.target import CredentialContext, ExecPlugin, KubeTarget, ServerEntry, UserEntry
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.eks import AwsAccess
from tests.fakes import kubeconfigs

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
    assert identify_cluster(target(ARN, ARN, ARN, EKS, plugin), {"AWS_PROFILE": "mine"}) == EksIdentity(
        Identity(ARN, "prod", "111122223333", "eu-west-1"), profile="p"
    )


def test_an_alias_keeps_what_the_plugin_says() -> None:
    plugin = aws("eks", "get-token", "--cluster-name=prod", "--region=us-east-2", "--profile=p", "--role-arn", "arn:r")
    assert identify_cluster(target("p", "c", "u", plugin=plugin), {}) == EksIdentity(
        Identity("p", "prod", "", "us-east-2"), "p", "arn:r", profile_in_args=True
    )


@pytest.mark.parametrize("command", ["/opt/bin/aws-iam-authenticator", "C:\\x\\aws-iam-authenticator.exe"])
def test_aws_iam_authenticator(command: str) -> None:
    plugin = aws("token", "-i", "prod", "-r", "arn:r", command=command, AWS_REGION="eu-west-2")
    assert identify_cluster(target(plugin=plugin), {"AWS_REGION": "no"}) == EksIdentity(
        Identity("", "prod", "", "eu-west-2"), "", "arn:r"
    )


def test_what_the_authenticator_takes_from_its_environment() -> None:
    plugin = aws("token", "-e", "x-1", command="heptio-authenticator-aws", DEFAULT_ROLE="arn:mine")
    around = {"KUBERNETES_AWS_AUTHENTICATOR_CLUSTER_ID": "prod", "DEFAULT_ROLE": "arn:other"}
    found = identify_cluster(target(plugin=plugin), around)
    assert (found.identity.cluster, found.role_arn, found.external_id) == ("prod", "arn:mine", "x-1")
    given = aws("token", "-r", "arn:given", command="aws-iam-authenticator", DEFAULT_ROLE="arn:mine")
    assert identify_cluster(target(plugin=given), {}).role_arn == "arn:given"
    assert identify_cluster(target(plugin=aws("eks", "get-token")), around).role_arn == "", "awscli does not know it"


GET = ("aws", "eks", "get-token", "--cluster-name", "prod")


@pytest.mark.parametrize(
    ("command", "args", "profile"),
    [
        ("aws-vault", ("exec", "p", "--", *GET), "p"),
        ("/opt/bin/aws-vault", ("exec", "--duration", "1h", "-n", "p", "--", *GET), "p"),
        ("aws-vault", ("exec", "--duration=1h", "p", "--region", "x", "--", *GET, "--profile", "q"), "q"),
        ("/usr/bin/env", ("AWS_PROFILE=p", *GET), "p"),
        ("env", ("A=1", "AWS_PROFILE=o", "aws-vault", "exec", "p", "--", *GET), "p"),
    ],
)
def test_a_wrapper_round_get_token(command: str, args: tuple[str, ...], profile: str) -> None:
    found = identify_cluster(target(plugin=aws(*args, command=command, AWS_PROFILE="outside")), {"AWS_PROFILE": "mine"})
    assert (found.identity.cluster, found.profile) == ("prod", profile)


@pytest.mark.parametrize(
    "line",
    [
        ("env",),
        ("env", "-i", "AWS_PROFILE=p", "kubelogin"),
        ("env",) * 20,
        ("aws-vault", "exec", "p", "--"),
        ("aws-vault", "login", "p", "--", *GET[:1]),
    ],
)
def test_a_wrapper_that_is_not_understood_says_nothing(line: tuple[str, ...]) -> None:
    assert identify_cluster(target(plugin=aws(*line[1:], command=line[0])), {}) == EksIdentity(Identity())


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
        assert identify_cluster(target(**{where: name}), {}).identity == Identity(
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
    assert identify_cluster(target(url=url), {}).identity == Identity(region=region)


def test_flags_of_other_programs_mean_nothing() -> None:
    plugin = aws("--cluster-name", "x", "--region", "y", command="kubelogin")
    assert identify_cluster(target(plugin=plugin), {}) == EksIdentity(Identity())
    assert identify_cluster(target(plugin=aws("eks", "get-token", "--cluster-name")), {}) == EksIdentity(Identity())


# The identity, region and cluster of requests to AWS: from the context, unless the command line sets them.

SERVER = "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com"
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def asked(folder: Path, plugin: Any, wanted: AwsRequest = AwsRequest(), name: str = ARN, **more: Any) -> AwsAccess:
    fields = {"server": SERVER, "certificate-authority-data": kubeconfigs.b64(PEM.encode()), **more}
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", **plugin}}
    path = kubeconfigs.many(folder / "config", {name: fields}, {name: user}, {name: (name, name)}, name)
    around = CredentialContext({"AWS_REGION": "us-west-2", "AWS_PROFILE": "mine"}, str(folder))
    return aws_access(Connection(kubeconfig=path), around, wanted)


GET_TOKEN: dict[str, Any] = {
    "command": "aws",
    "args": ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "prod", "--role-arn", "arn:r"],
    "env": [
        {"name": "AWS_PROFILE", "value": "ops"},
        {"name": "AWS_CONFIG_FILE", "value": "/etc/aws"},
        {"name": "PATH", "value": "/bin"},
    ],
}


def test_the_context_says_all_of_it(tmp_path: Path) -> None:
    assert asked(tmp_path, GET_TOKEN) == AwsAccess(
        cluster="prod",
        region="eu-west-1",
        profile="ops",
        role="arn:r",
        account="111122223333",
        server=SERVER,
        ca=PEM,
        settings=(("AWS_CONFIG_FILE", "/etc/aws"),),
    )


def test_the_command_line_wins_and_a_profile_stands_for_itself(tmp_path: Path) -> None:
    found = asked(tmp_path, GET_TOKEN, AwsRequest("other", "ap-northeast-2", "audit"))
    assert (found.cluster, found.region, found.profile) == ("other", "ap-northeast-2", "audit")
    assert (found.role, found.settings, found.account) == ("", (), "111122223333")


def test_the_region_of_the_environment_comes_last(tmp_path: Path) -> None:
    plugin = {"command": "aws-iam-authenticator", "args": ["token", "-i", "prod", "-r", "arn:r"]}
    assert asked(tmp_path, plugin, name="alias", server="https://10.0.0.1").region == "us-west-2"
    found = asked(tmp_path, plugin, name="alias")
    assert (found.cluster, found.region, found.role, found.account) == ("prod", "eu-west-1", "arn:r", "")


KEYS = [{"name": "AWS_ACCESS_KEY_ID", "value": "AKIA"}, {"name": "AWS_SECRET_ACCESS_KEY", "value": "hush"}]


def test_keys_in_the_environment_of_the_plugin_do_not_show(tmp_path: Path) -> None:
    found = asked(tmp_path, {**GET_TOKEN, "env": KEYS})
    assert found.setting("AWS_SECRET_ACCESS_KEY") == "hush" and "hush" not in repr(found)
    wrapped = [*(f"{each['name']}={each['value']}" for each in KEYS), "aws", *GET_TOKEN["args"]]
    behind = asked(tmp_path, {**GET_TOKEN, "command": "env", "args": wrapped, "env": []})
    assert behind.setting("AWS_SECRET_ACCESS_KEY") == "hush" and "hush" not in repr(behind)


def test_keys_come_before_a_profile_of_the_environment_and_behind_one_that_is_named(tmp_path: Path) -> None:
    """botocore has this order: the plugin would use these keys, and so does this tool."""
    both = [{"name": "AWS_PROFILE", "value": "ops"}, *KEYS]
    unnamed = asked(tmp_path, {**GET_TOKEN, "env": both})
    assert (unnamed.profile, unnamed.setting("AWS_ACCESS_KEY_ID")) == ("", "AKIA")
    assert unnamed.setting("AWS_SECRET_ACCESS_KEY") == "hush" and "hush" not in repr(unnamed)
    named = asked(tmp_path, {**GET_TOKEN, "args": [*GET_TOKEN["args"], "--profile", "base"], "env": both})
    assert (named.profile, named.setting("AWS_ACCESS_KEY_ID")) == ("base", "")


def test_the_default_profile_of_the_environment_comes_first_and_an_empty_one_hides_ours(tmp_path: Path) -> None:
    env = [{"name": "AWS_PROFILE", "value": "b"}, {"name": "AWS_DEFAULT_PROFILE", "value": "a"}]
    assert asked(tmp_path, {**GET_TOKEN, "env": env}).profile == "a"
    assert asked(tmp_path, {**GET_TOKEN, "env": [{"name": "AWS_PROFILE", "value": ""}]}).profile == ""
    assert asked(tmp_path, {**GET_TOKEN, "env": []}).profile == "mine"


@pytest.mark.parametrize("name", ["AWS_ROLE_ARN", "AWS_ENDPOINT_URL"])
def test_what_of_the_plugin_is_not_followed_is_refused_unless_a_profile_is_given(tmp_path: Path, name: str) -> None:
    plugin = {**GET_TOKEN, "env": [{"name": name, "value": "x"}]}
    with pytest.raises(ConfigError, match=f"has {name} in its own environment") as refused:
        asked(tmp_path, plugin)
    assert "--profile" in refused.value.hint
    assert asked(tmp_path, plugin, AwsRequest(profile="audit")).profile == "audit"


@pytest.mark.parametrize("skips", [True, False])
def test_an_authority_in_a_file(tmp_path: Path, skips: bool) -> None:
    (tmp_path / "ca.pem").write_text(PEM)
    more = {"certificate-authority-data": "", "certificate-authority": "ca.pem"}
    if skips:
        more = {"certificate-authority-data": "", "insecure-skip-tls-verify": True}
    found = asked(tmp_path, GET_TOKEN, **more)
    assert found.ca == ("" if skips else PEM), "what is not checked recognises nothing"
    named = asked(tmp_path, GET_TOKEN, **more, **{"tls-server-name": "a.example"})
    assert named.server_name == ("" if skips else "a.example")


def test_an_authority_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the certificate authority"):
        asked(tmp_path, GET_TOKEN, **{"certificate-authority-data": "", "certificate-authority": "nowhere.pem"})
