"""Read, restart and evict CoreDNS of a cluster over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from kubectl_eksdoc.coredns_lameduck.measurement import CorednsAccess
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.requests import RbacRule, restricted
from kubectl_eksdoc.errors import Drifted, Forbidden
from kubectl_eksdoc.imds_probe.run import class_patch, node_class_part
from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.change_journal import PartOutcome
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.coredns import CoreDnsDeployment, CoreDnsState, DnsService
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.metadata import NodeClassFix
from kubectl_eksdoc.wiring.runs import node_class_writer, open_dns
from tests.coredns_lameduck.served_clusters import DnsLab, a_dns, until
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.kube.classes import served_classes
from tests.probes.stand_ins import OTHER, connection


def stand(dns: CorednsAccess) -> CoreDnsState:
    found = dns.stand()
    assert isinstance(found, CoreDnsState)
    return found


def ready(dns: CorednsAccess, count: int) -> CoreDnsState:
    """Wait until exactly that many pods exist and all of them serve."""
    until(lambda: len(stand(dns).pods) == count == len(stand(dns).serving or ()))
    return stand(dns)


def templates(api: Api) -> list[object]:
    return api.run_locked(lambda plane: [item.doc["spec"]["template"] for item in plane.store.list("deployments.apps")])


@pytest.mark.parametrize("addresses", [("172.20.0.10",), ("172.20.0.10", "fd00::a")])
def test_as_it_stands(tmp_path: Path, addresses: tuple[str, ...]) -> None:
    with DnsLab(objects=a_dns(addresses=addresses)).served() as (server, _):
        dns = open_dns(connection(server, tmp_path))
        assert dns.service() == DnsService(addresses) and dns.workload() == CoreDnsDeployment("d", 2)
        found = ready(dns, 2)
        assert found.serving == {address for pod in found.pods for address in pod.addresses}
        assert all(pod.ready and pod.node and pod.deletion_requested_at is None and not pod.ended for pod in found.pods)


def test_a_deployment_that_took_its_place_is_left_alone(tmp_path: Path) -> None:
    with DnsLab().served() as (server, api):
        was = templates(api)
        refused = open_dns(connection(server, tmp_path)).restart(CoreDnsDeployment("another", 2))
        assert refused is not None and "409" in refused.why and templates(api) == was


def test_an_eviction_is_of_exactly_that_pod_and_its_budget_counts(tmp_path: Path) -> None:
    with DnsLab(start_s=0.2).served() as (server, _):
        dns = open_dns(connection(server, tmp_path))
        one, two = ready(dns, 2).pods
        until(lambda: dns.evict(one, dry=True) is None)
        assert all(pod.deletion_requested_at is None for pod in stand(dns).pods), "a dry run evicts nothing"
        assert dns.evict(one) is None
        refused = dns.evict(two)
        assert refused is not None and refused.may_retry and "429" in refused.why


def test_rights_that_are_missing_are_named(tmp_path: Path) -> None:
    mine = (RbacRule(("list",), ("pods",), ("",)),)
    with DnsLab(users={OTHER: restricted("me", mine)}).served() as (server, _):
        dns = open_dns(connection(server, tmp_path, OTHER))
        service, workload, found = dns.service(), dns.workload(), stand(dns)
        assert isinstance(service, Unknown) and service.missing == "get services"
        assert isinstance(workload, Unknown) and workload.missing == "get deployments.apps"
        assert isinstance(found.serving, Unknown)
        assert found.serving.missing == "list endpointslices.discovery.k8s.io"
        refused = dns.restart(CoreDnsDeployment("d", 2))
        assert refused is not None and refused.missing == "patch deployments.apps"


# EC2NodeClasses over HTTP: read, and patched in the version that was read, with the user's rights.

ACT = NodeClassFix("default", 1, 2, ("n0",))
GROUPS, PLURALS = ("karpenter.k8s.aws",), ("ec2nodeclasses",)
READER = restricted("reader", (RbacRule(("get",), PLURALS, GROUPS),))


@contextmanager
def cluster(tmp_path: Path) -> Iterator[Callable[[str], LiveNodeClasses]]:
    """A cluster with the demo's EC2NodeClass and its CustomResourceDefinition; each token gives a client."""
    with served_classes({"reader": READER}) as (server, _), ExitStack() as closed:

        def opened(token: str) -> LiveNodeClasses:
            config = kubeconfigs.one(tmp_path / token, server.url(token))
            return closed.enter_context(closing(node_class_writer(Connection(kubeconfig=config))))

        yield opened


def read(classes: LiveNodeClasses) -> Doc:
    found = classes.one("default")
    assert isinstance(found, dict)
    return found


def test_it_is_patched_as_it_was_read(tmp_path: Path) -> None:
    with cluster(tmp_path) as opened:
        classes = opened(worlds.ADMIN_TOKEN)
        before = read(classes)
        tried = classes.patch("default", class_patch(ACT, before), dry=True)
        assert node_class_part(ACT, tried).became is PartOutcome.DONE and read(classes) == before, (
            "a dry run changes nothing"
        )
        classes.patch("default", class_patch(ACT, before))
        after = read(classes)
        assert node_class_part(ACT, after).became is PartOutcome.DONE
        assert nested_field(after, "spec", "metadataOptions", "httpTokens") == "required"
        with pytest.raises(Drifted):
            classes.patch("default", class_patch(ACT, before))


def test_what_is_not_there_and_what_may_not_be(tmp_path: Path) -> None:
    with cluster(tmp_path) as opened:
        assert isinstance(opened(worlds.ADMIN_TOKEN).one("gone"), Absent)
        unknown = opened(worlds.DRAINER_TOKEN).one("default")
        assert isinstance(unknown, Unknown) and unknown.missing == "get ec2nodeclasses.karpenter.k8s.aws"
        reader = opened("reader")
        with pytest.raises(Forbidden) as error:
            reader.patch("default", class_patch(ACT, read(reader)))
        assert error.value.missing == "patch ec2nodeclasses.karpenter.k8s.aws"
