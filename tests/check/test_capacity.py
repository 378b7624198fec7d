"""Free addresses and quotas, compared with the temporary need of updates."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.amazon.addon_needs import is_standard_instance
from kubectl_eksdoc.amazon.group_updates import max_unavailable
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import GP3, NODES_PER_GROUP, ON_DEMAND, QUOTAS, SPOT, Quota, Subnet
from kubectl_eksdoc.model.nodes import Calls
from tests.builders import pods
from tests.check.of_aws import DENIED, SUBNETS, a_group, eks, facts, find, nodes, one, text, told

_QUOTAS = (
    "quota-vcpus-on-demand",
    "quota-vcpus-spot",
    "quota-gp3-storage",
    "quota-nodes-per-group",
)


def of_subnets(*free: int | None, zones: str = "abc") -> dict[str, Subnet]:
    made = zip(SUBNETS, zones, free, strict=False)
    return {ident: Subnet(ident, f"eu-west-1{zone}", count, "10.0.0.0/24") for ident, zone, count in made}


def test_two_zones_with_five_addresses_are_enough_and_a_full_subnet_is_worth_a_word() -> None:
    found = one(facts(told(subnets=of_subnets(5, 3, 900))), "subnet-addresses")
    assert found.severity is Severity.LOW and str(found.subject) == "subnet-b"
    assert "3 free addresses are left" in found.message and "confidence: medium" in text(found)


@pytest.mark.parametrize(("free", "zones"), [((900, 4, 0), "abc"), ((900, 900, 900), "aaa"), ((0, 0, 0), "abc")])
def test_fewer_zones_are_too_few(free: tuple[int, ...], zones: str) -> None:
    found = one(facts(told(subnets=of_subnets(*free, zones=zones))), "subnet-addresses")
    assert found.severity is Severity.HIGH and found.status is Status.FAIL


def test_subnets_that_are_not_told() -> None:
    for subnets in (DENIED, dict.fromkeys(SUBNETS, DENIED)):
        found = one(facts(told(subnets=subnets)), "subnet-addresses")
        assert found.status is Status.UNKNOWN and found.missing == "eks:Something"
    gone = dict(of_subnets(900, 900)) | {"subnet-c": Absent("it is gone")}
    assert one(facts(told(subnets=gone)), "subnet-addresses").status is Status.UNKNOWN
    assert one(facts(told(subnets=of_subnets(900, 900, None))), "subnet-addresses").status is Status.UNKNOWN
    for given in (DENIED, eks(subnets=())):
        assert one(facts(eks=given), "subnet-addresses").status is Status.UNKNOWN
    assert not find(facts(told(subnets=DENIED), target="1.33"), "subnet-addresses"), "no step, no update"


def test_nodes_that_an_update_adds_need_addresses_in_their_zone() -> None:
    found = one(facts(told(subnets=of_subnets(900, 1, 900))), "subnet-addresses-nodes")
    assert found.severity is Severity.MEDIUM and "2 nodes in eu-west-1b" in found.message
    many = told(a_group(at_once="9"), subnets=of_subnets(900, 2, 900))
    assert "3 nodes in eu-west-1b" in one(facts(many), "subnet-addresses-nodes").message
    minimal = told(a_group(strategy="MINIMAL"), subnets=of_subnets(900, 0, 900))
    assert not find(facts(minimal), "subnet-addresses-nodes")


def test_their_pods_need_some_too_which_is_a_guess() -> None:
    ours = [*pods(9, node="blue-0"), *pods(3, "host", node="blue-1", calls=Calls(host_network=True))]
    found = one(facts(told(subnets=of_subnets(900, 11, 900)), pods=ours), "subnet-addresses-nodes")
    assert found.severity is Severity.LOW and "about 5 pods on each" in found.message
    assert "confidence: low" in text(found)
    assert not find(facts(told(subnets=of_subnets(900, 12, 900)), pods=ours), "subnet-addresses-nodes")


def test_addresses_of_groups_that_are_not_told() -> None:
    code = "subnet-addresses-nodes"
    for given in (told(node_groups=DENIED), told(DENIED), told(subnets=DENIED)):
        found = one(facts(given), code)
        assert found.status is Status.UNKNOWN and found.missing == "eks:Something"
    unread = one(facts(unread=[kinds.PODS], pods=[]), code)
    assert unread.status is Status.UNKNOWN and unread.missing == "list pods"


def quotas(code: str, value: float, used: float | Unknown = 20.0) -> dict[str, Quota]:
    return {each.code: Quota(each.code, 1000.0, used=10.0) for each in QUOTAS} | {code: Quota(code, value, used=used)}


COUNTED = (
    ("quota-vcpus-on-demand", ON_DEMAND, 20 + 6 * 4, a_group()),
    ("quota-vcpus-spot", SPOT, 20 + 6 * 4, a_group(capacity="SPOT")),
    ("quota-gp3-storage", GP3, 20 + 6 * 80 / 1024, a_group()),
)


@pytest.mark.parametrize(("code", "which", "enough", "group"), COUNTED)
def test_what_is_left_must_do_for_the_neediest_group(code: str, which: Any, enough: float, group: Any) -> None:
    assert not find(facts(told(group, quotas=quotas(which.code, enough))), code)
    small = a_group("small", capacity=group.capacity, subnets=SUBNETS[:1])
    given = told(group, small, quotas=quotas(which.code, enough - 0.1))
    found = one(facts(given, nodes=[*nodes(), *nodes(1, "small")]), code)
    assert found.severity is Severity.HIGH and "node group blue needs" in found.message
    assert "6 nodes more" in text(found) and f"--quota-code {which.code}" in found.remedy[0].command


@pytest.mark.parametrize(("code", "which", "enough", "group"), COUNTED)
def test_where_nothing_counts_what_is_in_use(code: str, which: Any, enough: float, group: Any) -> None:
    blind = Unknown("IAM does not allow it", "cloudwatch:GetMetricData")
    found = one(facts(told(group, quotas=quotas(which.code, 500, blind))), code)
    assert found.status is Status.UNKNOWN and found.missing == "cloudwatch:GetMetricData"
    assert found.severity is (Severity.INFO if code == "quota-gp3-storage" else Severity.LOW)
    too_few = one(facts(told(group, quotas=quotas(which.code, 0.1, blind))), code)
    assert too_few.status is Status.FAIL and "at least, by this cluster alone" in too_few.message


@pytest.mark.parametrize("code", _QUOTAS)
def test_quotas_that_may_not_be_asked_for(code: str) -> None:
    group = a_group(capacity="SPOT" if code == "quota-vcpus-spot" else "ON_DEMAND")
    for given in (told(group, quotas=DENIED), told(node_groups=DENIED), told(DENIED)):
        found = one(facts(given), code)
        assert found.status is Status.UNKNOWN and found.missing == "eks:Something"


def test_vcpus_of_a_group_without_nodes_are_not_known() -> None:
    found = one(facts(told(a_group("empty"))), "quota-vcpus-on-demand")
    assert (found.status, found.severity) == (Status.UNKNOWN, Severity.INFO)
    own_disk = one(facts(told(a_group(disk=None))), "quota-gp3-storage")
    assert (own_disk.status, own_disk.severity) == (Status.UNKNOWN, Severity.INFO)


def test_other_instances_have_other_quotas() -> None:
    given = told(a_group(instance_types=("g5.xlarge",)), quotas=quotas(ON_DEMAND.code, 1.0))
    assert not find(facts(given), "quota-vcpus-on-demand")
    standard = ("m6i.xlarge", "c7gn.large", "t3.nano", "im4gn.large", "is4gen.large", "z1d.large", "i3en.large")
    others = ("g5.xlarge", "p4d.24xlarge", "inf2.xlarge", "trn1.2xlarge", "hpc7a.large", "mac2.metal", "dl1.24xlarge")
    assert all(map(is_standard_instance, standard)) and not any(map(is_standard_instance, others))


def test_nodes_of_one_group() -> None:
    many = told(a_group(size=445), quotas=quotas(NODES_PER_GROUP.code, 450))
    found = one(facts(many), "quota-nodes-per-group")
    assert found.severity is Severity.HIGH and "445 nodes, its update adds up to 6" in found.message
    assert not find(facts(told(a_group(size=444), quotas=quotas(NODES_PER_GROUP.code, 450))), "quota-nodes-per-group")
    assert not find(facts(told(a_group(strategy="MINIMAL", size=450))), "quota-nodes-per-group")


@pytest.mark.parametrize(
    ("at_once", "size", "number"),
    [("1", 9, 1), ("33 %", 9, 3), ("1 %", 9, 1), ("100 %", 999, 100), ("", 9, None), ("x", 9, None)],
)
def test_how_many_go_at_once(at_once: str, size: int, number: int | None) -> None:
    assert max_unavailable(at_once, size) == number


def test_what_eks_does_not_tell_of_a_group_does_not_pass() -> None:
    """Unknown facts: its subnets, its number of nodes, and the capacity type of its instances."""
    assert one(facts(told(a_group(subnets=()))), "subnet-addresses-nodes").status is Status.UNKNOWN
    assert one(facts(told(a_group(size=None), a_group("green"))), "quota-nodes-per-group").status is Status.UNKNOWN
    full = {each.code: Quota(each.code, 10.0, used=10.0) for each in QUOTAS}
    for code in ("quota-vcpus-on-demand", "quota-vcpus-spot"):
        assert one(facts(told(a_group(capacity=""), quotas=full)), code).status is Status.FAIL
