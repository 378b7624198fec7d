"""CoreDNS of a cluster as it is read over HTTP, restarted and evicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.access import RbacRule, restricted
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.flows.dns_measure import Dns
from kubectl_eksdoc.model.coredns import DnsService, DnsStand, DnsWorkload
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.wiring.changes import open_dns
from tests.flows.dns_labs import DnsLab, a_dns, until
from tests.flows.probes import OTHER, connection


def stand(dns: Dns) -> DnsStand:
    found = dns.stand()
    assert isinstance(found, DnsStand)
    return found


def ready(dns: Dns, count: int) -> DnsStand:
    """Once so many serve, and nobody else is there."""
    until(lambda: len(stand(dns).pods) == count == len(stand(dns).serving or ()))
    return stand(dns)


def templates(api: Api) -> list[object]:
    return api.now(lambda plane: [item.doc["spec"]["template"] for item in plane.store.list("deployments.apps")])


@pytest.mark.parametrize("addresses", [("172.20.0.10",), ("172.20.0.10", "fd00::a")])
def test_as_it_stands(tmp_path: Path, addresses: tuple[str, ...]) -> None:
    with DnsLab(objects=a_dns(addresses=addresses)).served() as (server, _):
        dns = open_dns(connection(server, tmp_path))
        assert dns.service() == DnsService(addresses) and dns.workload() == DnsWorkload("d", 2)
        found = ready(dns, 2)
        assert found.serving == {address for pod in found.pods for address in pod.addresses}
        assert all(pod.ready and pod.node and pod.told_at is None and not pod.ended for pod in found.pods)


def test_a_restart_replaces_each_pod_and_a_dry_run_none(tmp_path: Path) -> None:
    with DnsLab(speed=20).served() as (server, api):
        dns = open_dns(connection(server, tmp_path))
        before, workload = ready(dns, 2), dns.workload()
        assert isinstance(workload, DnsWorkload)
        was = templates(api)
        assert dns.restart(workload, dry=True) is None and templates(api) == was
        assert dns.restart(workload) is None
        old = {pod.uid for pod in before.pods}
        until(lambda: any(pod.told_at for pod in stand(dns).pods))
        until(lambda: not old & {pod.uid for pod in stand(dns).pods})
        ready(dns, 2)


def test_a_deployment_that_took_its_place_is_left_alone(tmp_path: Path) -> None:
    with DnsLab().served() as (server, api):
        was = templates(api)
        refused = open_dns(connection(server, tmp_path)).restart(DnsWorkload("another", 2))
        assert refused is not None and "409" in refused.why and templates(api) == was


def test_an_eviction_is_of_exactly_that_pod_and_its_budget_counts(tmp_path: Path) -> None:
    with DnsLab(start_s=0.2).served() as (server, _):
        dns = open_dns(connection(server, tmp_path))
        one, two = ready(dns, 2).pods
        until(lambda: dns.evict(one, dry=True) is None)
        assert all(pod.told_at is None for pod in stand(dns).pods), "a dry run evicts nothing"
        assert dns.evict(one) is None
        refused = dns.evict(two)
        assert refused is not None and refused.later and "429" in refused.why


def test_rights_that_are_missing_are_named(tmp_path: Path) -> None:
    mine = (RbacRule(("list",), ("pods",), ("",)),)
    with DnsLab(users={OTHER: restricted("me", mine)}).served() as (server, _):
        dns = open_dns(connection(server, tmp_path, OTHER))
        service, workload, found = dns.service(), dns.workload(), stand(dns)
        assert isinstance(service, Unknown) and service.missing == "get services"
        assert isinstance(workload, Unknown) and workload.missing == "get deployments.apps"
        assert isinstance(found.serving, Unknown)
        assert found.serving.missing == "list endpointslices.discovery.k8s.io"
        refused = dns.restart(DnsWorkload("d", 2))
        assert refused is not None and refused.missing == "patch deployments.apps"
