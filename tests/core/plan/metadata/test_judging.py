"""What each finding says to do: tonight and tomorrow, for the nodes that run and for those that come."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.core.model import metadata_codes as codes
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.machines import Instance
from kubectl_eksdoc.core.model.findings import Finding, Status, When
from kubectl_eksdoc.core.model.pods import Calls, RoleBy
from kubectl_eksdoc.core.plan.metadata.consumers import Started
from kubectl_eksdoc.core.plan.metadata.inside import Inside
from kubectl_eksdoc.core.plan.metadata.plan import plan_metadata
from kubectl_eksdoc.core.rules.metadata_service import Reach
from kubectl_eksdoc.render.metadata.words import in_short
from tests.builders import a_pod
from tests.core.plan.metadata.fixes.nodes_of_all_kinds import TWO, Cloud, cloud, ident

AUTOSCALER = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0"


def breaking(*kinds: str, hops: int = 2) -> tuple[Finding, ...]:
    """Of one pod on each node, which will break there."""
    of = cloud(*kinds)
    calls = Calls(images=(AUTOSCALER,))
    of.pods = [a_pod(f"p{at}", node=node.name, calls=calls) for at, node in enumerate(of.nodes)]
    of.inside = {pod.key: Inside(Started()) for pod in of.pods}
    return tuple(each for each in plan_metadata(of.facts(), hops).findings if each.code is codes.PODS_WILL_BREAK)


def test_tonight_the_running_instances_and_tomorrow_the_program() -> None:
    (found,) = breaking("managed")
    tonight, tomorrow = found.remedy
    assert (tonight.when, tomorrow.when) == (When.TONIGHT, When.TOMORROW)
    assert tonight.command == "kubectl eksdoc imds-probe --nodegroup blue --apply --fix instance-options"
    (found,) = breaking("self-managed", hops=3)
    assert found.remedy[0].command == "kubectl eksdoc imds-probe node/n0 --hops 3 --apply --fix instance-options"


def test_where_nobody_can_change_the_instances_that_is_not_said() -> None:
    for kind in ("auto", "fargate"):
        (found,) = breaking(kind)
        assert [each.when for each in found.remedy] == [When.TOMORROW], kind


def unknown(of: Cloud) -> dict[str, str]:
    """The command of the remedy, by when it is that is not known."""
    found = [each for each in plan_metadata(of.facts(), 2).findings if each.code is codes.NODES_UNKNOWN]
    return {each.missing: each.remedy[0].command for each in found}


def test_the_next_node_is_not_measured_on_one_that_runs() -> None:
    of = cloud("managed", options=TWO)
    of.groups["blue"] = Unknown("the answer is not what it should be")
    assert unknown(of) == {"the metadata options on the next node": ""}
    of.instances[ident(0)] = Unknown("the answer is not what it should be")
    assert unknown(of)["the metadata options now"] == "kubectl eksdoc imds-probe node/n0 --active"


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
def test_of_an_instance_that_is_gone_nothing_is_said(state: str) -> None:
    of = cloud("managed", options=TWO)
    of.instances[ident(0)] = Instance(ident(0), state=state, options=TWO)
    (group,) = plan_metadata(of.facts(), 2).groups
    assert group.alike.here.reach is Reach.UNKNOWN and state in group.alike.here.why


def test_who_never_had_a_service_is_not_counted_among_those_that_lost_it() -> None:
    said = in_short(plan_metadata(cloud("managed", "fargate").facts(), 2))
    assert said.startswith("Pods on 1 of 2 nodes are cut off from the instance metadata service, 1 has none;")


@pytest.mark.parametrize(("ready", "said"), [(False, [(codes.PODS_UNREAD, Status.UNKNOWN)]), (True, [])])
def test_a_pod_that_fails_where_it_is_cut_off_is_never_passed(ready: bool, said: list[object]) -> None:
    of = cloud("managed")
    pod = a_pod("gwc-a", node=of.nodes[0].name, ready=ready, calls=Calls(images=("own/app:1",), role=RoleBy.IRSA))
    of.pods, of.inside = [pod], {pod.key: Inside(Started())}
    found = [each for each in plan_metadata(of.facts(), 2).findings if each.subject.name == pod.name]
    assert [(each.code, each.status) for each in found] == said
