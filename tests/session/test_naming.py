"""The flags by which a proposed command names the cluster to AWS, if nothing else does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.kube.identity import AwsRequest
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.model.connection import CLUSTER_PLACEHOLDER, CommandTarget, Connection
from kubectl_eksdoc.session.aws import identifying_flags

HERE = Identity("here", region="eu-west-1")
EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws", "interactiveMode": "IfAvailable"}
OF_EKS = {"exec": {**EXEC, "args": ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "prod"]}}


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


def connection(folder: Path, user: dict[str, Any]) -> Connection:
    made = {
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    }
    (folder / "config").write_text(json.dumps(made), encoding="utf-8")
    return Connection(kubeconfig=str(folder / "config"))


def test_a_kubeconfig_that_names_no_cluster_of_eks(tmp_path: Path) -> None:
    """After ``check --no-aws`` the proposed ``coredns-lameduck --apply`` exited with 2, because it named no region."""
    plain = connection(tmp_path, {})
    assert identifying_flags(plain, AwsRequest(), HERE) == (
        "--cluster-name",
        CLUSTER_PLACEHOLDER,
        "--region",
        "eu-west-1",
    )
    assert identifying_flags(plain, AwsRequest("prod", "eu-west-1"), HERE) == ()


def test_a_kubeconfig_of_eks_needs_no_flags(tmp_path: Path) -> None:
    assert identifying_flags(connection(tmp_path, OF_EKS), AwsRequest(), HERE) == ()


def test_without_a_kubeconfig_nothing_is_added(tmp_path: Path) -> None:
    assert identifying_flags(Connection(kubeconfig=str(tmp_path / "none")), AwsRequest(), HERE) == ()


def test_commands_that_ask_aws_have_them_and_others_do_not() -> None:
    target = CommandTarget(("--context", "here"), aws_names=("--region", "eu-west-1"))
    for command in ("kubectl eksdoc addon-diff coredns", "kubectl eksdoc coredns-lameduck --place on-demand --apply"):
        assert target.add_to(command).endswith(" --region eu-west-1")
    for command in ("kubectl eksdoc coredns-lameduck --measure=rollout", "kubectl get pods"):
        assert "--region" not in target.add_to(command)
