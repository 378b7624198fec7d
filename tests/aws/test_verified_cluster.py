"""Context A never reads account B: answers of AWS are used only for the cluster that kubectl talks to."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.aws.asking import verify_cluster
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing, AwsOtherCluster, UsageError
from kubectl_eksdoc.model.eks import AwsAccess
from tests.aws.answers import ACCOUNT, ENDPOINT, REGION, Scripted, a_caller, a_cluster

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\nAAAA\n-----END CERTIFICATE-----\n"
OTHER = "-----BEGIN CERTIFICATE-----\nMIIC\nBBBB\n-----END CERTIFICATE-----\n"

ACCESS = AwsAccess("demo-shop", REGION, account=ACCOUNT, server=ENDPOINT)


def aws(account: str = ACCOUNT, **cluster: Any) -> Scripted:
    return Scripted({"sts:GetCallerIdentity": a_caller(account), "eks:DescribeCluster": a_cluster(**cluster)})


@pytest.mark.parametrize("server", [ENDPOINT, ENDPOINT.lower() + ":443/", ENDPOINT.upper().replace("HTTPS", "https")])
def test_a_cluster_is_recognised_by_its_endpoint(server: str) -> None:
    found = verify_cluster(aws(), replace(ACCESS, server=server))
    assert (found.cluster.name, found.cluster.version, found.matched_by) == ("demo-shop", "1.33", "by its endpoint")
    assert (found.cluster.account, found.cluster.region, found.cluster.support) == (ACCOUNT, REGION, "EXTENDED")


def test_behind_a_tunnel_it_is_recognised_by_what_tls_knows() -> None:
    tunnel = replace(ACCESS, server="https://127.0.0.1:8443")
    named = replace(tunnel, server_name=ENDPOINT.removeprefix("https://"))
    assert verify_cluster(aws(), named).matched_by == "by the name that TLS expects"
    encoded = base64.b64encode((OTHER + PEM.replace("\n", "\r\n")).encode()).decode()
    signed = aws(certificateAuthority={"data": encoded})
    with pytest.raises(AwsOtherCluster):
        verify_cluster(
            signed, replace(tunnel, ca=PEM + OTHER.replace("MIIC", "MIID"))
        )  # one bundle for several clusters
    assert verify_cluster(signed, replace(tunnel, ca=PEM)).matched_by == "by its certificate authority"
    with pytest.raises(AwsOtherCluster, match=r"talks to 127\.0\.0\.1"):
        verify_cluster(aws(certificateAuthority={"data": "?"}), replace(tunnel, ca=PEM))


@pytest.mark.parametrize("account", ["", ACCOUNT])
def test_a_cluster_of_the_same_name_elsewhere_is_not_believed(account: str) -> None:
    with pytest.raises(AwsOtherCluster) as refused:
        verify_cluster(aws(endpoint="https://FFFF.gr7.us-east-1.eks.amazonaws.com"), replace(ACCESS, account=account))
    assert "0a1b2c3d4e5f" in refused.value.message and "ffff" in refused.value.message
    assert refused.value.exit_code == 4 and "--profile" in refused.value.hint


def test_an_address_of_eks_decides_alone() -> None:
    """The certificate authorities of the kubeconfig do not matter: one bundle for all clusters proves nothing."""
    encoded = base64.b64encode(PEM.encode()).decode()
    other = replace(ACCESS, server=ENDPOINT.replace("0A1B", "FFFF"), ca=PEM)
    with pytest.raises(AwsOtherCluster):
        verify_cluster(aws(certificateAuthority={"data": encoded}), other)
    with pytest.raises(AwsOtherCluster):
        verify_cluster(aws(), replace(other, server_name=ENDPOINT.removeprefix("https://")))
    with pytest.raises(AwsOtherCluster):
        verify_cluster(aws(), replace(ACCESS, server_name=ENDPOINT.removeprefix("https://").replace("0A1B", "FFFF")))


@pytest.mark.parametrize(
    "arn",
    [
        "",
        f"arn:aws:eks:us-east-1:{ACCOUNT}:cluster/demo-shop",
        f"arn:aws:eks:{REGION}:999988887777:cluster/demo-shop",
        f"arn:aws:eks:{REGION}::cluster/demo-shop",
    ],
)
def test_what_is_described_must_be_of_the_account_and_region_that_were_asked(arn: str) -> None:
    for account in ("", ACCOUNT):
        with pytest.raises(AwsOtherCluster, match="and what is described is"):
            verify_cluster(aws(arn=arn), replace(ACCESS, account=account))


def test_a_caller_without_an_account_is_believed_nothing() -> None:
    with pytest.raises(AwsOtherCluster):
        verify_cluster(aws(""), replace(ACCESS, account=""))


def test_without_a_name_or_a_server_nothing_is_asked_or_believed() -> None:
    nobody = aws()
    with pytest.raises(UsageError, match="which EKS cluster"):
        verify_cluster(nobody, replace(ACCESS, cluster=""))
    assert nobody.asked == []
    with pytest.raises(AwsOtherCluster, match="its server is not known"):
        verify_cluster(aws(), replace(ACCESS, server=""))


def test_a_cluster_that_is_not_there_or_not_shown() -> None:
    nowhere = Scripted({"sts:GetCallerIdentity": a_caller()})
    with pytest.raises(AwsMissing, match=f"no EKS cluster 'demo-shop' in account {ACCOUNT}, region {REGION}"):
        verify_cluster(nowhere, ACCESS)
    denied = AwsDenied("IAM does not allow it", missing="eks:DescribeCluster")
    with pytest.raises(AwsDenied) as refused:
        verify_cluster(Scripted({"sts:GetCallerIdentity": a_caller(), "eks:DescribeCluster": denied}), ACCESS)
    assert refused.value.missing == "eks:DescribeCluster"


_addresses = st.sampled_from(
    [ENDPOINT, ENDPOINT.lower() + "/", ENDPOINT + ":443", "", "https://", "http://[::1"]
) | st.text(max_size=40)


@given(_addresses, _addresses)
def test_whatever_stands_there_only_the_same_host_is_believed(server: str, endpoint: str) -> None:
    try:
        found = verify_cluster(aws(endpoint=endpoint), replace(ACCESS, server=server))
    except AwsError:
        return
    assert found.matched_by == "by its endpoint"
    assert urlsplit(server.lower()).hostname == urlsplit(endpoint.lower()).hostname
