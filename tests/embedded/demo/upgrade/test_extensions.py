"""What is planted in the demo before its upgrade is found, is true of its objects, and nothing else is found there."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.check.facts import CheckFacts, UpgradePath
from kubectl_eksdoc.check.plan import CheckWish, plan_check
from kubectl_eksdoc.check.registry import chosen, kinds_of
from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status
from kubectl_eksdoc.model.quantities import Version

CODES = tuple(
    Code.of(name)
    for name in (
        "webhook-down",
        "webhook-catches-all",
        "apiservice-down",
        "crd-conversion",
        "crd-stored-version",
        "runtime-socket",
        "runtime-docker",
        "runtime-version",
        "pods-bouncing",
        "budget-missing",
    )
)


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return DemoReader(None, "check").read(kinds_of(chosen([code.name for code in CODES])))


def found(cluster: Cluster, *codes: Code) -> tuple[Finding, ...]:
    names = [code.name for code in codes]
    facts = CheckFacts(cluster, UpgradePath(Version(1, 33), Version(1, 34), (Version(1, 34),), "as told"))
    return plan_check(facts, chosen(names), CheckWish(frozenset(names))).findings


def test_what_is_found(cluster: Cluster) -> None:
    told = [(each.code.name, each.status, each.severity, str(each.subject)) for each in found(cluster, *CODES)]
    fail = Status.FAIL
    assert told == [
        ("apiservice-down", fail, Severity.HIGH, "v1beta1.external.metrics.k8s.io"),
        ("crd-conversion", fail, Severity.HIGH, "backups.store.example.com"),
        ("pods-bouncing", fail, Severity.MEDIUM, "kube-system/aws-load-balancer-controller"),
        ("pods-bouncing", fail, Severity.MEDIUM, "shop/thumbnails"),
        ("budget-missing", fail, Severity.LOW, "demo-shop"),
        ("crd-stored-version", fail, Severity.LOW, "backups.store.example.com"),
        ("runtime-socket", fail, Severity.LOW, "ops/log-relay"),
    ]


def test_it_is_true_of_the_objects(cluster: Cluster) -> None:
    assert "ops/backup-webhook" in {each.key for each in cluster.services}
    (empty,) = (each for each in cluster.endpoint_slices if each.service == "backup-webhook")
    assert empty.endpoints == ()
    assert not any(each.labels.get("app") == "backup-operator" for each in cluster.pods)
    assert "keda" not in {each.name for each in cluster.namespaces}
    served = {each.service.service for each in cluster.api_services if each.service and each.available == "True"}
    assert served == {"metrics-server"} <= {each.name for each in cluster.services}


def test_the_plain_demo_is_as_it_was() -> None:
    plain = DemoReader().read((*kinds.ALL, kinds.API_SERVICES, kinds.CRON_JOBS))
    assert plain.api_services == plain.cron_jobs == ()
    assert "ops/backup-webhook" not in {each.key for each in plain.services}
