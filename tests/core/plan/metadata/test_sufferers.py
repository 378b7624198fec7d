"""Which pods suffer where the metadata service is not reached."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.machines import MetadataOptions, PodIdentity
from kubectl_eksdoc.core.model.pods import Calls, Pod, RoleBy
from kubectl_eksdoc.core.plan.metadata.consumers import Started
from kubectl_eksdoc.core.plan.metadata.sufferers import Suffering, sufferer
from kubectl_eksdoc.core.plan.metadata.symptoms import last_symptom
from kubectl_eksdoc.core.rules.metadata_service import POD, Verdict, verdict
from tests.builders import a_pod

ONE, TWO = MetadataOptions("required", 1), MetadataOptions("required", 2)
CUT, FREE = verdict(ONE, POD), verdict(TWO, POD)
LBC, AUTOSCALER = "eks/aws-load-balancer-controller:v2.13.0", "autoscaling/cluster-autoscaler:v1.33.0"
WHOLE = Started(("--aws-region=eu-west-1", "--aws-vpc-id=vpc-1"), ())


def pod(image: str = "shop/cart:1", role: RoleBy = RoleBy.NOBODY, host: bool = False, **more: Any) -> Pod:
    return a_pod("p", namespace="shop", calls=Calls(host, "cart", role, (image,)), **more)


def suffers(of: Pod, here: Verdict = CUT, later: Verdict = CUT, **more: Any) -> Suffering | None:
    found = sufferer(of, here, later, more.pop("identities", frozenset()), **more)
    return found.suffering if found else None


def test_who_reaches_it_now_and_later_does_not_suffer() -> None:
    assert suffers(pod(LBC), FREE, FREE) is None
    assert suffers(pod(), FREE, verdict(Unknown("denied"), POD)) is None, "what is not known is said of the node"


@pytest.mark.parametrize("image", ["shop/cart:1", LBC])
def test_the_network_of_the_host_is_not_cut_off(image: str) -> None:
    assert suffers(pod(image, host=True)) is None and suffers(pod(image, phase="Succeeded")) is None


def test_a_log_that_says_so_is_broken_now() -> None:
    seen = last_symptom("failed to get VPC ID")
    found = sufferer(pod(LBC), CUT, CUT, frozenset(), seen)
    assert found is not None and found.suffering is Suffering.BROKEN
    assert "lacks the id of its VPC" in found.why and "the hop limit is 1 and 2 are needed" in found.where
    assert "--aws-vpc-id" in found.way_out and found.source
    assert suffers(pod(LBC, RoleBy.IRSA), FREE, FREE, seen=seen, started=WHOLE) is None, "something else is wrong"


def test_a_controller_without_its_flags_will_break() -> None:
    irsa = pod(LBC, RoleBy.IRSA)
    assert suffers(irsa, started=Started()) is Suffering.WILL_BREAK
    assert suffers(irsa, started=WHOLE) is None
    assert suffers(pod(LBC), started=WHOLE) is Suffering.WILL_BREAK, "it has no credentials"
    found = sufferer(irsa, FREE, CUT, frozenset(), None, Started())
    assert found is not None and found.where == f"on the next node {CUT.why}"
    assert "its region and the id of its VPC" in found.why


def test_one_that_falls_back_does_not_break() -> None:
    driver = "eks/aws-ebs-csi-driver:v1.44.0"
    assert suffers(pod(driver, RoleBy.IRSA)) is None
    assert suffers(pod(driver)) is Suffering.POSSIBLE, "without its node's credentials its controller has none"


def test_any_other_pod_without_a_role_is_possible() -> None:
    assert suffers(pod()) is Suffering.POSSIBLE
    for role in (RoleBy.IRSA, RoleBy.POD_IDENTITY, RoleBy.KEYS):
        assert suffers(pod(role=role)) is None
    assert suffers(pod(), identities=Unknown("denied")) is Suffering.POSSIBLE


def test_a_role_by_pod_identity_comes_as_the_pod_is_made_anew() -> None:
    identities = frozenset({PodIdentity("shop", "cart")})
    assert suffers(pod(), identities=identities) is None
    found = sufferer(pod(AUTOSCALER), CUT, CUT, identities, last_symptom("no EC2 IMDS role found"))
    assert found is not None and found.way_out.startswith("make it anew")
    assert suffers(pod(), identities=frozenset({PodIdentity("other", "cart")})) is Suffering.POSSIBLE


def test_what_was_given_is_unknown_where_nobody_could_read_it() -> None:
    found = sufferer(pod(LBC, RoleBy.IRSA), CUT, CUT, frozenset(), None, None)
    assert found is not None and found.suffering is Suffering.POSSIBLE
    assert "whether it was given its region and the id of its VPC is not known" in found.why


def test_one_that_comes_with_the_network_of_its_host_and_has_it_not() -> None:
    assert suffers(pod("eks/aws-node-termination-handler:v1", RoleBy.IRSA)) is Suffering.POSSIBLE


def test_what_is_answered_without_a_token_may_go_on() -> None:
    only = verdict(MetadataOptions("optional", 1), POD)
    assert suffers(pod(AUTOSCALER), only, only, started=Started()) is Suffering.POSSIBLE
    assert suffers(pod(AUTOSCALER), only, CUT, started=Started()) is Suffering.WILL_BREAK


def test_variables_that_come_as_a_whole_are_not_known() -> None:
    irsa = pod(AUTOSCALER, RoleBy.IRSA)
    found = sufferer(irsa, CUT, CUT, frozenset(), None, Started(more_variables=True))
    assert found is not None and found.suffering is Suffering.POSSIBLE
    assert found.why == "whether its envFrom gives it its region is not known"
    assert suffers(irsa, started=Started((), ("AWS_REGION",), True)) is None
    lbc = sufferer(pod(LBC, RoleBy.IRSA), CUT, CUT, frozenset(), None, Started(("--aws-region=x",), (), True))
    assert lbc is not None and lbc.why.startswith("it looks for the id of its VPC there"), "no variable tells that"
